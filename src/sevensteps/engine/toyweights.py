"""The [weights] of a toy file: which matrices there are, and that their shapes fit one another."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sevensteps.engine.forward import GIVEN, PER_HEAD
from sevensteps.engine.ops import Array
from sevensteps.engine.toyfile import ToyReader

NORMS = ("ln1", "ln2", "ln_final")
OPTIONAL = tuple(name for name in GIVEN if name.startswith(("ln", "b_")) and name not in ("b_in", "b_out"))


def read_weights(reader: ToyReader, found: object, tied: bool, vocabulary: int) -> dict[str, Array]:
    """The faultless matrices by name, one entry a head (`W_Q.0`). `vocabulary` is its size, 0 if unknown."""
    if not isinstance(found, dict):
        reader.fault("weights", found, "a table of matrices")
        return {}
    table = _flat(found)
    if tied and "W_U" in table:
        reader.told("weights.W_U", "a matrix", "none, since tied = true reads out through W_E")
    optional = (*OPTIONAL, "W_U") if tied else OPTIONAL
    reader.keys(table, "weights.", tuple(name for name in GIVEN if name not in optional), optional)
    weights: dict[str, Array] = {}
    for name in GIVEN:
        if name in table:
            weights |= _read(reader, name, table[name])
    _check_shapes(reader, weights, vocabulary, _check_heads(reader, table))
    return weights


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the LayerNorms as dotted keys: {ln1: {w: …}} -> {ln1.w: …}."""
    flat: dict[str, Any] = {}
    for key, entry in table.items():
        if key in NORMS and isinstance(entry, dict) and entry:
            flat |= {f"{key}.{part}": value for part, value in entry.items()}
        else:
            flat[key] = entry
    return flat


def _read(reader: ToyReader, name: str, found: object) -> dict[str, Array]:
    """One entry of the table: one matrix or vector, or one a head."""
    key = f"weights.{name}"
    read = reader.numbers if len(GIVEN[name][3]) == 1 else reader.matrix
    if name not in PER_HEAD:
        entries = {name: read(key, found)}
    elif isinstance(found, list) and found:
        entries = {f"{name}.{h}": read(f"{key}[{h}]", one) for h, one in enumerate(found)}
    else:
        reader.fault(key, found, "a list with one entry a head")
        return {}
    return {name: np.array(entry, dtype=np.float64) for name, entry in entries.items() if entry is not None}


def head_counts(table: object) -> dict[str, int]:
    """The number of heads in each entry of [weights] that has one part a head, where it is a list."""
    entries = table if isinstance(table, dict) else {}
    return {name: len(entries[name]) for name in PER_HEAD if isinstance(entries.get(name), list) and entries[name]}


def _check_heads(reader: ToyReader, table: Mapping[str, Any]) -> int:
    """The number of heads, which all that have one entry a head agree on; 0 if unknown."""
    counts = head_counts(table)
    first, heads = next(iter(counts.items()), ("", 0))
    for name, count in counts.items():
        if count != heads:
            reader.told(f"weights.{name}", f"a list of {count}", f"one entry for each of the {heads} heads of {first}")
    return heads


def _check_shapes(reader: ToyReader, weights: Mapping[str, Array], vocabulary: int, heads: int) -> None:
    """Each axis has one size: the vocabulary's for tokens, else that of the first matrix which has the axis."""
    size = {"token": vocabulary} if vocabulary else {}
    if of_head := [array for name, array in weights.items() if name.startswith(PER_HEAD)]:
        d_head = of_head[0].shape[-1]
        size |= {"entry": d_head, "joined": d_head * heads}
    for name, array in weights.items():
        base, _, head = name.rpartition(".")
        kind, key = (base, f"{base}[{head}]") if head.isdigit() else (name, name)
        axes = GIVEN[kind][3]
        expected = tuple(size.setdefault(axis, extent) for axis, extent in zip(axes, array.shape, strict=True))
        if array.shape != expected:
            reader.told(f"weights.{key}", _shape(array.shape), f"{_shape(expected)} ({' × '.join(axes)})")


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) if len(shape) > 1 else f"length {shape[0]}"
