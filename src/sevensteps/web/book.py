"""All pages of the site as one document for paper: a title, contents, and every page as a chapter.

A number of a sheet is not known here. Every link inside the book waits for it with the attribute `data-sheet`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from urllib.parse import urlsplit

from jinja2 import TemplateError
from markupsafe import Markup

from sevensteps.engine.faults import InputError
from sevensteps.web.site import LANGUAGE, PAGES, STEPS, Site, Sources, environment, template_fault

#: Attributes that hold ids of the same page, separated by spaces.
IDS = frozenset({"id", "for", "aria-labelledby", "aria-describedby"})
HEADINGS = ("h1", "h2")
#: Before it is known, a sheet has as many digits as most will have: the text hardly moves when they come.
UNKNOWN = "00"


@dataclass
class Heading:
    """A line of the contents: where it leads, and its title as HTML."""

    id: str
    title: Markup


@dataclass
class Chapter:
    """One page of the site: its <main>, with ids that are unique in the book, and its h1 and h2."""

    slug: str
    headings: list[Heading] = field(default_factory=list)
    body: Markup = field(default_factory=Markup)

    @property
    def step(self) -> int:
        """The number of the step; 0 for a page beside the path."""
        return STEPS.index(self.slug) + 1 if self.slug in STEPS else 0

    @property
    def title(self) -> Markup:
        return self.headings[0].title

    @property
    def sections(self) -> list[Heading]:
        return self.headings[1:]

    @property
    def running(self) -> Markup:
        """The running title, as a string of CSS."""
        text = f"{self.step} · " * bool(self.step) + self.title.striptags()
        return Markup('"{}"').format(Markup("".join(c if c.isalnum() else f"\\{ord(c):x} " for c in text)))


def book(sources: Sources, site: Site) -> bytes:
    """The document, as HTML. Raises InputError when its template cannot be drawn."""
    slugs = [slug for slug in PAGES if slug != "404"]
    try:
        template = environment(sources.root).get_template("book.html")
        return template.render(
            title=sources.site["title"], language=LANGUAGE, unknown=UNKNOWN, chapters=_chapters(site.files, slugs)
        ).encode()
    except TemplateError as error:
        raise InputError([template_fault(error, sources.root / "templates")]) from None


def _chapters(pages: Mapping[str, bytes], slugs: Iterable[str]) -> list[Chapter]:
    """The pages `slug.html` as chapters, in the order of the slugs."""
    slugs = tuple(slugs)
    return [_Reader(slug, slugs).read(pages[f"{slug}.html"].decode()) for slug in slugs]


class _Reader(HTMLParser):
    """Copies a page's <main>. Only ids, links and closed details are written anew."""

    def __init__(self, slug: str, slugs: tuple[str, ...]) -> None:
        super().__init__(convert_charrefs=False)
        self.chapter = Chapter(slug)
        self.slugs = slugs
        self.parts: list[str] = []
        self.inside = False
        self.heading_start = 0

    def read(self, page: str) -> Chapter:
        self.feed(page)
        self.close()
        self.chapter.body = Markup("".join(self.parts))
        return self.chapter

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "main":
            self.inside = True
            return
        attributes = dict(attrs)
        if tag in HEADINGS:
            attributes.setdefault("id", f"heading-{len(self.chapter.headings)}")
        if tag == "details":
            attributes["open"] = ""
        self._copy(f"<{tag}{''.join(self._attribute(*pair) for pair in attributes.items())}>")
        if tag in HEADINGS:
            self.chapter.headings.append(Heading(self._id(attributes["id"] or ""), Markup("")))
            self.heading_start = len(self.parts)

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self.inside = False
        if tag in HEADINGS and self.inside:
            self.chapter.headings[-1].title = Markup("".join(self.parts[self.heading_start :]))
        self._copy(f"</{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._copy(self.get_starttag_text() or "")

    def handle_data(self, data: str) -> None:
        self._copy(data)

    def handle_entityref(self, name: str) -> None:
        self._copy(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._copy(f"&#{name};")

    def _copy(self, html: str) -> None:
        if self.inside:
            self.parts.append(html)

    def _attribute(self, name: str, value: str | None) -> str:
        value = value or ""
        if name in IDS:
            value = " ".join(map(self._id, value.split()))
        if name == "href" and (target := self._target(value)):
            return f' href="#{escape(target)}" data-sheet="{UNKNOWN}"'
        return f' {name}="{escape(value)}"'

    def _id(self, name: str) -> str:
        return f"{self.chapter.slug}--{name}"

    def _target(self, link: str) -> str:
        """The id in the book to which a link leads; empty when it leads out of the book."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return ""
        file = normpath(join(dirname(self.chapter.slug), parts.path)) if parts.path else f"{self.chapter.slug}.html"
        slug = file.removesuffix(".html")
        if slug not in self.slugs:
            return ""
        return f"{slug}--{parts.fragment}" if parts.fragment else slug
