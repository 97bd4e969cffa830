"""The marks of a finished page beside those of the page that the sources build: source lines, and what moved."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from difflib import SequenceMatcher

from sevensteps.web.check.reader import Node, Page
from sevensteps.web.check.report import Fault

#: What makes an element a mark, and the kind of fault when it is not where it belongs.
KINDS = {
    "data-ref": "number", "data-fact": "fact", "data-token": "token", "data-claim": "markup",
    "data-worked": "worked line", "data-calculated": "note", "data-printed-sum": "note",
}  # fmt: skip
_LINE = re.compile(r' data-line="([^"]*)"')


class Alignment:
    """A finished page, the same page built afresh with source lines in its marks, and which mark is which."""

    def __init__(self, page: Page, fresh: Page, file: str) -> None:
        self.page, self.file, self._fresh = page, file, fresh.html
        expected = [mark for mark in fresh.nodes if _kind(mark)]
        found = [mark for mark in page.nodes if _kind(mark)]
        due, there = [_key(mark) for mark in expected], [_key(mark) for mark in found]
        self._opcodes = SequenceMatcher(None, due, there, autojunk=False).get_opcodes() if due != there else []
        self._expected, self._found = expected, found
        self._places = [mark.place for mark in found]
        self._lines = self._aligned() if self._opcodes else [self._line(mark) for mark in expected]

    def _line(self, mark: Node) -> str:
        # Line 0 is a mark that the layout makes, as the list of sources does.
        return mark.attributes.get("data-line", self.file).removesuffix(":0")

    def _aligned(self) -> list[str]:
        """The source line of every mark found; one that is in no source has the line of its neighbour."""
        lines: list[str] = []
        for _, start, end, first, last in self._opcodes:
            here = [self._line(mark) for mark in self._expected[start:end]] or lines[-1:] or [self.file]
            lines += [here[min(k, len(here) - 1)] for k in range(last - first)]
        return lines

    def source(self, node: Node | None) -> str:
        """The source line of a mark, of the first mark inside an element, or of the last one before it."""
        if node is None:
            return self.file
        after = bisect_left(self._places, node.place)
        if after < len(self._found) and _is_inside(self._found[after], node):
            return self._lines[after]
        return self._lines[after - 1] if after else self.file

    def moved(self) -> Iterator[Fault]:
        """Every mark that is missing, added, or another one than the sources have at its place."""
        for operation, start, end, first, last in self._opcodes:
            if operation == "equal":
                continue
            missing, added = self._expected[start:end], self._found[first:last]
            for k in range(max(len(missing), len(added))):
                yield self._fault(missing[k] if k < len(missing) else None, added[k] if k < len(added) else None)

    def _fault(self, missing: Node | None, added: Node | None) -> Fault:
        mark = missing or added
        assert mark is not None  # one of the two is given
        kind, source = _kind(mark), self._line(missing) if missing else self.source(added)
        return Fault(kind, self.page.name, _name(mark), _described(added), _described(missing), source)

    def difference(self) -> Fault | None:
        """The first place where the text is not what the sources build, if any."""
        fresh, html = without_lines(self._fresh), self.page.html
        if fresh == html:
            return None
        at = next((k for k, (a, b) in enumerate(zip(fresh, html, strict=False)) if a != b), min(len(fresh), len(html)))
        shown, expected = (text[max(0, at - 20) : at + 30] or "the end" for text in (html, fresh))
        return Fault("text", self.page.name, "", shown, f"what the sources build, {expected}", self._line_at(at))

    def _line_at(self, at: int) -> str:
        """The source line of the mark that is nearest to a place in the page."""
        source, distance, removed = self.file, len(self._fresh), 0
        for match in _LINE.finditer(self._fresh):
            away = abs(match.start() - removed - at)
            if away > distance:
                break
            source, distance, removed = match[1].removesuffix(":0"), away, removed + len(match[0])
        return source


def without_lines(fresh: str) -> str:
    """The page as it is written out."""
    return _LINE.sub("", fresh)


def _kind(node: Node) -> str:
    return next((kind for mark, kind in KINDS.items() if mark in node.attributes), "")


def _is_inside(node: Node | None, element: Node) -> bool:
    while node is not None and node is not element:
        node = node.parent
    return node is element


def _name(node: Node) -> str:
    return next(node.attributes[mark] for mark in KINDS if mark in node.attributes)


def _key(node: Node) -> tuple[str | None, ...]:
    get = node.attributes.get
    return (node.tag, *(get(mark) for mark in KINDS), get("data-places"), get("data-kind"))


def _described(node: Node | None) -> str:
    return f"{_name(node)} {' '.join(node.text.split())}" if node else "nothing"
