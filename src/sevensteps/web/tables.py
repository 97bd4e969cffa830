"""Tables of values: named rows and columns, cells that know their ref, and notes where rounding shows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from html import unescape
from itertools import zip_longest
from math import isfinite

from sevensteps.engine.ops import most_likely_first
from sevensteps.engine.steps import Step, Trace, followers, made_from
from sevensteps.explain import explain, origins
from sevensteps.expression import Number, evaluate, numbers
from sevensteps.printing import read, rounded, shown, signed
from sevensteps.refs import Runs, UnknownRefError, run_of

_TABLE = re.compile(r'<table\b(?![^>]*"words").*?</table>', re.DOTALL)
_ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"[−<>]*[\d,]+(?:\.(\d+))?")


@dataclass(frozen=True)
class Row:
    """One row: its heading as HTML, and a ref (None: an empty cell) for every column."""

    heading: str
    refs: tuple[str | None, ...]
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """What the table macro draws. `corner` names what the rows and the columns count.

    `data` and `order` are attributes of the table and of its body, by which they follow the text in static/js/page.js.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    foot: tuple[Row, ...] = ()
    corner: str = ""
    by_column: bool = False
    data: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[str, str] = field(default_factory=dict)

    def refs(self) -> list[str]:
        return [ref for row in (*self.rows, *self.foot) for ref in row.refs if ref is not None]


@dataclass(frozen=True)
class Note:
    """A figure that the printed digits give, where it differs from the printed one: its ref and its text."""

    ref: str
    calculated: str


def shades(runs: Runs, table: Table) -> dict[str, str]:
    """For each cell a number from −1 to 1: its value over the largest magnitude of the table, or of its column."""
    rows = [row.refs for row in table.rows]
    groups = zip(*rows, strict=True) if table.by_column else [[ref for row in rows for ref in row]]
    return {ref: shade for group in groups for ref, shade in shades_of(runs, group)}


def shades_of(runs: Runs, refs: Iterable[str | None]) -> list[tuple[str, str]]:
    """Each ref with its value over the largest magnitude among them; what is not finite is left out."""
    values = {ref: value for ref in refs if ref and isfinite(value := float(runs[ref]))}
    largest = max(map(abs, values.values()), default=0.0) or 1.0
    # Halves away from zero, as JavaScript's toFixed gives them.
    return [(ref, f"{rounded(Decimal(value / largest), 2) + 0:f}") for ref, value in values.items()]


def aligned(html: str) -> str:
    """The same HTML, where each cell says what its number lacks to the longest decimals of its column.

    A cell shows that unseen, so that the points align. Tables of words have none.
    """
    return _TABLE.sub(_padded, html)


def _padded(table: re.Match[str]) -> str:
    rows = [_CELL.findall(row) for row in _ROW.findall(table[0])]
    longest = [max(len(_decimals(cell) or "") for cell in column) for column in zip_longest(*rows, fillvalue="")]

    def pad(row: re.Match[str]) -> str:
        column = iter(longest)
        return _CELL.sub(lambda cell: _lacking(cell[0], next(column)), row[0])

    return _ROW.sub(pad, table[0])


def _lacking(cell: str, places: int) -> str:
    decimals = _decimals(cell)
    if decimals is None or len(decimals) >= places:
        return cell
    return f'<td data-pad="{"" if decimals else "."}{"0" * (places - len(decimals))}"{cell[3:]}'


def _decimals(cell: str) -> str | None:
    """The digits behind the point of a cell's number; None where it holds something else."""
    number = _NUMBER.fullmatch(unescape(_TAG.sub("", cell))) if cell.startswith("<td") else None
    return number and (number[1] or "")


def closing_notes(runs: Runs, refs: Sequence[str]) -> list[Note]:
    """What the printed operands would give, for each cell that follows from others of the table.

    Only where the printed result is more than one unit of its last digit away.
    """
    there = set(refs)
    notes = []
    for ref in _following(runs, refs):
        calculated = from_printed(runs, ref, there)
        if calculated is not None and abs(calculated - _printed(float(runs[ref]))) > _unit(calculated):
            notes.append(Note(ref, decimal_text(calculated)))
    return notes


def _following(runs: Runs, refs: Sequence[str]) -> list[str]:
    """The refs whose values are made from values of other refs: to explain an entry of a wide table costs time."""
    names: dict[str, set[str]] = {}
    found = [(ref, *runs.find(ref)) for ref in refs]
    for _, trace, name, _ in found:
        names.setdefault(trace.run, set()).add(name)
    made = {run: there | followers(runs.traces[run], there) for run, there in names.items()}
    return [
        ref
        for ref, trace, name, _ in found
        if any(trace.split(source)[0] in made[trace.run] for source in made_from(trace, name))
    ]


def from_printed(runs: Runs, ref: str, there: set[str] | None = None) -> Decimal | None:
    """What a calculator gives for a number from its printed operands; None where there is nothing to calculate.

    With `there`, the refs of a table, None also where not all operands (or what they are copies of) are in the table.
    """
    trace, name, index = runs.find(ref)
    expression = explain(trace, name, index).expression
    if expression is None or isinstance(expression, Number) or not isfinite(float(runs[ref])):
        return None
    operands = list(numbers(expression))
    if not all(isfinite(number.value) for number in operands):
        return None
    if there is not None and not all(_is_there(trace, run_of(ref), number.ref, there) for number in operands):
        return None
    calculated = evaluate(expression, lambda number: _printed(number.value))
    return rounded(calculated, _places(calculated)) if calculated.is_finite() else None


def _is_there(trace: Trace, run: str, ref: str, there: set[str]) -> bool:
    return any(run + origin in there for origin in origins(trace, ref))


def sum_notes(runs: Runs, refs: Sequence[str]) -> list[Note]:
    """For each whole row of probabilities in the table, what its printed entries add up to, where that is not 1."""
    there = set(refs)
    rows = dict.fromkeys(ref.rpartition(".")[0] for ref in refs)
    return [
        Note(row, decimal_text(total))
        for row in rows
        if _is_distribution(runs, row, there) and (total := _printed_sum(runs, row)) != 1
    ]


def _is_distribution(runs: Runs, row: str, there: set[str]) -> bool:
    try:
        trace, name, index = runs.find(row)
    except UnknownRefError:
        return False
    values = trace.values[name][index]
    return (
        values.ndim == 1
        and all(map(isfinite, values))
        and all(f"{row}.{k}" in there for k in range(values.size))
        and is_share(trace, trace.steps[name])
    )


def is_share(trace: Trace, step: Step) -> bool:
    """Whether a step's rows add up to 1: softmax, or entries divided by their own sum."""
    if step.op != "divide":
        return step.op == "softmax"
    whole, by = step.inputs
    total = trace.steps[trace.split(by)[0]]
    return total.op == "row_sum" and total.inputs == (whole,)


def _printed_sum(runs: Runs, row: str) -> Decimal:
    return sum((_printed(float(v)) for v in runs[row]), Decimal(0))


def _printed(value: float) -> Decimal:
    """The number that the printed text says; <0.001 counts as 0, as a reader who adds up would take it."""
    text = shown(value)
    return Decimal(0) if text.startswith(("<", ">")) else read(text)


def _places(value: Decimal) -> int:
    """The places of a calculated figure: three, and fewer where that is more than the twelve digits of a calculator."""
    return min(3, 11 - value.adjusted())


def _unit(value: Decimal) -> Decimal:
    """One unit of a calculated figure's last digit."""
    return Decimal(1).scaleb(-_places(value))


def decimal_text(value: Decimal) -> str:
    """A calculated figure with its places, and the pages' minus."""
    return signed(f"{rounded(value, _places(value)):f}")


def order(runs: Runs, ref: str) -> list[int]:
    """Indices of a row from its largest entry to its smallest."""
    return [int(k) for k in most_likely_first(runs[ref])]
