"""Copies of the project's sources with a larger toy: one that says the same, and one of random weights."""

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
    toy = copied_sources(root, folder)
    for table in (toy, *toy["runs"].values()):
        if "text" in table:
            table["text"] = " ".join([table["text"]] * longer)
    heads = len(toy["weights"]["W_Q"])
    wide = {name: widened(name, np.array(value), wider, heads) for name, value in toy["weights"].items()}
    wide["W_pos"] = np.tile(wide["W_pos"], (longer, 1))
    toy["weights"] = {name: value.tolist() for name, value in wide.items()}
    return with_toy(folder, toy)


def random_source(root: Path, folder: Path, positions: int, d_model: int, heads: int, vocabulary: int) -> Path:
    """Copy the sources of `root` into `folder` with a toy of these sizes, d_head = d_model / heads, 4 d_model units.

    The text fills all positions. The shipped tokens come first, so that the pages find the words they name.
    """
    toy = copied_sources(root, folder)
    toy["vocabulary"] += [f"␣word{n}" for n in range(vocabulary - len(toy["vocabulary"]))]
    toy["text"] = "the" + " the" * (positions - 1 - 4) + " cat climbed the"
    random = np.random.default_rng(0)
    sizes = {
        "W_E": (vocabulary, d_model), "W_pos": (positions, d_model), "W_Q": (heads, d_model, d_model // heads),
        "W_K": (heads, d_model, d_model // heads), "W_V": (heads, d_model, d_model // heads), "W_O": (d_model, d_model),
        "W_in": (d_model, 4 * d_model), "b_in": (4 * d_model,), "W_out": (4 * d_model, d_model), "b_out": (d_model,),
        "W_U": (d_model, vocabulary),
    }  # fmt: skip
    toy["weights"] = {name: random.normal(0, 0.2, size).round(2).tolist() for name, size in sizes.items()}
    return with_toy(folder, toy)


def copied_sources(root: Path, folder: Path) -> dict[str, Any]:
    """Copy what a site is built from; the content of its toy file."""
    for name in ("content", "templates", "static"):
        shutil.copytree(root / name, folder / name)
    return tomllib.loads((folder / "content/toy.toml").read_text("utf-8"))


def with_toy(folder: Path, toy: dict[str, Any]) -> Path:
    """The sources in `folder`, their toy replaced."""
    lines = [f"{key} = {as_toml(entry)}\n" for key, entry in toy.items()]
    (folder / "content/toy.toml").write_text("".join(lines), "utf-8", newline="\n")
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
