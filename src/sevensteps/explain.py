"""The arithmetic behind any single number of a trace.

    explain(trace, "resid_post", (4, 0))  ->  y = h + mlp, with the refs and values of h and mlp

One explanation for each op of `engine.ops`. A number that no arithmetic made (a weight, a looked-up row, a
masked score, a value set by the run's patch) says so in words; where it is a copy, the expression is its source.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sevensteps.engine.steps import Step, Trace
from sevensteps.entries import ENTRIES, Index, built
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
    result = Number(".".join((name, *map(str, index))), float(trace.values[name][index]))
    op, inputs, via, form = _made(trace, name)
    expression = None
    if op == "softmax" and not _is_in_range(trace, via, index, result.value):
        form = ENTRIES["softmax beyond"]
    if form and not (op == "at_temperature" and trace[inputs[1]] == 0):
        expression = built(form, trace, (*inputs, *via), index)
    if isinstance(expression, Number) and expression.value != result.value and not math.isnan(result.value):
        expression = None  # masked, or filtered out
    said = WORDS if expression else NOTHING_TO_CALCULATE
    wording = said.get(f"{op}{len(inputs)}") or said[op]
    return Worked(result, expression, wording, tuple(trace.steps[trace.split(ref)[0]] for ref in inputs))


def _made(trace: Trace, name: str) -> tuple[str, tuple[str, ...], tuple[str, ...], str | None]:
    """What makes a value in this run, a patch or its step: op, inputs, what is cited, the form of an entry."""
    if name in trace.patch:
        source = trace.patch[name]
        if not isinstance(source, str):
            return "set", (), (), None
        op = "transpose" if source.endswith(".T") else "taken"
        return "taken", (source.removesuffix(".T"),), (), ENTRIES[op]
    step = trace.steps[name]
    return step.op, step.inputs, step.via, ENTRIES.get(step.op)


def _is_in_range(trace: Trace, via: tuple[str, ...], index: Index, share: float) -> bool:
    """Whether e^x and its sum, which a softmax cites, have not left the range of float64."""
    if not via:
        return False
    e, total = (trace[ref] for ref in via)
    return bool(0 < total[index[:-1]] < math.inf and (e[index] > 0 or share == 0))


def explain_ref(trace: Trace, ref: str) -> Worked:
    """`explain` for a ref without its run. KeyError when it is not the ref of a single number."""
    return explain(trace, *trace.split(ref))


def origins(trace: Trace, ref: str) -> Iterator[str]:
    """A number's ref, then the ref that it is a copy of, and so on: a masked score, then the score itself."""
    yield ref
    while isinstance(expression := explain_ref(trace, ref).expression, Number):
        ref = expression.ref
        yield ref


#: op -> what is said where there is nothing to calculate. "set" is a patch with a number.
NOTHING_TO_CALCULATE = {
    "set": "This run sets it, whatever the step would give.",
    "given": "It is given, not calculated.",
    "recorded": "Recorded from a run of the real model.",
    "causal_mask": "A later token: masked, so that e to it is exactly nothing.",
    "at_temperature": "Greedy: only the largest {0} stays.",
    "keep_top_k": "Filtered out.",
    "keep_top_p": "Filtered out.",
    "draw": "The id of the first token, most likely first, whose running sum of {0} lies above {1}.",
}

#: op -> one sentence ({0}, {1} are the operands). "linear3" is `linear` with a third input, its bias.
WORDS = {
    "taken": "This run takes it from {0}.",
    "rows": "Looked up: the row of {0} that the token's id names.",
    "first_rows": "Looked up: the row of {0} for this position.",
    "transpose": "The same number as in {0}, rows and columns exchanged.",
    "add": "{0} plus {1}, entry by entry.",
    "multiply": "{0} times {1}, entry by entry.",
    "subtract": "{0} minus {1}.",
    "divide": "{0} divided by {1}.",
    "row_mean": "Add up the row of {0} and divide by how many there are.",
    "row_mean_square": "The mean of the squares in the row of {0}.",
    "root_with_epsilon": "The root of {0} plus {1}.",
    "square_root": "The square root of {0}.",
    "linear": "The row of {0} times the column of {1}, entry by entry, added up.",
    "linear3": "The row of {0} times the column of {1}, entry by entry, added up, plus {2}.",
    "linear_part": "This head's row of {0} times its own rows of {1}, added up.",
    "scores": "The row of {0} times the row of {1}, entry by entry, added up.",
    "causal_mask": "Not a later token: the score stays.",
    "exp": "e to the power of {0}.",
    "row_sum": "The row of {0} added up.",
    "softmax": "e to {0}, divided by the sum of all e to {0} in the row.",
    "concat": "The heads' outputs side by side.",
    "relu": "{0} where it is positive, else nothing.",
    "gelu_tanh": "GELU of {0}, in the tanh form.",
    "gelu_erf": "GELU of {0}, in the exact form.",
    "pick": "The entry of {0} for the token that {1} names.",
    "neg_log": "Minus the natural logarithm of {0}.",
    "log": "The natural logarithm of {0}.",
    "total": "All of them added up.",
    "product": "All of them multiplied.",
    "row_norm": "The root of the sum of the squares in the row of {0}.",
    "cosines": "The dot product divided by both lengths.",
    "at_temperature": "{0} minus the largest {0}, divided by {1}.",
    "cumulative": "This probability and all larger ones, added up.",
    "keep_top_k": "Kept.",
    "keep_top_p": "Kept.",
}
