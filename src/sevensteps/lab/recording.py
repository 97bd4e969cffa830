"""The file content/lab.json: what one run of it holds, how it is written, and how two recordings are compared.

The file has one run for each text: its tokens, its words (every token that its values name), and its values, each with
what its indices count. A value that names tokens holds their places among the run's words.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.ops import Array
from sevensteps.lab.model import Model

#: Significant digits that are kept. With other processors the fifth may differ (TOLERANCE).
DIGITS = 6
#: How far a number may be away from the recorded one, of the larger of the number and 1.
TOLERANCE = 1e-2


@dataclass
class Run:
    """One run of the file, as it grows."""

    model: Model
    text: str = ""
    tokens: Sequence[str] = ()
    words: list[str] = field(default_factory=list)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)

    def number(self, name: str, value: Any, title: str, *axes: str, symbol: str = "") -> None:
        """Keep a number or an array, with one name for each axis."""
        self.values[name] = {"title": title, "symbol": symbol, "axes": axes, "value": _plain(np.asarray(value))}

    def token(self, name: str, ids: Any, title: str, *axes: str) -> None:
        """Keep which tokens, by the model's ids."""
        places = [self._place(self.model.vocabulary[n]) for n in np.ravel(ids)]
        self.number(name, np.reshape(places, np.shape(ids)), title, *axes)

    def _place(self, word: str) -> int:
        if word not in self.words:
            self.words.append(word)
        return self.words.index(word)

    def data(self) -> dict[str, Any]:
        return {"text": self.text, "tokens": self.tokens, "words": self.words, "values": self.values}


def write(recorded: Mapping[str, Any], path: Path) -> None:
    """Write the file: a line for each value. Raises OSError."""
    lines = ["{", f'"made": {_json(recorded["made"])},', f'"tolerance": {recorded["tolerance"]},', '"runs": {']
    for run_comma, (name, run) in _with_commas(recorded["runs"]):
        lines.append(f" {_json(name)}: {{")
        lines += [f'  "{key}": {_json(run[key])},' for key in ("text", "tokens", "words")]
        values = (f"   {_json(key)}: {_json(value)}{comma}" for comma, (key, value) in _with_commas(run["values"]))
        lines += ['  "values": {', *values, f"  }}}}{run_comma}"]
    path.write_text("\n".join([*lines, "}}", ""]), encoding="utf-8")


def read_numbers(path: Path) -> dict[str, float]:
    """Every number of the file by its ref (`capital/top.p.0`); none where there is no file. Raises ValueError."""
    if not path.is_file():
        return {}
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    return {
        ".".join((f"{run}/{name}", *map(str, index))): float(value)
        for run, entry in runs.items()
        for name, kept in entry["values"].items()
        for index, value in np.ndenumerate(np.array(kept["value"]))
    }


def furthest(before: Mapping[str, float], now: Mapping[str, float]) -> tuple[float, str]:
    """Where two recordings differ most, of the larger of the number and 1; infinity where one lacks a number."""
    distances = {
        ref: abs(before[ref] - now[ref]) / max(1, abs(before[ref])) if ref in before and ref in now else math.inf
        for ref in {**before, **now}
    }
    where = max(distances, key=lambda ref: distances[ref])
    return distances[where], where


def _with_commas(items: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Each item behind the comma that it needs; the last needs none."""
    return zip([","] * (len(items) - 1) + [""], items.items(), strict=True)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Array) -> Any:
    """Nested lists; whole numbers as such, others with DIGITS significant digits."""
    if value.ndim:
        return [_plain(np.asarray(item)) for item in value]
    number = float(value)
    return int(number) if number.is_integer() else float(f"{number:.{DIGITS}g}")
