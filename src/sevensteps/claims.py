"""Conditions on the numbers, for sentences that are true of these weights only.

    top(p[last]) = '␣roof' and p[last,␣roof] > 0.3

Terms: a number, a token in quotes (its id), a ref, or top, max, min, sum, rank, abs of a ref: `top` is the index of
the largest entry of a row, `rank` the place (from 1) of an entry in its row, largest first.
Relations: = ≠ < > ≤ ≥ and ≈ (less than half a unit of the third decimal apart).
`compile_claim` turns symbols into refs; pages carry that form in `data-claim`, and `holds` evaluates it.
"""

import operator
import re
from collections.abc import Callable

import numpy as np

from sevensteps.engine.ops import Array
from sevensteps.refs import Runs, UnknownRefError

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "≠": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "≤": operator.le,
    "≥": operator.ge,
    "≈": lambda a, b: abs(a - b) < 0.0005,
}
_RELATION = re.compile(rf"(.+?) ([{''.join(RELATIONS)}]) (.+)")
_NUMBER = re.compile(r"[-−]?\d+(\.\d+)?")
_CALL = re.compile(r"(top|max|min|sum|rank|abs)\((.+)\)")
_ROW_FUNCTIONS: dict[str, Callable[[Array], float]] = {
    "top": lambda row: int(row.argmax()),
    "max": lambda row: float(row.max()),
    "min": lambda row: float(row.min()),
    "sum": lambda row: float(row.sum()),
}


class BadClaimError(ValueError):
    """A condition that cannot be read."""


def compile_claim(written: str, runs: Runs) -> str:
    """The condition with every symbol as a ref and every token as its id. Raises BadClaimError, UnknownRefError."""
    relations = [f"{_compile(a, runs)} {sign} {_compile(b, runs)}" for a, sign, b in _relations(written)]
    return " and ".join(relations)


def holds(compiled: str, runs: Runs) -> bool:
    """Whether a compiled condition is true of the traces. Raises BadClaimError, UnknownRefError."""
    return all(_is_true(relation, runs) for relation in _relations(compiled))


def untrue(written: str, compiled: str, runs: Runs) -> list[str]:
    """The relations of a compiled condition that are not true, as written. Raises BadClaimError, UnknownRefError."""
    pairs = zip(_relations(written), _relations(compiled), strict=True)
    return [" ".join(said) for said, relation in pairs if not _is_true(relation, runs)]


def _is_true(relation: tuple[str, str, str], runs: Runs) -> bool:
    a, sign, b = relation
    return RELATIONS[sign](_value(a, runs), _value(b, runs))


def _relations(text: str) -> list[tuple[str, str, str]]:
    parts = []
    for part in text.split(" and "):
        match = _RELATION.fullmatch(part.strip())
        if match is None:
            raise BadClaimError(f"{part.strip()!r} is not of the form TERM {' '.join(RELATIONS)} TERM")
        parts.append((match[1], match[2], match[3]))
    return parts


def _compile(term: str, runs: Runs) -> str:
    if len(term) > 2 and term[0] == term[-1] == "'":
        return runs.ref(f"W_E[{term[1:-1]}]").rpartition(".")[2]
    if call := _CALL.fullmatch(term):
        return f"{call[1]}({runs.ref(call[2])})"
    return term if _NUMBER.fullmatch(term) else runs.ref(term)


def _value(term: str, runs: Runs) -> float:
    if _NUMBER.fullmatch(term):
        return float(term.replace("−", "-"))
    if call := _CALL.fullmatch(term):
        function, ref = call[1], call[2]
        if function == "abs":
            return abs(_single(runs, ref))
        if function == "rank":
            row, _, entry = ref.rpartition(".")
            return 1 + int((_row(runs, row) > runs[row][int(entry)]).sum())
        return _ROW_FUNCTIONS[function](_row(runs, ref))
    return _single(runs, term)


def _row(runs: Runs, ref: str) -> Array:
    if runs[ref].ndim != 1:
        raise UnknownRefError(f"{ref!r} is not a row")
    return np.asarray(runs[ref])


def _single(runs: Runs, ref: str) -> float:
    if runs[ref].ndim != 0:
        raise UnknownRefError(f"{ref!r} is not a single number")
    return float(runs[ref])
