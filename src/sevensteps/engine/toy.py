"""The toy: one GPT-2 block small enough to work by hand, and its named runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.faults import InputError
from sevensteps.engine.forward import GIVEN, PER_HEAD, forward_steps
from sevensteps.engine.ops import Array
from sevensteps.engine.sampling import generate
from sevensteps.engine.steps import Step, Trace, run
from sevensteps.engine.tokenizer import detokenize
from sevensteps.engine.toyfile import ToyReader, read_toml
from sevensteps.engine.toyruns import RunSpec as RunSpec
from sevensteps.engine.toyruns import check_patch_names, own_patch, patch_key, read_runs
from sevensteps.engine.toyweights import head_counts, read_weights

END = "<|endoftext|>"
ACTIVATIONS = ("relu", "gelu_tanh", "gelu_erf")
KEYS = ("text", "next", "vocabulary", "layer_norm_eps", "activation", "tied", "weights")


@dataclass(frozen=True)
class Toy:
    """The file's content. `weights` has one entry a matrix, and one a head where a head has its own (`W_Q.0`)."""

    vocabulary: tuple[str, ...]
    layer_norm_eps: float
    activation: str
    weights: Mapping[str, Array]
    runs: Mapping[str, RunSpec]

    @property
    def heads(self) -> int:
        """How many attention heads there are."""
        return sum(name.startswith("W_Q.") for name in self.weights)

    @property
    def positions(self) -> int:
        """How many tokens a text may have: the rows of W_pos."""
        return len(self.weights["W_pos"])

    def steps(self) -> list[Step]:
        """The forward pass of this toy."""
        return forward_steps(self.weights, self.heads, activation=self.activation)

    def given(self, ids: tuple[int, ...], targets: tuple[int, ...]) -> dict[str, Array]:
        """Everything that the given steps need for these ids and targets, (T,) each."""
        d_model, d_head = self.weights["W_Q.0"].shape
        sizes = {
            "tokens": len(ids), "vocabulary": len(self.vocabulary), "positions": self.positions, "d_model": d_model,
            "heads": self.heads, "d_head": d_head, "d_mlp": self.weights["W_in"].shape[1],
        }  # fmt: skip
        return {
            "ids": np.array(ids, dtype=np.float64),
            "targets": np.array(targets, dtype=np.float64),
            "layer_norm_eps": np.array(self.layer_norm_eps),
            **{f"size.{name}": np.array(float(size)) for name, size in sizes.items()},
            **{f"head.{h}": np.array(float(h)) for h in range(self.heads)},
            **self.weights,
        }

    def trace(self, name: str, spec: RunSpec) -> Trace:
        """Run the forward pass. Raises as `steps.run` does when the patch does not fit."""
        tokens = tuple(self.vocabulary[n] for n in spec.ids)
        given = self.given(spec.ids, spec.targets)
        return run(self.steps(), given, spec.patch, run=name, tokens=tokens, vocabulary=self.vocabulary)

    def logits_after(self, ids: list[int]) -> Array:
        """The last row's logits: ids -> (V,)."""
        trace = self.trace("main", RunSpec(tuple(ids), tuple(ids), self.runs["main"].patch))
        return trace[f"logits.{len(ids) - 1}"]

    def traces(self) -> dict[str, Trace]:
        """Every named run, and `generated`: the main text continued greedily to the end token or the last position."""
        traces = {name: self.trace(name, spec) for name, spec in self.runs.items()}
        return traces | {"generated": self.trace("generated", self._generated())}

    def _generated(self) -> RunSpec:
        start = list(self.runs["main"].ids)
        end = self.vocabulary.index(END) if END in self.vocabulary else None
        new = list(generate(self.logits_after, start, lambda z: int(z.argmax()), self.positions, end))
        # A text that fills every position has no room to go on: its own rows are the whole trace.
        ids = (*start, *new) if new else (*start, self.runs["main"].targets[-1])
        return RunSpec(tuple(ids[:-1]), tuple(ids[1:]), self.runs["main"].patch)


def load_toy(path: Path, shown: str = "content/toy.toml") -> Toy:
    """Read a toy file. Raises InputError with every fault found; `shown` is the file's name in messages."""
    data = read_toml(path, shown)
    reader = ToyReader(shown)
    reader.keys(data, "", KEYS, ("patch", "runs"))
    # A faulty part is told and goes on as a harmless one, so that the parts behind it are checked too.
    vocabulary = reader.vocabulary(data["vocabulary"]) if "vocabulary" in data else ()
    eps, activation, tied = _settings(reader, data)
    weights = read_weights(reader, data["weights"], tied, len(vocabulary)) if "weights" in data else {}
    runs = read_runs(reader, data, vocabulary, len(weights["W_pos"]) if "W_pos" in weights else None)
    toy = Toy(vocabulary, eps, activation, weights, runs)
    if not any(fault.key.startswith("weights") for fault in reader.faults):
        check_patch_names(reader, runs, toy.steps())
    elif heads := max(head_counts(data.get("weights")).values(), default=0):
        check_patch_names(reader, runs, _all_steps(heads))
    if not reader.faults:
        _check_values(reader, toy)
    if reader.faults:
        raise InputError(reader.faults)
    return toy


def _settings(reader: ToyReader, data: Mapping[str, Any]) -> tuple[float, str, bool]:
    """layer_norm_eps, activation and tied."""
    eps = reader.number("layer_norm_eps", data["layer_norm_eps"]) if "layer_norm_eps" in data else None
    if eps is not None and eps < 0:
        reader.fault("layer_norm_eps", data["layer_norm_eps"], "0 or more")
    activation, tied = data.get("activation", ACTIVATIONS[0]), data.get("tied", False)
    if activation not in ACTIVATIONS:
        reader.fault("activation", activation, f"one of {', '.join(ACTIVATIONS)}")
    if not isinstance(tied, bool):
        reader.fault("tied", tied, "true or false")
    return eps or 0.0, activation if activation in ACTIVATIONS else ACTIVATIONS[0], tied is True


def _all_steps(heads: int) -> list[Step]:
    """The steps of a toy with every optional part."""
    names = [f"{name}.{h}" for name in PER_HEAD for h in range(heads)]
    return forward_steps([*(name for name in GIVEN if name not in PER_HEAD), *names], heads)


def _check_values(reader: ToyReader, toy: Toy) -> None:
    """Run everything: replacements have the shape of what they replace, and no text gives 0/0 or ∞ − ∞.

    A run that only patches the main text may: what it asks ("what if there were no LayerNorm?") may have no answer
    for these weights, and its numbers are printed as undefined.
    """
    for name, spec in toy.runs.items():
        for replaced, new in own_patch(toy.runs, name).items():
            try:
                toy.trace(name, replace(spec, patch={replaced: new}))
            except (KeyError, ValueError) as error:
                expected = f"a number, or a value of the shape of {replaced}"
                reader.told(f"{patch_key(name)}.{replaced}", str(error.args[0]), expected)
    if reader.faults:
        return
    what_if = {name for name, spec in toy.runs.items() if name != "main" and spec.ids == toy.runs["main"].ids}
    for name, trace in toy.traces().items():
        if name in what_if:
            continue
        undefined = next((value for value, array in trace.values.items() if np.isnan(array).any()), None)
        if undefined:
            key = patch_key(name) if trace.patch else "weights"
            expected = "numbers only (smaller weights, or a larger layer_norm_eps)"
            reader.told(key, f"0/0 or ∞ − ∞ in {undefined} of the run {name}", expected)
            if not trace.patch:
                return  # the other runs would say the same again


def text_of(trace: Trace) -> str:
    """The run's text, with plain spaces."""
    return detokenize([trace.vocabulary.index(token) for token in trace.tokens], trace.vocabulary)
