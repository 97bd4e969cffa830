"""The toy: one GPT-2 block small enough to work by hand, and its named runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sevensteps.engine.faults import InputError
from sevensteps.engine.forward import forward_steps
from sevensteps.engine.ops import Array
from sevensteps.engine.sampling import generate
from sevensteps.engine.steps import Patch, Step, Trace, run
from sevensteps.engine.tokenizer import detokenize
from sevensteps.engine.toyfile import ACTIVATIONS, KEYS, RESERVED_RUNS, RUN_NAME, ToyReader, read_toml

END = "<|endoftext|>"


@dataclass(frozen=True)
class RunSpec:
    """What a run starts from: ids (T,), the ids that follow them (T,), and the patch."""

    ids: tuple[int, ...]
    targets: tuple[int, ...]
    patch: Patch


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
        return sum(name.startswith("W_Q.") for name in self.weights)

    @property
    def positions(self) -> int:
        return self.weights["W_pos"].shape[0]

    def steps(self) -> list[Step]:
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
        return self.trace("main", RunSpec(tuple(ids), tuple(ids), {}))["logits"][-1]

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
        return RunSpec(tuple(ids[:-1]), tuple(ids[1:]), {})


def load_toy(path: Path, shown: str = "content/toy.toml") -> Toy:
    """Read a toy file. Raises InputError with every fault found; `shown` is the file's name in messages."""
    data = read_toml(path, shown)
    reader = ToyReader(data, shown)
    reader.keys(data, "", KEYS, ("runs",))
    vocabulary = reader.vocabulary()
    eps = reader.number("layer_norm_eps", data.get("layer_norm_eps", 0.0)) or 0.0
    if eps < 0:
        reader.fault("layer_norm_eps", eps, "0 or more")
    if (activation := data.get("activation", "relu")) not in ACTIVATIONS:
        reader.fault("activation", activation, f"one of {', '.join(ACTIVATIONS)}")
    if not isinstance(tied := data.get("tied", False), bool):
        reader.fault("tied", tied, "true or false")
    weights = reader.weights(tied is True, len(vocabulary))
    positions = len(weights["W_pos"]) if "W_pos" in weights else 0
    runs = _runs(reader, vocabulary, positions)
    toy = Toy(vocabulary, eps, str(activation), weights, runs)
    if not reader.faults:
        _try_patches(reader, toy)
    if reader.faults:
        raise InputError(reader.faults)
    return toy


def _runs(reader: ToyReader, vocabulary: tuple[str, ...], positions: int) -> dict[str, RunSpec]:
    tables = reader.data.get("runs", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        reader.fault("runs", tables, "tables [runs.NAME]")
        tables = {}
    text, follows = reader.text(reader.data, "text"), reader.text(reader.data, "next")
    specs = {}
    for name, table in {"main": {}, **tables}.items():
        prefix = "" if name == "main" and table == {} else f"runs.{name}."
        if prefix and (name in RESERVED_RUNS or not RUN_NAME.fullmatch(name)):
            reader.fault(f"runs.{name}", name, "a name of small letters, digits and _, other than main and generated")
        reader.keys(table, prefix, (), ("text", "next", "patch"))
        own_text = reader.text(table, "text", prefix) or text
        own_next = reader.text(table, "next", prefix) or follows
        patch = table.get("patch", {})
        if not isinstance(patch, dict) or not all(isinstance(new, int | float | str) for new in patch.values()):
            reader.fault(f"{prefix}patch", patch, "a table of NAME = a number or another value's name")
            patch = {}
        for key, new in patch.items():
            if not isinstance(new, str):
                reader.number(f"{prefix}patch.{key}", new)
        if own_text and own_next and vocabulary:
            where = prefix if "text" in table else ""
            ids = reader.ids(f"{where}text", own_text, vocabulary, positions) if prefix == where else list(specs["main"].ids)
            last = reader.next_id(f"{prefix if 'next' in table else ''}next", own_next, vocabulary)
            specs[name] = RunSpec(tuple(ids), tuple((*ids[1:], last)), patch)
    return specs


def _try_patches(reader: ToyReader, toy: Toy) -> None:
    for name, spec in toy.runs.items():
        try:
            toy.trace(name, spec)
        except KeyError as error:
            reader.fault(f"runs.{name}.patch", error.args[0], "the name of a value of the forward pass, made before it")
        except ValueError as error:
            reader.fault(f"runs.{name}.patch", str(error), "a value of the same shape")


def text_of(trace: Trace) -> str:
    """The run's text, with plain spaces."""
    return detokenize([trace.vocabulary.index(token) for token in trace.tokens], trace.vocabulary)
