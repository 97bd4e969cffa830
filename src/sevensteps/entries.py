"""What each op does to get one entry of its result, as an expression of entries of its operands.

Every function takes the trace, the step and the index of the entry (0-based), and gives the expression, or None
where nothing is calculated or copied. `explain.EXPLANATIONS` says which belongs to which op.
"""

import math
from collections.abc import Callable

from sevensteps.engine.ops import most_likely_first
from sevensteps.engine.steps import Step, Trace
from sevensteps.expression import Apply, Constant, Expression, Number

Index = tuple[int, ...]


def number(trace: Trace, ref: str, *index: int) -> Number:
    """One entry of a value, or of a row that a ref names."""
    full = ".".join((ref, *map(str, index)))
    return Number(full, float(trace[full]))


def _sum(terms: list[Expression]) -> Expression:
    return terms[0] if len(terms) == 1 else Apply("+", tuple(terms))


def _aligned(trace: Trace, ref: str, index: Index) -> Number:
    """The entry of an operand that may be one row for all rows: its axes are the last ones."""
    return number(trace, ref, *index[len(index) - trace[ref].ndim :])


def _of_row(trace: Trace, ref: str, index: Index) -> Number:
    """The entry of an operand that has one number a row: its axes are the first ones."""
    return number(trace, ref, *index[: trace[ref].ndim])


def _row(trace: Trace, ref: str, index: Index) -> list[Number]:
    """All entries of one row of a value."""
    return [number(trace, ref, *index, k) for k in range(trace[ref].shape[-1])]


def given(trace: Trace, step: Step, index: Index) -> None:
    return None


def rows(trace: Trace, step: Step, index: Index) -> Expression:
    table, ids = step.inputs
    row = int(trace[".".join((ids, *map(str, index[:-1])))])
    return number(trace, table, row, index[-1])


def first_rows(trace: Trace, step: Step, index: Index) -> Expression:
    return number(trace, step.inputs[0], *index)


def transpose(trace: Trace, step: Step, index: Index) -> Expression:
    return number(trace, step.inputs[0], *index[::-1])


def entrywise(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        a, b = step.inputs
        return Apply(operator, (number(trace, a, *index), _aligned(trace, b, index)))

    return build


def with_row_number(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        a, b = step.inputs
        return Apply(operator, (number(trace, a, *index), _of_row(trace, b, index)))

    return build


def row_mean(trace: Trace, step: Step, index: Index) -> Expression:
    row = _row(trace, step.inputs[0], index)
    return Apply("/", (_sum(list(row)), Constant(str(len(row)))))


def row_mean_square(trace: Trace, step: Step, index: Index) -> Expression:
    squares: list[Expression] = [Apply("square", (entry,)) for entry in _row(trace, step.inputs[0], index)]
    return Apply("/", (_sum(squares), Constant(str(len(squares)))))


def root_with_epsilon(trace: Trace, step: Step, index: Index) -> Expression:
    variance, epsilon = step.inputs
    return Apply("root", (Apply("+", (number(trace, variance, *index), number(trace, epsilon))),))


def of_one(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        return Apply(operator, (number(trace, step.inputs[0], *index),))

    return build


def _dot(pairs: list[tuple[Number, Number]]) -> list[Expression]:
    return [Apply("×", pair) for pair in pairs]


def linear(trace: Trace, step: Step, index: Index) -> Expression:
    x, weight, *bias = step.inputs
    pairs = [(entry, number(trace, weight, k, index[-1])) for k, entry in enumerate(_row(trace, x, index[:-1]))]
    terms = _dot(pairs) + [number(trace, ref, index[-1]) for ref in bias]
    return _sum(terms)


def linear_part(trace: Trace, step: Step, index: Index) -> Expression:
    z, weight, head = step.inputs
    row = _row(trace, z, index[:-1])
    start = int(trace[head]) * len(row)
    return _sum(_dot([(entry, number(trace, weight, start + k, index[-1])) for k, entry in enumerate(row)]))


def scores(trace: Trace, step: Step, index: Index) -> Expression:
    q, k = step.inputs
    pairs = zip(_row(trace, q, index[:1]), _row(trace, k, index[1:]), strict=True)
    return _sum(_dot(list(pairs)))


def causal_mask(trace: Trace, step: Step, index: Index) -> Expression | None:
    return None if index[1] > index[0] else number(trace, step.inputs[0], *index)


def row_sum(trace: Trace, step: Step, index: Index) -> Expression:
    return _sum(list(_row(trace, step.inputs[0], index)))


def softmax(trace: Trace, step: Step, index: Index) -> Expression:
    """e^x over its sum, citing the steps that hold both; from x − max where e^x leaves the range of float64."""
    if step.via:
        e, total = (number(trace, step.via[0], *index), number(trace, step.via[1], *index[:-1]))
        if 0 < total.value < math.inf and (e.value > 0 or trace[step.name][index] == 0):
            return Apply("/", (e, total))
    row = _row(trace, step.inputs[0], index[:-1])
    largest = max(row, key=lambda entry: entry.value)
    shifted = [Apply("exp", (Apply("−", (entry, largest)),)) for entry in row]
    return Apply("/", (shifted[index[-1]], _sum(list(shifted))))


def concat(trace: Trace, step: Step, index: Index) -> Expression:
    column = index[-1]
    for part in step.inputs:
        width = trace[part].shape[-1]
        if column < width:
            return number(trace, part, *index[:-1], column)
        column -= width
    raise KeyError(step.name)


def relu(trace: Trace, step: Step, index: Index) -> Expression:
    return Apply("max", (Constant("0"), number(trace, step.inputs[0], *index)))


def gelu_tanh(trace: Trace, step: Step, index: Index) -> Expression:
    x = number(trace, step.inputs[0], *index)
    root = Apply("root", (Apply("/", (Constant("2"), Constant("π"))),))
    inner = Apply("+", (x, Apply("×", (Constant("0.044715"), Apply("cube", (x,))))))
    tanh = Apply("tanh", (Apply("×", (root, inner)),))
    return Apply("×", (Constant("0.5"), x, Apply("+", (Constant("1"), tanh))))


def gelu_erf(trace: Trace, step: Step, index: Index) -> Expression:
    x = number(trace, step.inputs[0], *index)
    erf = Apply("erf", (Apply("/", (x, Apply("root", (Constant("2"),)))),))
    return Apply("×", (Constant("0.5"), x, Apply("+", (Constant("1"), erf))))


def pick(trace: Trace, step: Step, index: Index) -> Expression:
    table, columns = step.inputs
    return number(trace, table, *index, int(trace[columns][index]))


def neg_log(trace: Trace, step: Step, index: Index) -> Expression:
    return Apply("negate", (Apply("ln", (number(trace, step.inputs[0], *index),)),))


def of_all(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        return Apply(operator, tuple(number(trace, ref) for ref in step.inputs))

    return build


def row_norm(trace: Trace, step: Step, index: Index) -> Expression:
    return Apply("root", (_sum([Apply("square", (entry,)) for entry in _row(trace, step.inputs[0], index)]),))


def cosines(trace: Trace, step: Step, index: Index) -> Expression:
    dots, lengths = step.inputs
    both = Apply("×", (number(trace, lengths, index[0]), number(trace, lengths, index[1])))
    return Apply("/", (number(trace, dots, *index), both))


def at_temperature(trace: Trace, step: Step, index: Index) -> Expression | None:
    z, temperature = step.inputs
    by = number(trace, temperature)
    if by.value == 0:
        return None
    largest = max(_row(trace, z, ()), key=lambda entry: entry.value)
    return Apply("/", (Apply("−", (number(trace, z, *index), largest)), by))


def cumulative(trace: Trace, step: Step, index: Index) -> Expression:
    order = list(most_likely_first(trace[step.inputs[0]]))
    down_to = order[: order.index(index[0]) + 1]
    return _sum([number(trace, step.inputs[0], int(k)) for k in down_to])


def kept(trace: Trace, step: Step, index: Index) -> Expression | None:
    entry = number(trace, step.inputs[0], *index)
    return entry if trace[step.name][index] == entry.value else None
