"""Read `toy.toml` strictly: every fault in it is found in one go and named by its key."""

import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.forward import GIVEN, PER_HEAD
from sevensteps.engine.ops import Array
from sevensteps.engine.tokenizer import NoTokenFits, tokenize, visible

ACTIVATIONS = ("relu", "gelu_tanh", "gelu_erf")
KEYS = ("text", "next", "vocabulary", "layer_norm_eps", "activation", "tied", "weights")
OPTIONAL_WEIGHTS = tuple(name for name in GIVEN if name.startswith(("ln", "b_")) and name not in ("b_in", "b_out"))
RUN_NAME = re.compile(r"[a-z][a-z0-9_]*")
RESERVED_RUNS = ("main", "generated")


def read_toml(path: Path, shown: str) -> dict[str, Any]:
    """A TOML file as a dictionary. Raises InputError when it is missing, not UTF-8 or not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError([Fault(shown, "(file)", "nothing", "a TOML file")]) from None
    except UnicodeDecodeError as error:
        raise InputError([Fault(shown, "(file)", f"a byte that is not UTF-8 at {error.start}", "UTF-8 text")]) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError([Fault(shown, "(file)", str(error), "TOML")]) from None


class ToyReader:
    """Checks the parts of one toy file and collects its faults in `faults`."""

    def __init__(self, data: Mapping[str, Any], file: str) -> None:
        self.data, self.file = data, file
        self.faults: list[Fault] = []

    def fault(self, key: str, found: object, expected: str) -> None:
        text = repr(found) if isinstance(found, str) else str(found)
        self.faults.append(Fault(self.file, key, text if len(text) < 80 else text[:77] + "...", expected))

    def keys(self, table: Mapping[str, Any], prefix: str, needed: tuple[str, ...], allowed: tuple[str, ...]) -> None:
        """Every needed key is there and no other than the allowed ones."""
        for key in table:
            if key not in needed and key not in allowed:
                self.fault(prefix + key, "an unknown key", f"one of {', '.join((*needed, *allowed))}")
        for key in needed:
            if key not in table:
                self.fault(prefix + key, "nothing", "this key")

    def text(self, table: Mapping[str, Any], key: str, prefix: str = "") -> str | None:
        if key not in table:
            return None
        if isinstance(table[key], str) and table[key]:
            return str(table[key])
        return self.fault(prefix + key, table[key], "text, not empty")

    def number(self, key: str, found: object) -> float | None:
        """A finite number; `true` is not one, nor is an integer beyond float64."""
        if isinstance(found, int | float) and not isinstance(found, bool):
            try:
                if math.isfinite(found):
                    return float(found)
            except OverflowError:
                pass
        return self.fault(key, found, "a finite number")

    def vocabulary(self) -> tuple[str, ...]:
        words = self.data.get("vocabulary", [])
        if not isinstance(words, list) or not words:
            if "vocabulary" in self.data:
                self.fault("vocabulary", words, "a list of tokens")
            return ()
        first: dict[object, int] = {}
        for n, word in enumerate(words):
            if not isinstance(word, str) or not word:
                self.fault(f"vocabulary[{n}]", word, "a token, not empty")
            elif " " in word:
                self.fault(f"vocabulary[{n}]", word, "the space written as ␣")
            elif any(ord(character) < 32 for character in word):
                self.fault(f"vocabulary[{n}]", word, "no control characters")
            elif word in first:
                self.fault(f"vocabulary[{n}]", word, f"a token that is not yet there (it is vocabulary[{first[word]}])")
            first.setdefault(str(word), n)
        return tuple(map(str, words))

    def array(self, key: str, found: object, dimensions: int) -> Array | None:
        """A list (1) or list of rows (2) of finite numbers, not ragged, not empty."""
        before = len(self.faults)
        rows = [found] if dimensions == 1 else found
        if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
            return self.fault(key, found, "a list of numbers" if dimensions == 1 else "a list of rows of numbers")
        for i, row in enumerate(rows):
            where = key if dimensions == 1 else f"{key}[{i}]"
            if len(row) != len(rows[0]):
                self.fault(where, f"{len(row)} numbers", f"{len(rows[0])}, as in the first row")
            for j, entry in enumerate(row):
                self.number(f"{where}[{j}]", entry)
        if len(self.faults) > before:
            return None
        return np.array(found, dtype=np.float64)

    def weights(self, tied: bool, vocabulary: int) -> dict[str, Array]:
        """All matrices by name, one entry a head (`W_Q.0`), shapes checked against one another."""
        table = _flat(self.data.get("weights", {})) if isinstance(self.data.get("weights", {}), dict) else None
        if table is None:
            self.fault("weights", self.data["weights"], "a table of matrices")
            return {}
        if tied and "W_U" in table:
            self.fault("weights.W_U", "a matrix", "none, since tied = true reads out through W_E")
        needed = tuple(n for n in GIVEN if n not in OPTIONAL_WEIGHTS and not (n == "W_U" and tied))
        self.keys(table, "weights.", needed, (*OPTIONAL_WEIGHTS, "W_U"))
        arrays: dict[str, Array | None] = {}
        for name, (_, _, _, axes) in GIVEN.items():
            if name not in table:
                continue
            key, found = f"weights.{name}", table[name]
            if name not in PER_HEAD:
                arrays[name] = self.array(key, found, len(axes))
            elif isinstance(found, list) and found:
                arrays |= {f"{name}.{h}": self.array(f"{key}[{h}]", one, len(axes)) for h, one in enumerate(found)}
            else:
                self.fault(key, found, "a list with one entry a head")
        good = {name: array for name, array in arrays.items() if array is not None}
        if not self.faults:
            self._shapes(good, vocabulary)
        return good

    def _shapes(self, weights: Mapping[str, Array], vocabulary: int) -> None:
        heads = {kind: sum(name.startswith(kind + ".") for name in weights) for kind in PER_HEAD}
        for kind, count in heads.items():
            if count and count != heads["W_Q"]:
                self.fault(f"weights.{kind}", f"{count} heads", f"{heads['W_Q']}, as in W_Q")
        d_model, d_head = weights["W_Q.0"].shape
        size = {
            "token": vocabulary, "place": weights["W_pos"].shape[0], "dimension": weights["W_E"].shape[1],
            "entry": d_head, "joined": d_head * heads["W_Q"], "unit": weights["W_in"].shape[1],
        }  # fmt: skip
        for name, array in weights.items():
            base, dot, head = name.rpartition(".")
            kind, key = (base, f"{base}[{head}]") if head.isdigit() else (name, name)
            expected = tuple(size[axis] for axis in GIVEN[kind][3])
            if array.shape != expected:
                self.fault(f"weights.{key}", _shape(array.shape), f"{_shape(expected)} ({' × '.join(GIVEN[kind][3])})")

    def ids(self, key: str, text: str, vocabulary: tuple[str, ...], positions: int) -> list[int]:
        try:
            ids = tokenize(text, vocabulary)
        except NoTokenFits as error:
            self.fault(key, error.text, f"a vocabulary entry that fits at character {error.place + 1}, "
                       f"{error.text[error.place : error.place + 12]!r}")  # fmt: skip
            return []
        if positions and len(ids) > positions:
            self.fault(key, f"{len(ids)} tokens", f"at most {positions}, the rows of W_pos")
        return ids

    def next_id(self, key: str, token: str, vocabulary: tuple[str, ...]) -> int:
        if visible(token) in vocabulary:
            return vocabulary.index(visible(token))
        self.fault(key, token, "a token of the vocabulary")
        return 0


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys: {ln1: {w: …}} -> {ln1.w: …}."""
    flat: dict[str, Any] = {}
    for key, entry in table.items():
        flat |= _flat(entry, f"{prefix}{key}.") if isinstance(entry, dict) else {prefix + key: entry}
    return flat


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) + ("" if len(shape) > 1 else " numbers")
