"""Read a finished page strictly: a light tree of its elements, and every fault of its markup.

Browsers repair what is unclosed or misnested, each by rules of its own; here it is a fault.
"""

from collections import Counter
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
#: Elements that end an open paragraph, so that a browser builds another tree than the text shows.
BLOCKS = frozenset([
    "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figure", "footer", "form", "h1", "h2", "h3",
    "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul",
])  # fmt: skip
#: Elements that hold foreign markup, where `<path/>` is closed.
FOREIGN = frozenset({"svg", "math"})
Attributes = dict[str, str]


class Node:
    """One element. `place` counts the elements of the page from its start."""

    __slots__ = ("attributes", "children", "foreign", "parent", "place", "tag")

    def __init__(self, tag: str, attributes: Attributes, parent: "Node | None", place: int) -> None:
        self.tag, self.attributes, self.parent, self.place = tag, attributes, parent, place
        self.children: list[Node | str] = []
        self.foreign: bool = tag in FOREIGN or (parent is not None and parent.foreign)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def texts(self) -> Iterator[str]:
        """Every piece of text inside, in order. Without recursion: garbage may nest as deep as it likes."""
        waiting: list[Node | str] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                yield item
            else:
                waiting.extend(reversed(item.children))

    @property
    def text(self) -> str:
        return "".join(self.texts())


class Page:
    """A page that has been read: its elements and its pieces of text, both in order, and the faults of its markup."""

    def __init__(self, name: str, html: str) -> None:
        self.name, self.html = name, html
        self.nodes: list[Node] = []
        #: (text, the element around it)
        self.texts: list[tuple[str, Node]] = []
        #: (what was found, what was expected, the element concerned)
        self.faults: list[tuple[str, str, Node | None]] = []
        _Reader(self).read()

    def with_attribute(self, name: str) -> list[Node]:
        return [node for node in self.nodes if name in node.attributes]


class _Reader(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__(convert_charrefs=False)
        self.page = page
        self.root = Node("", {}, None, -1)
        self.stack = [self.root]

    def read(self) -> None:
        try:
            self.feed(self.page.html)
            if self.rawdata:
                self._fault(f"{self.rawdata[:40]!r} at the end", "markup that is complete")
            self.close()
        except AssertionError as error:  # html.parser's word for a declaration beyond repair
            self._fault(str(error), "HTML")
        for node in self.stack[1:]:
            self._fault(f"<{node.tag}> that is never closed", f"</{node.tag}>", node)
        roots = [node.tag for node in self.root.children if isinstance(node, Node)]
        if roots != ["html"]:
            self._fault(", ".join(roots) or "no element", "one <html> element")

    def _fault(self, found: str, expected: str, node: Node | None = None) -> None:
        last = self.page.nodes[-1] if self.page.nodes else None
        self.page.faults.append((found, expected, node or last))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = self._open(tag, attrs)
        if tag not in VOID or node.foreign:
            self.stack.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = self._open(tag, attrs)
        if tag not in VOID and not node.foreign:
            self._fault(f"<{tag}/>", f"<{tag}></{tag}>", node)

    def _open(self, tag: str, attrs: list[tuple[str, str | None]]) -> Node:
        attributes = {name: value or "" for name, value in attrs}
        node = Node(tag, attributes, self.stack[-1], len(self.page.nodes))
        self.stack[-1].children.append(node)
        self.page.nodes.append(node)
        if len(attributes) < len(attrs):
            name = Counter(name for name, _ in attrs).most_common(1)[0][0]
            self._fault(f"{name} twice in one <{tag}>", "each attribute once", node)
        if tag in BLOCKS and self.stack[-1].tag == "p":
            self._fault(f"<{tag}> inside <p>", "</p> before it", node)
        return node

    def handle_endtag(self, tag: str) -> None:
        if tag == self.stack[-1].tag:
            self.stack.pop()
            return
        if tag not in (node.tag for node in self.stack[1:]):
            self._fault(f"</{tag}> that closes nothing", f"no </{tag}>")
            return
        while (node := self.stack.pop()).tag != tag:
            self._fault(f"</{tag}> before </{node.tag}>", f"</{node.tag}>", node)

    def handle_data(self, data: str) -> None:
        if "<" in data and self.stack[-1].tag not in ("script", "style"):
            self._fault(f"{data.strip()[:40]!r}", "&lt; for a < that opens no tag")
        self._text(data)

    def handle_entityref(self, name: str) -> None:
        character = unescape(f"&{name};")
        if character == f"&{name};":
            self._fault(f"&{name}", "a named character, or &amp;")
        self._text(character)

    def handle_charref(self, name: str) -> None:
        self._text(unescape(f"&#{name};"))

    def _text(self, text: str) -> None:
        self.stack[-1].children.append(text)
        self.page.texts.append((text, self.stack[-1]))

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html" or self.page.nodes:
            self._fault(f"<!{decl}>", "<!doctype html> as the first line")

    def handle_pi(self, data: str) -> None:
        self._fault(f"<?{data[:40]}>", "HTML")

    def unknown_decl(self, data: str) -> None:
        self._fault(f"<![{data[:40]}", "HTML")
