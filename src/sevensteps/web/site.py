"""Render every page of the site: toy, derived figures and facts in; names and bytes of files out."""

import tomllib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from markupsafe import Markup

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.steps import Trace
from sevensteps.engine.toy import Toy, load_toy
from sevensteps.engine.toyfile import read_toml
from sevensteps.refs import Runs
from sevensteps.web import fonts, live, preview
from sevensteps.web.calls import all_boxes, all_calls
from sevensteps.web.derived import add_derived
from sevensteps.web.desk import Broken, Desk, Page
from sevensteps.web.facts import Fact, load_facts
from sevensteps.web.formulas import Formulas
from sevensteps.web.lab import load_recording
from sevensteps.web.live import dials, live_data, switches
from sevensteps.web.schema import faults_of
from sevensteps.web.tables import aligned

Loaded = TypeVar("Loaded")
LANGUAGE = "en"
STEPS = (
    "1-tokens", "2-embeddings", "3-query-key-value", "4-mask-and-heads", "5-block", "6-output", "7-generation",
)  # fmt: skip
SITE = {"title": "a text, not empty", "url": "a web address", "names": "a list of texts"}
#: The same steps on a real model: a folder of pages beside the path.
LAB = ("lab/next-token", "lab/logit-lens", "lab/attention-off", "lab/tied")
PAGES = ("index", *STEPS, "workbench", "needle-and-dial", "odds", *LAB, "glossary", "404")
#: In the order in which they need each other.
SCRIPTS = ("ops", "print", "engine", "explain", "page", "state", "ask", "answers", "play", "needle")
LAB_SCRIPTS = ("lab",)
STYLESHEET = "static/style.css"
#: It is made of these and of the formulas' font; a later one may refine an earlier one.
STYLES = (
    "tokens", "text", "math", "tables", "frame", "boxes", "pictures", "narrow", "ask", "controls", "bench", "sides",
    "answers", "lab", "print",
)  # fmt: skip


@dataclass(frozen=True)
class Sources:
    """Everything that the pages are made from, read and checked.

    `recorded` are the runs of the lab, `made` says what made them.
    """

    root: Path
    toy: Toy
    toy_runs: Runs
    facts: dict[str, Fact]
    site: dict[str, Any]
    recorded: dict[str, Trace]
    made: dict[str, str]

    @cached_property
    def runs(self) -> Runs:
        """What the pages may refer to: the toy's runs and the recorded ones."""
        return replace(self.toy_runs, traces={**self.toy_runs.traces, **self.recorded})


@dataclass
class Site:
    """The finished files, and the claims that these weights break."""

    files: dict[str, bytes]
    broken: list[Broken]


def load_sources(root: Path) -> Sources:
    """Read toy, derived figures, facts, site data and the lab. Raises InputError with all their faults at once."""
    content = root / "content"
    faults = [
        Fault(f"content/{LANGUAGE}/{slug}.md", "(file)", "nothing", "a content page")
        for slug in PAGES
        if not (content / LANGUAGE / f"{slug}.md").is_file()
    ]
    toy = _attempt(faults, lambda: load_toy(content / "toy.toml"))
    facts = _attempt(faults, lambda: load_facts(content / "facts.toml"))
    site = _attempt(faults, lambda: load_site(content / "site.toml"))
    lab = _attempt(faults, lambda: load_recording(content / "lab.json"))
    runs = _attempt(faults, lambda: add_derived(toy.traces(), content / "derived.toml")) if toy else None
    recorded = (
        _attempt(faults, lambda: add_derived(lab.traces, content / "lab.toml", "content/lab.toml")) if lab else None
    )
    if runs and recorded:
        taken = sorted(runs.traces.keys() & recorded.traces.keys())
        faults += [Fault("content/lab.json", f"runs.{name}", "a run of the toy", "another name") for name in taken]
    if toy and runs and lab and recorded and not faults:
        return Sources(root, toy, runs, facts or {}, site or {}, dict(recorded.traces), lab.made)
    raise InputError(faults)


def load_site(path: Path, shown: str = "content/site.toml") -> dict[str, Any]:
    """The site's title, its address, and the names whose digits may stand as they are. Raises InputError."""
    site = read_toml(path, shown)
    if faults := faults_of(shown, site, SITE, SITE):
        raise InputError(faults)
    return site


def _attempt(faults: list[Fault], load: Callable[[], Loaded]) -> Loaded | None:
    try:
        return load()
    except InputError as error:
        faults.extend(error.faults)
        return None


def render(sources: Sources, lines: bool = False) -> Site:
    """All files of the site. With `lines`, marks carry the source line (for the checker, never written out).

    Raises InputError with every fault of every content page.
    """
    env = environment(sources.root)
    desk = Desk(env, sources.root, sources.runs, sources.facts, lines)
    heads = {slug: front_matter(sources.root, slug, desk.faults) for slug in PAGES}
    try:
        env.globals.update(
            all_calls(desk),
            site=sources.site,
            made=sources.made,
            steps=STEPS,
            address_of=_address_of(sources.site["url"]),
        )
        env.globals.update(all_boxes(desk, env.globals))
        site = Site(_pages(desk, sources, heads), desk.broken)
        for name in ("sitemap.xml", "robots.txt"):
            site.files[name] = env.get_template(name).render(pages=PAGES).encode()
    except TemplateError as error:
        raise InputError([*desk.faults, template_fault(error, sources.root / "templates")]) from None
    except UnicodeDecodeError as error:
        found = f"a byte that is not UTF-8 at {error.start}"
        raise InputError([*desk.faults, Fault("templates/", "(file)", found, "UTF-8 text")]) from None
    if desk.faults:
        raise InputError(desk.faults)
    site.files |= _static(sources.root)
    pages = (site.files[f"{slug}.html"].decode() for slug in PAGES)
    site.files[STYLESHEET] += fonts.font_face(fonts.characters(pages)).encode()
    home, _ = heads["index"]
    site.files[preview.FILE] = preview.preview(sources.runs.traces["main"], sources.site["title"], home["title"])
    return site


def _address_of(url: str) -> Callable[[str], str]:
    """Where a page is published. The home page is the folder itself."""
    return lambda slug: f"{url.rstrip('/')}/{'' if slug == 'index' else f'{slug}.html'}"


def template_fault(error: TemplateError, folder: Path) -> Fault:
    """A mistake in a template, with its file and line."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == folder]
    where = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
    if isinstance(error, TemplateSyntaxError):
        where = [f"{error.name}:{error.lineno}"]
    return Fault(f"templates/{''.join(where[-1:])}", "template", str(error.message), "a template that Jinja can draw")


def environment(root: Path) -> Environment:
    """Jinja with delimiters that leave LaTeX's braces alone. Content is Markdown, everything else escapes."""
    return Environment(
        loader=FileSystemLoader(root / "templates"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=lambda name: not (name or "").endswith(".md"), keep_trailing_newline=True,
        block_start_string="<%", block_end_string="%>", variable_start_string="<%=", variable_end_string="%>",
        comment_start_string="<%#", comment_end_string="%>",
    )  # fmt: skip


def front_matter(root: Path, slug: str, faults: list[Fault]) -> tuple[dict[str, Any], str]:
    """The TOML between two +++ lines at a page's top, and the whole source with that part blanked, lines kept."""
    file = f"content/{LANGUAGE}/{slug}.md"
    try:
        text = (root / file).read_text(encoding="utf-8")
        _, head, body = text.split("+++\n", 2)
        data = tomllib.loads(head)
        missing = [key for key in ("title", "description") if not isinstance(data.get(key), str)]
        if missing:
            raise ValueError(f"no {missing[0]}")
    except (ValueError, UnicodeDecodeError) as error:
        faults.append(Fault(file, "front matter", str(error), "+++, title = …, description = …, +++ in UTF-8"))
        return {"title": slug, "description": ""}, ""
    return data, "\n" * (head.count("\n") + 2) + body


def _pages(desk: Desk, sources: Sources, heads: dict[str, tuple[dict[str, Any], str]]) -> dict[str, bytes]:
    """Every page: first what each says itself, then its frame, which knows the controls of all."""
    toy, runs, recorded = sources.toy, sources.toy_runs, sources.recorded
    pages = {slug: _page(desk, slug, heads[slug][1]) for slug in PAGES}
    turned = dials(toy, runs, (body for _, body in pages.values()))
    titles = {slug: head["title"] for slug, (head, _) in heads.items()}
    files = {}
    for slug, (page, body) in pages.items():
        desk.page = page
        html = desk.env.get_template("layout.html").render(
            page=page, head=heads[slug][0], body=Markup(body), step=STEPS.index(slug) + 1 if slug in STEPS else 0,
            language=LANGUAGE, titles=titles, live=live_data(toy, runs, recorded, body), lab=LAB,
            scripts=SCRIPTS + LAB_SCRIPTS * (slug in LAB),
            switches=switches(toy), picture={"file": preview.FILE, "width": preview.WIDTH, "height": preview.HEIGHT},
        )  # fmt: skip
        files[f"{slug}.html"] = page.stash.restore(html).encode()
    files[live.FILE] = live.shared_data(toy, runs, turned).encode()
    return files


def _page(desk: Desk, slug: str, source: str) -> tuple[Page, str]:
    """One page and what stands in its <main>."""
    file = f"content/{LANGUAGE}/{slug}.md"
    page = desk.page = Page(slug, file, Formulas(source, file))
    desk.faults += page.formulas.faults
    return page, aligned(page.stash.restore(page.stash.html(_content(desk))))


def _content(desk: Desk) -> str:
    """The page's Markdown, every Jinja call carried out. What stops the rendering becomes a fault with its line."""
    env, page = desk.env, desk.page
    expected = "a call that content/README.md describes"
    try:
        # The end of a line behind a call counts: it separates words, list items and paragraphs.
        code = env.compile(page.formulas.source.replace("<% endcall %>", "<% endcall +%>"), page.file, page.file)
        template = env.template_class.from_code(env, code, env.make_globals(None))
        return template.render()
    except TemplateSyntaxError as error:
        desk.faults.append(
            Fault(f"{error.filename or page.file}:{error.lineno}", "content", str(error.message), expected)
        )
    except (TemplateError, TypeError, ValueError, KeyError, IndexError) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == page.file]
        where = f"{page.file}:{lines[-1]}" if lines else page.file
        desk.faults.append(Fault(where, "content", str(error) or type(error).__name__, expected))
    return ""


def _static(root: Path) -> dict[str, bytes]:
    """The files of static/ as they are, but for the stylesheets, which become one."""
    folder = root / "static"
    files = {
        f"static/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".css"
    }
    return files | {STYLESHEET: b"\n".join((folder / f"css/{name}.css").read_bytes() for name in STYLES)}
