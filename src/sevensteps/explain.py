"""The arithmetic behind any single number of a trace.

    explain(trace, "resid_post", (4, 0))  ->  y = h + mlp, with the refs and values of h and mlp

One explanation for each op of `engine.ops`. A number that no arithmetic made (a weight, a looked-up row, a
masked score, a value set by the run's patch) says so in words; where it is a copy, the expression is its source.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sevensteps import entries
from sevensteps.engine.steps import Step, Trace
from sevensteps.entries import Index
from sevensteps.expression import Expression, Number


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
    result = entries.number(trace, name, *index)
    step = trace.steps[name]
    if name in trace.patch:
        return _patched(trace, name, index, result)
    wording, build = EXPLANATIONS[step.op]
    expression = build(trace, step, index)
    if expression is None:
        wording = NOTHING_TO_CALCULATE[step.op]
    elif step.op == "linear" and len(step.inputs) == 3:
        wording = SPECIAL["linear3"]
    return Worked(result, expression, wording, tuple(trace.steps[trace.split(ref)[0]] for ref in step.inputs))


def explain_ref(trace: Trace, ref: str) -> Worked:
    """`explain` for a ref without its run. KeyError when it is not the ref of a single number."""
    return explain(trace, *trace.split(ref))


def origins(trace: Trace, ref: str) -> Iterator[str]:
    """A number's ref, then the ref that it is a copy of, and so on: a masked score, then the score itself."""
    yield ref
    while isinstance(expression := explain_ref(trace, ref).expression, Number):
        ref = expression.ref
        yield ref


def _patched(trace: Trace, name: str, index: Index, result: Number) -> Worked:
    source = trace.patch[name]
    if not isinstance(source, str):
        return Worked(result, None, NOTHING_TO_CALCULATE["set"])
    if source.endswith(".T"):
        source, index = source.removesuffix(".T"), index[::-1]
    step = trace.steps[trace.split(source)[0]]
    return Worked(result, entries.number(trace, source, *index), SPECIAL["taken"], (step,))


#: What is said where the op alone does not tell: a patch with another value, `linear` with a third input, its bias.
SPECIAL = {
    "taken": "This run takes it from {0}.",
    "linear3": "The row of {0} times the column of {1}, entry by entry, added up, plus {2}.",
}

#: op -> what is said where there is nothing to calculate. "set" is a patch with a number.
NOTHING_TO_CALCULATE = {
    "set": "This run sets it, whatever the step would give.",
    "given": "It is given, not calculated.",
    "causal_mask": "A later token: masked, so that e to it is exactly nothing.",
    "at_temperature": "Greedy: only the largest {0} stays.",
    "keep_top_k": "Filtered out.",
    "keep_top_p": "Filtered out.",
    "draw": "The id of the first token, most likely first, whose running sum of {0} lies above {1}.",
}

#: op -> one sentence ({0}, {1} are the operands) and the builder of its expression.
EXPLANATIONS: dict[str, tuple[str, Callable[[Trace, Step, Index], Expression | None]]] = {
    "given": ("", entries.given),
    "rows": ("Looked up: the row of {0} that the token's id names.", entries.rows),
    "first_rows": ("Looked up: the row of {0} for this position.", entries.first_rows),
    "transpose": ("The same number as in {0}, rows and columns exchanged.", entries.transpose),
    "add": ("{0} plus {1}, entry by entry.", entries.entrywise("+")),
    "multiply": ("{0} times {1}, entry by entry.", entries.entrywise("×")),
    "subtract": ("{0} minus {1}.", entries.with_row_number("−")),
    "divide": ("{0} divided by {1}.", entries.with_row_number("/")),
    "row_mean": ("Add up the row of {0} and divide by how many there are.", entries.row_mean),
    "row_mean_square": ("The mean of the squares in the row of {0}.", entries.row_mean_square),
    "root_with_epsilon": ("The root of {0} plus {1}.", entries.root_with_epsilon),
    "square_root": ("The square root of {0}.", entries.of_one("root")),
    "linear": ("The row of {0} times the column of {1}, entry by entry, added up.", entries.linear),
    "linear_part": ("This head's row of {0} times its own rows of {1}, added up.", entries.linear_part),
    "scores": ("The row of {0} times the row of {1}, entry by entry, added up.", entries.scores),
    "causal_mask": ("Not a later token: the score stays.", entries.causal_mask),
    "exp": ("e to the power of {0}.", entries.of_one("exp")),
    "row_sum": ("The row of {0} added up.", entries.row_sum),
    "softmax": ("e to {0}, divided by the sum of all e to {0} in the row.", entries.softmax),
    "concat": ("The heads' outputs side by side.", entries.concat),
    "relu": ("{0} where it is positive, else nothing.", entries.relu),
    "gelu_tanh": ("GELU of {0}, in the tanh form.", entries.gelu_tanh),
    "gelu_erf": ("GELU of {0}, in the exact form.", entries.gelu_erf),
    "pick": ("The entry of {0} for the token that {1} names.", entries.pick),
    "neg_log": ("Minus the natural logarithm of {0}.", entries.neg_log),
    "log": ("The natural logarithm of {0}.", entries.of_one("ln")),
    "total": ("All of them added up.", entries.of_all("+")),
    "product": ("All of them multiplied.", entries.of_all("×")),
    "row_norm": ("The root of the sum of the squares in the row of {0}.", entries.row_norm),
    "cosines": ("The dot product divided by both lengths.", entries.cosines),
    "at_temperature": ("{0} minus the largest {0}, divided by {1}.", entries.at_temperature),
    "cumulative": ("This probability and all larger ones, added up.", entries.cumulative),
    "keep_top_k": ("Kept.", entries.kept),
    "keep_top_p": ("Kept.", entries.kept),
    "draw": ("", entries.given),
}
