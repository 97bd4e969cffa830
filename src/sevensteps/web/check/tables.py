"""The hand check of tables: a cell that follows from others follows from their printed digits, or a note says so."""

from collections.abc import Iterator
from decimal import Decimal

from sevensteps.refs import UnknownRefError
from sevensteps.web.check.arithmetic import figures, with_texts
from sevensteps.web.check.calculator import calculate
from sevensteps.web.check.printed import MINUS, rounded, said
from sevensteps.web.check.reader import Node, Page
from sevensteps.web.check.rules import Finding
from sevensteps.web.check.values import Values
from sevensteps.web.tables import is_share

#: A figure has three places, but no more digits than a calculator's display.
PLACES, DISPLAY = 3, 12
NOTES = ("data-calculated", "data-printed-sum")


def notes(page: Page, values: Values) -> Iterator[Finding]:
    """Every calculator's figure is right, and under each table that needs one there is one."""
    for node in page.with_attribute("data-calculated"):
        ref = node.attributes["data-calculated"]
        yield from _figure(node, ref, _by_hand(ref, values))
    for table, cells, found in _tables(page):
        sums = dict(_sums(cells, values))
        for row, figure in found["data-printed-sum"].items():
            yield from _figure(figure, row, sums.get(row))
        missing = {ref: text for ref, text in _calculated(cells, values) if ref not in found["data-calculated"]}
        missing |= {row: text for row, text in sums.items() if row not in found["data-printed-sum"]}
        for ref, text in missing.items():
            yield Finding("note", table, ref, "no note", f"a note that the printed digits give {text}")


def _figure(node: Node, ref: str, expected: str | None) -> Iterator[Finding]:
    if node.text != expected:
        yield Finding("note", node, ref, node.text, expected or "no such note: there is nothing to calculate")


def _by_hand(ref: str, values: Values) -> str | None:
    """What a calculator gives for a number from its printed operands; None where there is nothing to calculate."""
    arithmetic = values.arithmetic(ref) if values.number(ref) is not None else None
    if arithmetic is None:
        return None
    calculated = calculate(with_texts(arithmetic, values.text))
    return on_display(calculated) if calculated.is_finite() else None


def _tables(page: Page) -> Iterator[tuple[Node | None, dict[str, str], dict[str, dict[str, Node]]]]:
    """Each table with the printed text of its cells by ref, and the notes in it and behind it, up to the next table."""
    table: Node | None = None
    cells: dict[str, str] = {}
    found: dict[str, dict[str, Node]] = {name: {} for name in NOTES}
    for node in page.nodes:
        if node.tag == "table":
            yield table, cells, found
            table, cells, found = node, {}, {name: {} for name in NOTES}
        elif node.parent is not None and node.parent.tag == "td" and "data-ref" in node.attributes:
            cells.setdefault(node.attributes["data-ref"], node.text)
        for name in NOTES:
            if name in node.attributes:
                found[name][node.attributes[name]] = node
    yield table, cells, found


def _calculated(cells: dict[str, str], values: Values) -> Iterator[tuple[str, str]]:
    for ref, text in cells.items():
        if not _is_usable(text) or values.number(ref) is None:
            continue
        arithmetic = values.arithmetic(ref)
        if arithmetic is None:
            continue
        texts = {figure.ref: _printed(figure.ref, cells, values) for figure in figures(arithmetic)}
        if not all(map(_is_usable, texts.values())):
            continue
        calculated = calculate(with_texts(arithmetic, texts.__getitem__))
        if calculated.is_finite() and _is_off(calculated, said(text)):
            yield ref, on_display(calculated)


def _printed(ref: str, cells: dict[str, str], values: Values) -> str:
    """What the table prints for an operand: its own cell, or the cell of what it is a copy of; empty for neither."""
    return next((cells[origin] for origin in values.copied_from(ref) if origin in cells), "")


def _is_usable(text: str | None) -> bool:
    """Whether a cell is there and says a number, not ∞ or a word: the rule of numbers speaks of those."""
    return text is not None and said(text).is_finite()


def _sums(cells: dict[str, str], values: Values) -> Iterator[tuple[str, str]]:
    """Each row of probabilities that is whole in the table, where its printed entries do not add up to 1."""
    for row in dict.fromkeys(ref.rpartition(".")[0] for ref in cells):
        entries = [cells.get(f"{row}.{k}") for k in range(_length_of_share(row, values))]
        if entries and all(map(_is_usable, entries)):
            total = sum((said(text) for text in entries if text), Decimal(0))
            if total != 1:
                yield row, on_display(total)


def _length_of_share(row: str, values: Values) -> int:
    try:
        trace, name, _ = values.runs.find(row)
        value = values.runs[row]
    except UnknownRefError:
        return 0
    return value.size if value.ndim == 1 and is_share(trace, trace.steps[name]) else 0


def _is_off(calculated: Decimal, printed: Decimal) -> bool:
    """Whether the two are more than one unit of the calculated figure's last digit apart."""
    places = _places(calculated)
    return abs(rounded(calculated, places) - printed) > Decimal(1).scaleb(-places)


def _places(value: Decimal) -> int:
    return min(PLACES, DISPLAY - 1 - value.adjusted())


def on_display(value: Decimal) -> str:
    return f"{rounded(value, _places(value)):f}".replace("-", MINUS)
