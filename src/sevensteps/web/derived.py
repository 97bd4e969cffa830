"""Named figures that follow from a run but are no part of the forward pass: `derived.toml`.

tokens = ["the", "␣the"]    # what the pages call the tokens, in the order of the ids

[constants.temperature_low]
value = 0.5
symbol = "T"
title = "a low temperature"

[derived.share_of_places]
op = "total"
inputs = ["p[last,␣roof]", "p[last,␣wall]"]
title = "probability of the four places together"
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.ops import OPS, Array
from sevensteps.engine.steps import Step, Trace, extended
from sevensteps.engine.toyfile import read_toml
from sevensteps.refs import Runs, UnknownRefError

KEYS = {"op", "inputs", "run", "symbol", "title", "page", "axes"}


def add_derived(traces: Mapping[str, Trace], path: Path, shown: str = "content/derived.toml") -> Runs:
    """The traces with all derived values. Raises InputError with every fault."""
    table = read_toml(path, shown)
    faults = [
        Fault(shown, key, "an unknown key", "tokens, constants or derived")
        for key in set(table) - {"tokens", "constants", "derived"}
    ]
    called = tuple(map(str, table.get("tokens", ())))
    constants: dict[str, Array] = {}
    steps = []
    for name, entry in table.get("constants", {}).items():
        if not isinstance(entry.get("value"), int | float):
            faults.append(Fault(shown, f"constants.{name}", repr(entry.get("value")), "value = a number"))
            continue
        constants[name] = np.array(float(entry["value"]))
        steps.append(Step(name, "given", (), entry.get("symbol", ""), entry.get("title", ""), entry.get("page", 0)))
    all_traces = {name: extended(trace, steps, constants) for name, trace in traces.items()}
    for name, entry in table.get("derived", {}).items():
        run = entry.get("run", "main")
        try:
            all_traces[run] = extended(all_traces[run], [_step(name, entry, Runs(all_traces, called))], {})
        except (UnknownRefError, KeyError, ValueError, TypeError) as error:
            faults.append(
                Fault(shown, f"derived.{name}", str(error.args[0] if error.args else error), "an op of known values")
            )
    if faults:
        raise InputError(faults)
    return Runs(all_traces, called)


def _step(name: str, entry: Mapping[str, Any], runs: Runs) -> Step:
    if unknown := set(entry) - KEYS:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    if entry.get("op") not in OPS:
        raise ValueError(f"op {entry.get('op')!r}")
    run = entry.get("run", "main")
    # Inputs are written without their run: they belong to the same one.
    refs = [runs.ref(f"{run}/{written}").removeprefix(f"{run}/") for written in entry["inputs"]]
    axes = tuple(entry.get("axes", ()))
    return Step(
        name, entry["op"], tuple(refs), entry.get("symbol", ""), entry.get("title", ""), entry.get("page", 0), axes
    )
