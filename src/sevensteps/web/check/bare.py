"""No bare number: every digit that a reader sees or hears is marked, counts or names something, or is code."""

import re
from collections.abc import Iterator, Sequence

from sevensteps.web.check.reader import Node, Page
from sevensteps.web.check.rules import VALUE, Finding

#: Digits, raised and lowered ones, and fractions.
DIGIT = re.compile(r"[\d²³¹¼-¾⁰-⁹₀-₉⅐-↉]")
#: Elements whose digits are no figures of the page.
EXEMPT_TAGS = frozenset({"code", "pre", "kbd", "cite", "time", "script", "style"})
EXEMPT_MARKS = ("data-structure", "data-calculated", "data-printed-sum")
SPOKEN = ("alt", "title", "aria-label", "aria-description", "aria-valuetext", "aria-roledescription", "placeholder")
#: The small integers of a formula, as in x² or 1/d.
PART_OF_FORMULA = frozenset({"0", "1", "2"})


def bare_numbers(page: Page, names: Sequence[str]) -> Iterator[Finding]:
    """Every digit in text, or in an attribute that is read out, which has no mark."""
    named = _named(names)
    exempt = _exempt(page)
    for text, node in page.texts:
        if DIGIT.search(text) and node not in exempt and DIGIT.search(named.sub("", text)):
            yield _bare(node, text)
    for node in page.nodes:
        for text in _spoken(node):
            if DIGIT.search(named.sub("", text)) and node not in exempt:
                yield _bare(node, text)


def _bare(node: Node, text: str) -> Finding:
    return Finding("bare number", node, "", " ".join(text.split()), "n(…), fact(…) or k(…)")


def _named(names: Sequence[str]) -> re.Pattern[str]:
    """The names that may stand as they are, whole: GPT-2 is none in GPT-20 or GPT-2.5."""
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(longest_first) or '(?!)'})(?!\w|[.,]\d)")


def _exempt(page: Page) -> set[Node]:
    """The elements whose digits are accounted for, with all that is inside them."""
    exempt: set[Node] = set()
    for node in page.nodes:
        if node.parent in exempt or _is_exempt(node):
            exempt.add(node)
    return exempt


def _is_exempt(node: Node) -> bool:
    attributes = node.attributes
    if node.tag in EXEMPT_TAGS or any(mark in attributes for mark in EXEMPT_MARKS):
        return True
    if node.tag in VALUE and ("data-ref" in attributes or "data-fact" in attributes):
        return True
    return node.tag == "mn" and (node.text in PART_OF_FORMULA or _is_index(node))


def _is_index(node: Node) -> bool:
    """Whether a number is the index of a symbol, as in W₁."""
    parent = node.parent
    return parent is not None and parent.tag in ("msub", "msubsup") and parent.children[1:2] == [node]


def _spoken(node: Node) -> Iterator[str]:
    attributes = node.attributes
    yield from (attributes[name] for name in SPOKEN if name in attributes)
    if node.tag == "meta" and (
        attributes.get("name") == "description"
        or attributes.get("property") in ("og:title", "og:description", "og:image:alt")
    ):
        yield attributes.get("content", "")
