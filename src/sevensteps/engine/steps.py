"""A forward pass is a list of steps; running it is a loop of a few lines.

    Step("resid_post", "add", ("resid_mid", "mlp_out"), symbol="y", ...)

A run's patch replaces the value of any step: attention off, mask off, one head off and a tied
read-out are all entries of that one dictionary.
"""

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sevensteps.engine.ops import OPS, Array
from sevensteps.engine.realops import REAL_OPS

#: What stands in for a value: a number fills it, a name copies another value, an array is spread over its rows.
Patch = Mapping[str, float | str | Array]
_OPS = OPS | REAL_OPS
#: What an index of a value may count.
AXES = ("position", "seen", "token", "dimension", "entry", "joined", "unit", "place")
#: What else an index of a real model's values may count. Its layers, blocks and heads count from 0.
LAB_AXES = ("layer", "block", "head", "prompt")


@dataclass(frozen=True)
class Step:
    """One named value of the forward pass and how it comes about.

    `inputs` are names of values, or refs of a row or an entry of one (`logits.4`). A value that the toy file
    gives, not a computation, has the op "given". `axes` names what each index counts: position, seen
    (the position looked at), token, dimension, entry (inside a head), joined (heads side by side), unit.
    `via` lists steps which hold parts of this op's arithmetic that are worth citing (e^z and its sum).
    """

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    symbol: str = ""
    title: str = ""
    page: int = 0
    axes: tuple[str, ...] = ()
    via: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trace:
    """Every value of one run, by name, with the steps that made them."""

    run: str
    steps: Mapping[str, Step]
    values: Mapping[str, Array]
    patch: Patch = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] = ()

    def split(self, ref: str) -> tuple[str, tuple[int, ...]]:
        """Split `name.i.j` into the name and the indices (0-based). KeyError when no such value exists."""
        name = ref
        index: tuple[int, ...] = ()
        while name not in self.values:
            name, dot, last = name.rpartition(".")
            if not dot or not (last.isascii() and last.isdigit()):
                raise KeyError(ref)
            index = (int(last), *index)
        shape = self.values[name].shape
        if len(index) > len(shape) or any(map(operator.ge, index, shape)):
            raise KeyError(ref)
        return name, index

    def __getitem__(self, ref: str) -> Array:
        """The value at a ref: an array, a row of one, or a single number as a 0-d array."""
        name, index = self.split(ref)
        return np.asarray(self.values[name][index])

    def refs(self) -> Iterator[str]:
        """The ref of every single number of this run, value by value, in order."""
        for name, value in self.values.items():
            for index in np.ndindex(value.shape):
                yield ".".join((name, *map(str, index)))


def run(
    steps: Sequence[Step],
    given: Mapping[str, Array],
    patch: Patch | None = None,
    *,
    run: str = "main",
    tokens: tuple[str, ...] = (),
    vocabulary: tuple[str, ...] = (),
) -> Trace:
    """Run the steps over the given values; the run's name, tokens and vocabulary go into the trace as they are.

    A patch gives a number (fills the value), the name of another value, `NAME.T` for it transposed, or an array
    (one row may stand for all rows).
    Raises KeyError when a patch or an input names nothing, ValueError when a replacement has another shape.
    """
    patch = patch or {}
    by_name = {step.name: step for step in steps}
    for name in patch:
        if name not in by_name:
            raise KeyError(name)
    values: dict[str, Array] = {}
    trace = Trace(run, by_name, values, patch, tokens, vocabulary)
    _fill(values, trace, steps, given)
    return trace


def extended(trace: Trace, steps: Sequence[Step], given: Mapping[str, Array]) -> Trace:
    """The trace with more steps run on its values, for figures that are derived from a finished run."""
    values = {**trace.values, **given}
    more = replace(trace, steps={**trace.steps, **{step.name: step for step in steps}}, values=values)
    _fill(values, more, steps, given)
    return more


def rerun(trace: Trace, patch: Patch) -> Trace:
    """An unpatched run again, with a patch. What does not follow from a patched step is taken over as it is.

    Raises as `run` does.
    """
    for name in patch:
        if name not in trace.steps:
            raise KeyError(name)
    anew = followers(trace, patch) | set(patch)
    values = {name: value for name, value in trace.values.items() if name not in anew}
    again = replace(trace, values=values, patch=patch)
    _fill(values, again, [trace.steps[name] for name in trace.steps if name in anew], trace.values)
    return again


def made_from(trace: Trace, name: str) -> tuple[str, ...]:
    """The refs that a value is made from in this run, and those that its step cites."""
    source = trace.patch.get(name)
    step = trace.steps[name]
    return (source.removesuffix(".T"),) if isinstance(source, str) else (*step.inputs, *step.via)


def followers(trace: Trace, names: Collection[str]) -> set[str]:
    """The values that are made from any of these, at once or through others."""
    found: set[str] = set()
    for step in trace.steps.values():
        if any(name in names or name in found for name, _ in map(trace.split, made_from(trace, step.name))):
            found.add(step.name)
    return found


def _fill(values: dict[str, Array], trace: Trace, steps: Sequence[Step], given: Mapping[str, Array]) -> None:
    """Run the steps one by one into `values`, which are the trace's own."""
    # Overflow gives infinity, which the pages show as such: no warning is due.
    with np.errstate(all="ignore"):
        for step in steps:
            value = given[step.name] if step.op == "given" else _OPS[step.op](*(trace[ref] for ref in step.inputs))
            patched = step.name in trace.patch
            values[step.name] = _replacement(trace.patch[step.name], value, trace) if patched else np.asarray(value)


def _replacement(new: float | str | Array, old: Array, trace: Trace) -> Array:
    if isinstance(new, np.ndarray):
        return np.broadcast_to(new, old.shape)
    if isinstance(new, str):
        source = new.removesuffix(".T")
        value = trace[source].T if new.endswith(".T") else trace[source]
    else:
        value = np.full_like(old, new)
    if value.shape != old.shape:
        raise ValueError(f"{new} of the shape {value.shape} in place of {old.shape}")
    return value.copy()
