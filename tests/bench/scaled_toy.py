"""A copy of the project's sources with a larger toy that says the same, so that its pages still fit it."""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.forward import GIVEN, PER_HEAD

WIDE_AXES = ("dimension", "entry", "joined", "unit")


def scaled_source(root: Path, folder: Path, longer: int, wider: int) -> Path:
    """Copy the sources of `root` into `folder`, each text `longer` times as long, the model `wider` times as wide."""
    for name in ("content", "templates", "static"):
        shutil.copytree(root / name, folder / name)
    file = folder / "content/toy.toml"
    toy = tomllib.loads(file.read_text("utf-8"))
    for table in (toy, *toy["runs"].values()):
        if "text" in table:
            table["text"] = " ".join([table["text"]] * longer)
    heads = len(toy["weights"]["W_Q"])
    wide = {name: widened(name, np.array(value), wider, heads) for name, value in toy["weights"].items()}
    wide["W_pos"] = np.tile(wide["W_pos"], (longer, 1))
    toy["weights"] = {name: value.tolist() for name, value in wide.items()}
    lines = [f"{key} = {as_toml(entry)}\n" for key, entry in toy.items()]
    file.write_text("".join(lines), "utf-8", newline="\n")
    return folder


def widened(name: str, value: np.ndarray, wider: int, heads: int) -> np.ndarray:
    """One weight with its wide axes repeated, divided where a product sums over a repeated axis.

    A repeated vector keeps its mean and deviation, and every product its result: the logits stay as they are.
    """
    axes = GIVEN[name][3]
    for number, axis in enumerate(axes, start=1 if name in PER_HEAD else 0):
        if axis in WIDE_AXES:
            parts = np.split(value, heads if axis == "joined" else 1, axis=number)
            value = np.concatenate([part for part in parts for _ in range(wider)], axis=number)
    if len(axes) == 2 and axes[0] in WIDE_AXES:
        value = value / wider
    # q·k sums over the entries of a head, and is divided by their root.
    return value / wider**0.5 if name == "W_Q" else value


def as_toml(value: Any) -> str:
    """A value in TOML. JSON's numbers, texts and lists are TOML's too; its tables are not."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(entry)}" for key, entry in value.items()) + "}"
