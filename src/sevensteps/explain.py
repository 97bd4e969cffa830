"""The arithmetic behind any single number of a trace.

    explain(trace, "resid_post", (4, 0))  ->  y = h + mlp, with the refs and values of h and mlp

One explanation for each op of `engine.ops`. A number that no arithmetic made (a weight, a looked-up row, a
masked score, a value set by the run's patch) says so in words; where it is a copy, the expression is its source.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from sevensteps.engine.ops import most_likely_first
from sevensteps.engine.steps import Step, Trace
from sevensteps.expression import Apply, Constant, Expression, Number

Index = tuple[int, ...]


@dataclass(frozen=True)
class Worked:
    """How one number comes about. `expression` is None where there is nothing to calculate or copy.

    `wording` says it in words, with {0}, {1} in the places of the `operands`.
    """

    result: Number
    expression: Expression | None
    wording: str
    operands: tuple[Step, ...] = ()

    @property
    def sentence(self) -> str:
        """The wording with the operands' symbols, or their titles where they have none."""
        return self.wording.format(*(step.symbol or step.title for step in self.operands))


def explain(trace: Trace, name: str, index: Index) -> Worked:
    """The arithmetic behind one number, index 0-based. KeyError when the trace has no such number."""
    if len(index) != trace.values[name].ndim:
        raise KeyError(name)
    result = _number(trace, name, *index)
    step = trace.steps[name]
    if name in trace.patch:
        return _patched(trace, name, index, result)
    wording, build = EXPLANATIONS[step.op]
    expression = build(trace, step, index)
    if expression is None:
        wording = _NOTHING_TO_CALCULATE[step.op]
    elif step.op == "linear" and len(step.inputs) == 3:
        wording = wording.replace("added up.", "added up, plus {2}.")
    return Worked(result, expression, wording, tuple(trace.steps[trace.split(ref)[0]] for ref in step.inputs))


def explain_ref(trace: Trace, ref: str) -> Worked:
    """`explain` for a ref without its run. KeyError when it is not the ref of a single number."""
    return explain(trace, *trace.split(ref))


def _number(trace: Trace, ref: str, *index: int) -> Number:
    full = ".".join((ref, *map(str, index)))
    return Number(full, float(trace[full]))


def _patched(trace: Trace, name: str, index: Index, result: Number) -> Worked:
    source = trace.patch[name]
    if not isinstance(source, str):
        return Worked(result, None, "This run sets it, whatever the step would give.")
    if source.endswith(".T"):
        source, index = source.removesuffix(".T"), index[::-1]
    step = trace.steps[trace.split(source)[0]]
    return Worked(result, _number(trace, source, *index), "This run takes it from {0}.", (step,))


def _sum(terms: list[Expression]) -> Expression:
    return terms[0] if len(terms) == 1 else Apply("+", tuple(terms))


def _aligned(trace: Trace, ref: str, index: Index) -> Number:
    """The entry of an operand that may be one row for all rows: its axes are the last ones."""
    return _number(trace, ref, *index[len(index) - trace[ref].ndim :])


def _of_row(trace: Trace, ref: str, index: Index) -> Number:
    """The entry of an operand that has one number a row: its axes are the first ones."""
    return _number(trace, ref, *index[: trace[ref].ndim])


def _row(trace: Trace, ref: str, index: Index) -> list[Number]:
    """All entries of one row of a value."""
    return [_number(trace, ref, *index, k) for k in range(trace[ref].shape[-1])]


def _given(trace: Trace, step: Step, index: Index) -> None:
    return None


def _rows(trace: Trace, step: Step, index: Index) -> Expression:
    table, ids = step.inputs
    row = int(trace[".".join((ids, *map(str, index[:-1])))])
    return _number(trace, table, row, index[-1])


def _first_rows(trace: Trace, step: Step, index: Index) -> Expression:
    return _number(trace, step.inputs[0], *index)


def _transpose(trace: Trace, step: Step, index: Index) -> Expression:
    return _number(trace, step.inputs[0], *index[::-1])


def _entrywise(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        a, b = step.inputs
        return Apply(operator, (_number(trace, a, *index), _aligned(trace, b, index)))

    return build


def _with_row_number(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        a, b = step.inputs
        return Apply(operator, (_number(trace, a, *index), _of_row(trace, b, index)))

    return build


def _row_mean(trace: Trace, step: Step, index: Index) -> Expression:
    row = _row(trace, step.inputs[0], index)
    return Apply("/", (_sum(list(row)), Constant(str(len(row)))))


def _row_mean_square(trace: Trace, step: Step, index: Index) -> Expression:
    squares: list[Expression] = [Apply("square", (entry,)) for entry in _row(trace, step.inputs[0], index)]
    return Apply("/", (_sum(squares), Constant(str(len(squares)))))


def _root_with_epsilon(trace: Trace, step: Step, index: Index) -> Expression:
    variance, epsilon = step.inputs
    return Apply("root", (Apply("+", (_number(trace, variance, *index), _number(trace, epsilon))),))


def _of_one(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        return Apply(operator, (_number(trace, step.inputs[0], *index),))

    return build


def _dot(trace: Trace, pairs: list[tuple[Number, Number]]) -> list[Expression]:
    return [Apply("×", pair) for pair in pairs]


def _linear(trace: Trace, step: Step, index: Index) -> Expression:
    x, weight, *bias = step.inputs
    pairs = [(entry, _number(trace, weight, k, index[-1])) for k, entry in enumerate(_row(trace, x, index[:-1]))]
    terms = _dot(trace, pairs) + [_number(trace, ref, index[-1]) for ref in bias]
    return _sum(terms)


def _linear_part(trace: Trace, step: Step, index: Index) -> Expression:
    z, weight, head = step.inputs
    row = _row(trace, z, index[:-1])
    start = int(trace[head]) * len(row)
    return _sum(_dot(trace, [(entry, _number(trace, weight, start + k, index[-1])) for k, entry in enumerate(row)]))


def _scores(trace: Trace, step: Step, index: Index) -> Expression:
    q, k = step.inputs
    pairs = zip(_row(trace, q, index[:1]), _row(trace, k, index[1:]), strict=True)
    return _sum(_dot(trace, list(pairs)))


def _causal_mask(trace: Trace, step: Step, index: Index) -> Expression | None:
    return None if index[1] > index[0] else _number(trace, step.inputs[0], *index)


def _row_sum(trace: Trace, step: Step, index: Index) -> Expression:
    return _sum(list(_row(trace, step.inputs[0], index)))


def _softmax(trace: Trace, step: Step, index: Index) -> Expression:
    """e^x over its sum, citing the steps that hold both; from x − max where e^x leaves the range of float64."""
    if step.via:
        e, total = (_number(trace, step.via[0], *index), _number(trace, step.via[1], *index[:-1]))
        if 0 < total.value < math.inf and (e.value > 0 or trace[step.name][index] == 0):
            return Apply("/", (e, total))
    row = _row(trace, step.inputs[0], index[:-1])
    largest = max(row, key=lambda entry: entry.value)
    shifted = [Apply("exp", (Apply("−", (entry, largest)),)) for entry in row]
    return Apply("/", (shifted[index[-1]], _sum(list(shifted))))


def _concat(trace: Trace, step: Step, index: Index) -> Expression:
    column = index[-1]
    for part in step.inputs:
        width = trace[part].shape[-1]
        if column < width:
            return _number(trace, part, *index[:-1], column)
        column -= width
    raise KeyError(step.name)


def _relu(trace: Trace, step: Step, index: Index) -> Expression:
    return Apply("max", (Constant("0"), _number(trace, step.inputs[0], *index)))


def _gelu_tanh(trace: Trace, step: Step, index: Index) -> Expression:
    x = _number(trace, step.inputs[0], *index)
    root = Apply("root", (Apply("/", (Constant("2"), Constant("π"))),))
    inner = Apply("+", (x, Apply("×", (Constant("0.044715"), Apply("cube", (x,))))))
    tanh = Apply("tanh", (Apply("×", (root, inner)),))
    return Apply("×", (Constant("0.5"), x, Apply("+", (Constant("1"), tanh))))


def _gelu_erf(trace: Trace, step: Step, index: Index) -> Expression:
    x = _number(trace, step.inputs[0], *index)
    erf = Apply("erf", (Apply("/", (x, Apply("root", (Constant("2"),)))),))
    return Apply("×", (Constant("0.5"), x, Apply("+", (Constant("1"), erf))))


def _pick(trace: Trace, step: Step, index: Index) -> Expression:
    table, columns = step.inputs
    return _number(trace, table, *index, int(trace[columns][index]))


def _neg_log(trace: Trace, step: Step, index: Index) -> Expression:
    return Apply("negate", (Apply("ln", (_number(trace, step.inputs[0], *index),)),))


def _of_all(operator: str) -> Callable[[Trace, Step, Index], Expression]:
    def build(trace: Trace, step: Step, index: Index) -> Expression:
        return Apply(operator, tuple(_number(trace, ref) for ref in step.inputs))

    return build


def _row_norm(trace: Trace, step: Step, index: Index) -> Expression:
    return Apply("root", (_sum([Apply("square", (entry,)) for entry in _row(trace, step.inputs[0], index)]),))


def _cosines(trace: Trace, step: Step, index: Index) -> Expression:
    dots, lengths = step.inputs
    both = Apply("×", (_number(trace, lengths, index[0]), _number(trace, lengths, index[1])))
    return Apply("/", (_number(trace, dots, *index), both))


def _cumulative(trace: Trace, step: Step, index: Index) -> Expression:
    order = list(most_likely_first(trace[step.inputs[0]]))
    down_to = order[: order.index(index[0]) + 1]
    return _sum([_number(trace, step.inputs[0], int(k)) for k in down_to])


def _kept(trace: Trace, step: Step, index: Index) -> Expression | None:
    entry = _number(trace, step.inputs[0], *index)
    return entry if trace[step.name][index] == entry.value else None


_NOTHING_TO_CALCULATE = {
    "given": "It is given: a weight, an id or a size of the toy file.",
    "causal_mask": "A later token: masked, so that e to it is exactly nothing.",
    "keep_top_k": "Filtered out.",
    "keep_top_p": "Filtered out.",
    "draw": "The id of the first token, most likely first, whose running sum of {0} lies above {1}.",
}

#: op -> one sentence ({0}, {1} are the operands) and the builder of its expression.
EXPLANATIONS: dict[str, tuple[str, Callable[[Trace, Step, Index], Expression | None]]] = {
    "given": ("", _given),
    "rows": ("Looked up: the row of {0} that the token's id names.", _rows),
    "first_rows": ("Looked up: the row of {0} for this position.", _first_rows),
    "transpose": ("The same number as in {0}, rows and columns exchanged.", _transpose),
    "add": ("{0} plus {1}, entry by entry.", _entrywise("+")),
    "multiply": ("{0} times {1}, entry by entry.", _entrywise("×")),
    "subtract": ("{0} minus {1}.", _with_row_number("−")),
    "divide": ("{0} divided by {1}.", _with_row_number("/")),
    "row_mean": ("Add up the row of {0} and divide by how many there are.", _row_mean),
    "row_mean_square": ("The mean of the squares in the row of {0}.", _row_mean_square),
    "root_with_epsilon": ("The root of {0} plus {1}.", _root_with_epsilon),
    "square_root": ("The square root of {0}.", _of_one("root")),
    "linear": ("The row of {0} times the column of {1}, entry by entry, added up.", _linear),
    "linear_part": ("This head's row of {0} times its own rows of {1}, added up.", _linear_part),
    "scores": ("The row of {0} times the row of {1}, entry by entry, added up.", _scores),
    "causal_mask": ("Not a later token: the score stays.", _causal_mask),
    "exp": ("e to the power of {0}.", _of_one("exp")),
    "row_sum": ("The row of {0} added up.", _row_sum),
    "softmax": ("e to {0}, divided by the sum of all e to {0} in the row.", _softmax),
    "concat": ("The heads' outputs side by side.", _concat),
    "relu": ("{0} where it is positive, else nothing.", _relu),
    "gelu_tanh": ("GELU of {0}, in the tanh form.", _gelu_tanh),
    "gelu_erf": ("GELU of {0}, in the exact form.", _gelu_erf),
    "pick": ("The entry of {0} for the token that follows.", _pick),
    "neg_log": ("Minus the natural logarithm of {0}.", _neg_log),
    "log": ("The natural logarithm of {0}.", _of_one("ln")),
    "total": ("All of them added up.", _of_all("+")),
    "product": ("All of them multiplied.", _of_all("×")),
    "row_norm": ("The root of the sum of the squares in the row of {0}.", _row_norm),
    "cosines": ("The dot product divided by both lengths.", _cosines),
    "cumulative": ("This probability and all larger ones, added up.", _cumulative),
    "keep_top_k": ("Kept.", _kept),
    "keep_top_p": ("Kept.", _kept),
    "draw": ("", _given),
}
