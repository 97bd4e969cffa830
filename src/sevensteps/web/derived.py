"""Named figures that follow from a run but are no part of the forward pass: `derived.toml`.

tokens = ["the", "␣the"]    # what the pages call the tokens, in the order of the ids

[constants.temperature_low]
value = 0.5
symbol = "T"
title = "a low temperature"

[scenes.robot]               # a run with words and given values of its own, and no forward pass
tokens = ["moving", "running"]

[constants.robot_logits]
run = "robot"
value = [4.81, 4.12]
axes = ["token"]

[derived.share_of_places]
op = "total"
inputs = ["p[last,␣roof]", "p[last,␣wall]"]
title = "probability of the four places together"
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.ops import OPS
from sevensteps.engine.steps import AXES, Step, Trace, extended
from sevensteps.engine.toyfile import read_toml
from sevensteps.refs import Runs, UnknownRefError
from sevensteps.web.schema import faults_of

FILE = {"tokens": "a list of texts", "scenes": "tables", "constants": "tables", "derived": "tables"}
SCENE = {"tokens": "a list of texts"}
# A page's JSON writes a step as one line, its fields apart by ~.
CALLED = {
    "symbol": "a text without ~",
    "title": "a text without ~",
    "page": "a whole number",
    "axes": "a list of texts",
}
CONSTANT = CALLED | {"value": "a finite number, or lists of them", "run": "a text"}
DERIVED = CALLED | {"op": "a text", "inputs": "a list of texts", "run": "a text"}


def add_derived(traces: Mapping[str, Trace], path: Path, shown: str = "content/derived.toml") -> Runs:
    """The traces with all derived values. Raises InputError with every fault."""
    table = read_toml(path, shown)
    faults = faults_of(shown, table, FILE)
    if faults:
        raise InputError(faults)
    scenes, constants, entries = (table.get(key, {}) for key in ("scenes", "constants", "derived"))
    for name, entry in scenes.items():
        faults += faults_of(shown, entry, SCENE, SCENE, f"scenes.{name}.")
        if name in traces:
            faults.append(Fault(shown, f"scenes.{name}", "the name of a run", "another name"))
    for name, entry in constants.items():
        faults += faults_of(shown, entry, CONSTANT, ["value"], f"constants.{name}.")
    for name, entry in entries.items():
        faults += faults_of(shown, entry, DERIVED, ["op", "inputs"], f"derived.{name}.")
    if faults:
        raise InputError(faults)
    stages = {name: Trace(name, {}, {}, vocabulary=tuple(entry["tokens"])) for name, entry in scenes.items()}
    runs = Runs({**traces, **stages}, tuple(table.get("tokens", ())))
    for name, entry in constants.items():
        try:
            runs = _with_constant(runs, name, entry)
        except ValueError as error:
            faults.append(Fault(shown, f"constants.{name}", str(error), "a number, or lists with their axes"))
    for name, entry in entries.items():
        try:
            runs = _with(runs, name, entry)
        except (UnknownRefError, ValueError, TypeError, IndexError) as error:
            faults.append(Fault(shown, f"derived.{name}", str(error), "an op whose inputs this toy has"))
    if faults:
        raise InputError(faults)
    return runs


def _with_constant(runs: Runs, name: str, entry: Mapping[str, Any]) -> Runs:
    """The runs with one given value more, in one run or in all. Raises ValueError."""
    value, axes, only = np.array(entry["value"], dtype=np.float64), tuple(entry.get("axes", ())), entry.get("run")
    if len(axes) != value.ndim or not set(axes) <= set(AXES):
        raise ValueError(_wrong_axes(axes, value.ndim))
    if only is not None and only not in runs.traces:
        raise ValueError(f"no run {only!r} (there are {', '.join(runs.traces)})")
    step = Step(name, "given", (), entry.get("symbol", ""), entry.get("title", ""), entry.get("page", 0), axes)
    traces = {
        run: extended(trace, [step], {name: value}) if only in (None, run) else trace
        for run, trace in runs.traces.items()
    }
    return replace(runs, traces=traces)


def _wrong_axes(axes: tuple[str, ...], needed: int) -> str:
    return f"axes {', '.join(axes) or 'none'} for a value of {needed} (of {', '.join(AXES)})"


def _with(runs: Runs, name: str, entry: Mapping[str, Any]) -> Runs:
    """The runs with one derived value more. Raises UnknownRefError, ValueError, TypeError or IndexError."""
    run, op, axes = entry.get("run", "main"), entry["op"], tuple(entry.get("axes", ()))
    if op not in OPS:
        raise ValueError(f"no op {op!r} (there are {', '.join(OPS)})")
    # Inputs are written without their run: they belong to the same one.
    refs = [runs.ref(f"{run}/{written}").removeprefix(f"{run}/") for written in entry["inputs"]]
    step = Step(name, op, tuple(refs), entry.get("symbol", ""), entry.get("title", ""), entry.get("page", 0), axes)
    trace = extended(runs.traces[run], [step], {})
    if len(axes) != trace[name].ndim or not set(axes) <= set(AXES):
        raise ValueError(_wrong_axes(axes, trace[name].ndim))
    return replace(runs, traces={**runs.traces, run: trace})
