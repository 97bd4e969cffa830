"""What each op does to get one entry of its result, as data that Python and the browser both read.

`built`, here and in static/js/explain.js, makes an expression of it. An operator stands before its operands; an entry
is an operand and its indices: `+ Σ × aik bkj cj` is the sum over k of a[i,k] × b[k,j], plus c[j].

    a b c   the inputs in their order, then what the step cites; p the one of several side by side that has column j
    x       the entry's own index; i all of it but the last item, j the last; q is j inside of p
    y       x cut from the left: the operand may be one row for all rows
    k       what Σ runs over, a row of a; Σ≥ runs from its largest entry down to j
    m       where the row of a is largest
    B       the row that b names; C the row k of the part of b that belongs to head c

An index that is too long is cut from the right: the operand may have one number a row. A c that is not there is left
out. `n` is the length of a row of a; `+*` and `×*` take all inputs.
"""

from collections.abc import Sequence

from sevensteps.engine.ops import Array, most_likely_first
from sevensteps.engine.steps import Trace
from sevensteps.expression import Apply, Constant, Expression, Number

Index = tuple[int, ...]

ENTRIES = {
    "taken": "ax",
    "rows": "aBj",
    "first_rows": "ax",
    "transpose": "aji",
    "add": "+ ax by",
    "multiply": "× ax by",
    "subtract": "− ax bx",
    "divide": "/ ax bx",
    "row_mean": "/ Σ axk n",
    "row_mean_square": "/ Σ square axk n",
    "root_with_epsilon": "root + ax bx",
    "square_root": "root ax",
    "linear": "+ Σ × aik bkj cj",
    "linear_part": "Σ × aik bCj",
    "scores": "Σ × aik bjk",
    "causal_mask": "ax",
    "exp": "exp ax",
    "row_sum": "Σ axk",
    "softmax": "/ bx cx",
    "softmax beyond": "/ exp − ax aim Σ exp − aik aim",
    "concat": "piq",
    "relu": "max 0 ax",
    "gelu_tanh": "× × 0.5 ax + 1 tanh × root / 2 π + ax × 0.044715 cube ax",
    "gelu_erf": "× × 0.5 ax + 1 erf / ax root 2",
    "pick": "axB",
    "neg_log": "negate ln ax",
    "log": "ln ax",
    "total": "+*",
    "product": "×*",
    "row_norm": "root Σ square axk",
    "cosines": "/ ax × bi bj",
    "at_temperature": "/ − ax aim bx",
    "cumulative": "Σ≥ ak",
    "keep_top_k": "ax",
    "keep_top_p": "ax",
}

#: Operators of two operands; all others have one.
_OF_TWO = ("+", "×", "−", "/", "max")
_OPERATORS = (*_OF_TWO, "negate", "square", "cube", "root", "exp", "ln", "tanh", "erf")


def built(form: str, trace: Trace, refs: Sequence[str], index: Index) -> Expression:
    """The expression of one entry: its form as above, the refs of the operands, the entry's index (0-based)."""
    expression = _Entry(form, trace, refs, index).read()
    if expression is None:
        raise ValueError(form)
    return expression


class _Entry:
    """Reads a form word by word."""

    def __init__(self, form: str, trace: Trace, refs: Sequence[str], index: Index) -> None:
        self.words, self.at = form.split(), 0
        self.operands = [(ref, trace[ref]) for ref in refs]
        self.index, self.row, self.j = index, index[:-1], index[-1] if index else 0
        shape = self.operands[0][1].shape
        self.n = shape[-1] if shape else 1

    def read(self, k: int = 0) -> Expression | None:
        """The next word with its operands; None for an operand that is not there. `k` is the sum's running item."""
        word = self.words[self.at]
        self.at += 1
        if word[0] == "Σ":
            return _apply("+", self._terms(word))
        if word[1:] == "*":
            return _apply(word[0], [self._number(operand, self.index) for operand in self.operands])
        if word in _OPERATORS:
            return _apply(word, [self.read(k) for _ in range(1 + (word in _OF_TWO))])
        if word[0] not in "abcp":
            return Constant(str(self.n) if word == "n" else word)
        which = self.j // self.n if word[0] == "p" else "abc".index(word[0])
        if which >= len(self.operands):
            return None
        operand = self.operands[which]
        return self._number(operand, [item for letter in word[1:] for item in self._place(letter, k, operand[1])])

    def _terms(self, word: str) -> list[Expression | None]:
        start = self.at
        items = range(self.n)
        if word == "Σ≥":
            order = most_likely_first(self.operands[0][1]).tolist()
            items = order[: order.index(self.j) + 1]
        terms = []
        for k in items:
            self.at = start
            terms.append(self.read(k))
        return terms

    def _place(self, letter: str, k: int, operand: Array) -> Sequence[int]:
        def id_in(number: int) -> int:
            """What b or c says for the entry."""
            value = self.operands[number][1]
            return int(value[self.index[: value.ndim]])

        match letter:
            case "x":
                return self.index
            case "y":
                return self.index[len(self.index) - operand.ndim :]
            case "i":
                return self.row
            case "j":
                return (self.j,)
            case "q":
                return (self.j % self.n,)
            case "m":
                row = self.operands[0][1][self.row]
                return (max(range(self.n), key=lambda k: row[k]),)
            case "B":
                return (id_in(1),)
            case "C":
                return (id_in(2) * self.n + k,)
        return (k,)

    def _number(self, operand: tuple[str, Array], items: Sequence[int]) -> Number:
        ref, value = operand
        place = tuple(items)[: value.ndim]
        return Number(".".join((ref, *map(str, place))), float(value[place]))


def _apply(operator: str, operands: list[Expression | None]) -> Expression | None:
    """Sums and products of any length are one; of a single operand they are the operand."""
    there = [operand for operand in operands if operand is not None]
    if operator not in "+×":
        return Apply(operator, tuple(there))
    parts = [part for x in there for part in (x.operands if isinstance(x, Apply) and x.operator == operator else (x,))]
    return Apply(operator, tuple(parts)) if len(parts) > 1 else parts[0]
