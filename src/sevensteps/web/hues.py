"""The kinds of quantities that have a hue of their own on every page: the classes q-… of static/css/tokens.css."""

import re
from collections.abc import Iterable, Sequence

from sevensteps.engine.steps import Step
from sevensteps.refs import Runs

#: The letters at the start of a symbol -> the kind of its quantity. Queries, keys and values carry their head's number.
KINDS = {
    **dict.fromkeys(("x", "h", "y"), "stream"),
    "q1": "query", "q2": "query", "k1": "key", "k2": "key", "v1": "value", "v2": "value",
    **dict.fromkeys(("A1", "A2", "A′"), "weight"),
    **dict.fromkeys(("g", "u"), "unit"),
    "z": "logit",
    **dict.fromkeys(("p", "pt", "places"), "prob"),
    **dict.fromkeys(("loss", "L"), "loss"),
}  # fmt: skip
_START = re.compile(r"[^_/+]*")


def hue(step: Step) -> str:
    """The class of a value's kind; empty where it has no hue."""
    match = _START.match(step.symbol)
    kind = KINDS.get(match[0]) if match else None
    return f"q-{kind}" if kind else ""


def common_hue(runs: Runs, refs: Iterable[str | None]) -> str:
    """The class of the kind that all of these numbers are of; empty where they differ or have none."""
    hues = {hue(trace.steps[name]) for trace, name, _ in (runs.find(ref) for ref in refs if ref)}
    return hues.pop() if len(hues) == 1 else ""


def shares(columns: Sequence[str]) -> list[str]:
    """A class for each column of shares among others, by its place behind the headings of the rows."""
    return [f"{css.removeprefix('q-')}-{n}" for n, css in enumerate(columns, 2) if css in ("q-weight", "q-prob")]
