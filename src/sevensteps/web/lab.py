"""The lab's recorded runs, `content/lab.json`: each becomes a trace of given values, to which pages may refer.

n('capital/top.p[1]')        the probability of the most likely token of the run `capital`
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.steps import AXES, LAB_AXES, Step, Trace
from sevensteps.web.schema import faults_of

FILE = {"made": "a table", "tolerance": "a finite number", "runs": "tables"}
MADE = dict.fromkeys(("command", "model", "sha256", "numpy"), "a text, not empty")
RUN = {"text": "a text", "tokens": "a list of texts", "words": "a list of texts", "values": "tables"}
VALUE = {
    "title": "a text, not empty", "symbol": "a text", "axes": "a list of texts",
    "value": "a finite number, or lists of them",
}  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """The runs of a real model by name, and what made them: command, model, its checksum, the version of numpy."""

    made: dict[str, str]
    traces: dict[str, Trace]


def load_recording(path: Path, shown: str = "content/lab.json") -> Recording:
    """Read the file. Raises InputError with every fault."""
    table = _read_json(path, shown)
    faults = faults_of(shown, table, FILE, FILE)
    if faults:
        raise InputError(faults)
    faults += faults_of(shown, table["made"], MADE, MADE, "made.")
    for name, run in table["runs"].items():
        wrong = faults_of(shown, run, RUN, RUN, f"runs.{name}.")
        faults += wrong or _faults_of_values(shown, f"runs.{name}.values.", run["values"])
    if faults:
        raise InputError(faults)
    return Recording(table["made"], {name: _trace(name, run) for name, run in table["runs"].items()})


def _read_json(path: Path, shown: str) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        found = "nothing" if isinstance(error, FileNotFoundError) else error.strerror or type(error).__name__
    except RecursionError:
        found = "lists or objects nested too deep"
    except ValueError as error:  # JSON, UTF-8, or an integer of thousands of digits
        found = str(error)
    else:
        if isinstance(table, dict):
            return table
        found = type(table).__name__
    raise InputError([Fault(shown, "(file)", found, "the JSON object that `python build.py lab --record` writes")])


def _faults_of_values(shown: str, prefix: str, values: Mapping[str, Any]) -> list[Fault]:
    faults = []
    for name, entry in values.items():
        wrong = faults_of(shown, entry, VALUE, VALUE, f"{prefix}{name}.")
        faults += wrong or _faults_of_axes(shown, f"{prefix}{name}", entry)
    return faults


def _faults_of_axes(shown: str, key: str, entry: Mapping[str, Any]) -> list[Fault]:
    try:
        depth = np.array(entry["value"], dtype=np.float64).ndim
    except ValueError:
        return [Fault(shown, key, "lists of several lengths", "lists of one length")]
    axes = entry["axes"]
    if len(axes) == depth and set(axes) <= {*AXES, *LAB_AXES}:
        return []
    expected = f"{depth} of {', '.join((*AXES, *LAB_AXES))}"
    return [Fault(shown, f"{key}.axes", ", ".join(axes) or "none", expected)]


def _trace(name: str, run: Mapping[str, Any]) -> Trace:
    steps = {
        key: Step(key, "recorded", (), entry["symbol"], entry["title"], 0, tuple(entry["axes"]))
        for key, entry in run["values"].items()
    }
    values = {key: np.array(entry["value"], dtype=np.float64) for key, entry in run["values"].items()}
    return Trace(name, steps, values, {}, tuple(run["tokens"]), tuple(run["words"]))
