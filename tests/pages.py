"""Finished pages as trees, read by html.parser alone: what the tests of content look at."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder

STEPS = (
    "1-tokens", "2-embeddings", "3-query-key-value", "4-mask-and-heads", "5-block", "6-output", "7-generation",
)  # fmt: skip
LAB = ("lab/next-token", "lab/logit-lens", "lab/attention-off", "lab/tied")
PAGES = ("index", *STEPS, "workbench", "needle-and-dial", "odds", *LAB, "glossary", "404")
VOID = ("meta", "link", "br", "hr", "img", "input", "wbr")


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tree = TreeBuilder()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.tree.end(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        self.tree.data(data)


@cache
def read(path: Path) -> Element:
    """The <html> of a page."""
    builder = _Builder()
    builder.feed(path.read_text(encoding="utf-8").strip())
    return builder.tree.close()


def text(element: Element) -> str:
    """All text inside, white space collapsed."""
    return " ".join("".join(element.itertext()).split())


def of_class(root: Element, css: str) -> list[Element]:
    return [element for element in root.iter() if css in element.get("class", "").split()]


def only(root: Element, css: str) -> Element:
    """The one element of a class."""
    (element,) = of_class(root, css)
    return element


def table_of(root: Element, caption: str) -> list[list[str]]:
    """The texts of a table's cells, found by the id of its caption."""
    return rows_of(root.find(f".//caption[@id='{caption}']/.."))


def rows_of(table: Element) -> list[list[str]]:
    return [[text(cell) for cell in row] for row in table.iter("tr")]


def with_attribute(root: Element, name: str) -> Iterator[Element]:
    return (element for element in root.iter() if name in element.attrib)


def printed(page: Element) -> dict[str, set[str]]:
    """ref -> every text that the page prints for it, in prose, tables, formulas and pictures."""
    texts = defaultdict(set)
    for mark in with_attribute(page, "data-ref"):
        texts[mark.get("data-ref")].add(text(mark))
    return dict(texts)


def name_of(ref: str) -> str:
    """The value's name: without run and without index."""
    return ".".join(part for part in ref.rpartition("/")[2].split(".") if not part.isdigit())
