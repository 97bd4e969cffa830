"""Known slips: what somebody gets who does another thing in the place of a step.

A slip is written as the operations that it does, nested: ["divide", "attn.dots.0", ["square_root", "size.d_model"]];
where somebody takes one value for another, it is that value's name.
`static/js/answers.js` carries them out on the page's numbers, and the page's replies
(templates/replies.html) say what went wrong, each under the name that a slip has here.
"""

import math
from collections.abc import Iterator, Mapping

from sevensteps.engine.steps import Step

#: An operation on forms, the name of a value, or a number.
Form = list["Form"] | str | float


def slips(steps: Mapping[str, Step], width: int) -> Iterator[tuple[str, str, Form]]:
    """Every slip that can happen in one of the steps: the value's name, the reply's name, what is done instead.

    `width` is the length of the rows that a LayerNorm goes over.
    """
    for step in steps.values():
        for reply, form in _slips(step, steps, width):
            yield step.name, reply, form


def _slips(step: Step, steps: Mapping[str, Step], width: int) -> Iterator[tuple[str, Form]]:
    a, *more = step.inputs or ("",)
    if step.name == "ids":
        yield "id", ["add", "ids", 1]
    elif step.op == "row_mean_square":
        yield "sample", ["multiply", step.name, round(width / (width - 1), 9)]
    elif step.op == "root_with_epsilon":
        yield "sample", ["multiply", step.name, round(math.sqrt(width / (width - 1)), 9)]
    elif step.op == "divide" and more[0].endswith("root_d_head"):
        yield "root", ["divide", a, ["square_root", "size.d_model"]]
    elif step.op == "exp":
        yield "exp", a
    elif step.op in ("neg_log", "log"):
        yield "log", ["divide", step.name, round(math.log(10), 9)]
    elif step.op == "softmax":
        yield from _softmax(steps, a)
    elif step.op == "linear":
        yield from _linear(steps, *step.inputs)
    norms = [norm for norm in steps.values() if norm.op == "row_mean"]
    for norm in norms:
        normalized = norm.name.removesuffix("mean") + "normalized"
        # Before the page of the first one, nobody has heard of it.
        if norm.inputs == (step.name,) and normalized in steps and step.page >= norms[0].page:
            yield "normed", normalized


def _softmax(steps: Mapping[str, Step], a: str) -> Iterator[tuple[str, Form]]:
    visible: Form = a
    if a in steps and len(steps[a].axes) > 1:
        yield "column", ["transpose", ["softmax", ["transpose", a]]]
    if a in steps and steps[a].op == "causal_mask":
        (unmasked,) = steps[a].inputs
        yield "mask", ["softmax", unmasked]
        # Nothing in the place of −∞, which cannot be added up.
        visible = ["multiply", unmasked, ["exp", ["causal_mask", ["multiply", unmasked, 0]]]]
    yield "share", ["divide", visible, ["row_sum", visible]]


def _linear(steps: Mapping[str, Step], x: str, weight: str, *bias: str) -> Iterator[tuple[str, Form]]:
    if bias:
        yield "bias", ["linear", x, weight]
    if weight == "W_U" and "W_E" in steps:
        yield "row_of_e", ["linear", x, ["transpose", "W_E"]]
    centred = x.replace(".normalized", ".centred")
    if x.endswith(".normalized") and centred in steps:
        yield "unnormed", ["linear", steps[centred].inputs[0], weight, *bias]
