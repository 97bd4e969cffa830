"""What the rules hand back, and the rules on single marks: numbers, facts, tokens, claims."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from sevensteps.claims import BadClaimError, holds
from sevensteps.refs import UnknownRefError
from sevensteps.web.check.notation import UnreadableError, places_of
from sevensteps.web.check.printed import said
from sevensteps.web.check.reader import Node, Page
from sevensteps.web.check.values import Values

#: The attribute that carries the full value, by element.
VALUE = {"data": "value", "mn": "data-value", "tspan": "data-value"}


@dataclass(frozen=True)
class Finding:
    """A fault whose source line is not looked up yet. `node` is the element concerned, or None for the whole page."""

    kind: str
    node: Node | None
    ref: str
    shown: str
    expected: str


def numbers(page: Page, values: Values) -> Iterator[Finding]:
    """Every marked number: a ref that exists, the text by the print rule, the engine's value to its last bit."""
    for node in page.with_attribute("data-ref"):
        ref = node.attributes["data-ref"]
        value = values.number(ref)
        if value is None:
            yield Finding("number", node, ref, node.text, "a ref of a single number of the toy")
        elif "data-places" in node.attributes and not inside_worked_line(node):
            yield Finding("number", node, ref, "places of its own", "the print rule, outside a worked line")
        elif node.tag not in VALUE:
            yield Finding("number", node, ref, f"<{node.tag}>", f"one of {', '.join(VALUE)}")
        else:
            try:
                yield from _written(node, "number", ref, value, values.text(ref, places_of(node)))
            except UnreadableError as error:
                yield Finding("number", node, ref, str(error), "a number of places")


def facts(page: Page, values: Values) -> Iterator[Finding]:
    """Every figure of facts.toml: its text and its value."""
    for node in page.with_attribute("data-fact"):
        key = node.attributes["data-fact"]
        fact = values.facts.get(key)
        if fact is None or node.tag not in VALUE:
            yield Finding("fact", node, key, node.text, "a key of content/facts.toml on a number")
        else:
            yield from _written(node, "fact", key, fact.value, fact.text)
            if said(node.text.replace(",", "")) != Decimal(repr(fact.value)):
                yield Finding("fact", node, key, node.text, f"digits that say {fact.value!r}")


def _written(node: Node, kind: str, name: str, value: float, text: str) -> Iterator[Finding]:
    if node.text != text:
        yield Finding(kind, node, name, node.text, text)
    attribute = VALUE[node.tag]
    found = node.attributes.get(attribute, "")
    if _float(found) != repr(value):
        yield Finding(kind, node, name, f'{attribute}="{found}"', repr(value))


def _float(text: str) -> str:
    """The float that an attribute says, to its last bit; empty where it says none."""
    try:
        return repr(float(text))
    except ValueError:
        return ""


def inside_worked_line(node: Node) -> bool:
    parent = node.parent
    while parent is not None and "worked" not in parent.classes:
        parent = parent.parent
    return parent is not None


def tokens(page: Page, values: Values) -> Iterator[Finding]:
    """Every token that follows from the weights, and the answers that exercises expect."""
    for node in page.with_attribute("data-token"):
        mark = node.attributes["data-token"]
        expected = values.marked_token(mark)
        if expected is None:
            yield Finding("token", node, mark, node.text, "id or top, and a ref of the toy")
        elif node.text != expected:
            yield Finding("token", node, mark, node.text, expected)
    for node in page.with_attribute("data-token-answer"):
        mark = node.attributes["data-token-answer"]
        if values.marked_token(mark) is None:
            yield Finding("token", node, mark, mark, "id or top, and a ref of the toy")
    for node in page.with_attribute("data-answer"):
        ref = node.attributes["data-answer"]
        if values.number(ref) is None:
            yield Finding("number", node, ref, ref, "a ref of a single number of the toy")


def claims(page: Page, values: Values) -> Iterator[Finding]:
    """Every sentence that depends on the weights still holds."""
    for node in page.with_attribute("data-claim"):
        condition, sentence = node.attributes["data-claim"], " ".join(node.text.split())
        try:
            if not holds(condition, values.runs):
                yield Finding("claim", node, condition, sentence, "a sentence that these weights bear out")
        except (BadClaimError, UnknownRefError, ValueError, IndexError) as error:
            yield Finding("markup", node, "data-claim", condition, f"a condition on the toy ({error})")
