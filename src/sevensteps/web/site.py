"""Render every page of the site: toy, derived figures and facts in; names and bytes of files out."""

import tomllib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from markupsafe import Markup

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.toy import load_toy
from sevensteps.engine.toyfile import read_toml
from sevensteps.refs import Runs
from sevensteps.web.author import Author, Broken, Page
from sevensteps.web.derived import add_derived
from sevensteps.web.facts import Fact, load_facts
from sevensteps.web.formulas import Formulas

LANGUAGE = "en"
STEPS = (
    "1-tokens", "2-embeddings", "3-query-key-value", "4-mask-and-heads", "5-block", "6-output", "7-generation",
)  # fmt: skip
PAGES = ("index", *STEPS, "glossary", "404")
#: Template files whose macros content may call.
MACROS = ("boxes.html", "pictures.html")


@dataclass(frozen=True)
class Sources:
    """Everything that the pages are made from, read and checked."""

    root: Path
    runs: Runs
    facts: dict[str, Fact]
    site: dict[str, Any]


@dataclass
class Site:
    """The finished files, and the claims that these weights break."""

    files: dict[str, bytes] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)


def load_sources(root: Path) -> Sources:
    """Read toy, derived figures, facts and site data. Raises InputError with all their faults at once."""
    faults: list[Fault] = []

    def attempt(load: Callable[[], Any]) -> Any:
        try:
            return load()
        except InputError as error:
            faults.extend(error.faults)

    content = root / "content"
    toy = attempt(lambda: load_toy(content / "toy.toml"))
    facts = attempt(lambda: load_facts(content / "facts.toml"))
    site = attempt(lambda: read_toml(content / "site.toml", "content/site.toml"))
    for slug in PAGES:
        if not (content / LANGUAGE / f"{slug}.md").is_file():
            faults.append(Fault(f"content/{LANGUAGE}/{slug}.md", "(file)", "nothing", "a content page"))
    runs = attempt(lambda: add_derived(toy.traces(), content / "derived.toml")) if toy else None
    if faults:
        raise InputError(faults)
    return Sources(root, runs, facts, site)


def render(sources: Sources, lines: bool = False) -> Site:
    """All files of the site. With `lines`, marks carry the source line (for the checker, never written out).

    Raises InputError with every fault of every content page.
    """
    env = environment(sources.root)
    author = Author(env, sources.root, sources.runs, sources.facts, lines)
    env.globals.update(author.functions(), site=sources.site, steps=STEPS)
    for file in MACROS:
        for name in vars(env.get_template(file).module):
            if not name.startswith("_") and name not in env.globals:
                env.globals[name] = author.box(name)
    site = Site()
    heads = {slug: front_matter(sources.root, slug, author.faults) for slug in PAGES}
    for slug, (head, source) in heads.items():
        html = _page(author, slug, head, source, heads)
        site.files[f"{slug}.html"] = html.encode()
    if author.faults:
        raise InputError(author.faults)
    site.files |= _static(sources.root)
    site.files["sitemap.xml"] = env.get_template("sitemap.xml").render(pages=PAGES).encode()
    site.broken = author.broken
    return site


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


def _page(author: Author, slug: str, head: dict[str, Any], source: str, heads: dict[str, Any]) -> str:
    page = author.page = Page(slug, f"content/{LANGUAGE}/{slug}.md")
    page.formulas = Formulas(source, page.file)
    author.faults += page.formulas.faults
    body = page.stash.html(_content(author, page))
    step = STEPS.index(slug) + 1 if slug in STEPS else 0
    layout = author.env.get_template("layout.html")
    html = layout.render(
        page=page, head=head, body=Markup(body), step=step, language=LANGUAGE,
        titles={name: heads[name][0]["title"] for name in heads},
    )  # fmt: skip
    return page.stash.restore(html)


def _content(author: Author, page: Page) -> str:
    """The page's Markdown, every Jinja call carried out. What stops the rendering becomes a fault with its line."""
    assert page.formulas is not None  # set by the caller
    env = author.env
    try:
        code = env.compile(page.formulas.source, page.file, page.file)
        template = env.template_class.from_code(env, code, env.make_globals(None))
        return template.render()
    except TemplateSyntaxError as error:
        author.faults.append(Fault(f"{error.filename or page.file}:{error.lineno}", "content", str(error.message), "Jinja"))
    except (TemplateError, TypeError, ValueError, KeyError, IndexError) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == page.file]
        where = f"{page.file}:{lines[-1]}" if lines else page.file
        author.faults.append(Fault(where, "content", str(error) or type(error).__name__, "a function of the content pages"))
    return ""


def _static(root: Path) -> dict[str, bytes]:
    folder = root / "static"
    return {
        f"static/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
