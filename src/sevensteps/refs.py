"""Where a number is: refs (`attention_off/probs.4.2`, 0-based) and how authors write them.

Authors write a symbol or a name, with one item for each axis, counted as on the pages:
`p[last,␣roof]`, `attention_off/p[5,top]`, `A1[last,3]`, `ln1.scale[2]`. On a position axis an item is a number from 1,
`last`, `last-1`, or a token of the text (its first position); on the token axis a token of the vocabulary, `#id`, or
`top` (the largest of the row); on the prompt axis one of the run's words; layers, blocks and heads of a real model
count from 0; on any other axis a number from 1. Fewer items than axes name a whole row.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sevensteps.engine.ops import Array
from sevensteps.engine.steps import Trace

AUTHOR_REF = re.compile(r"(?:(?P<run>[a-z][a-z0-9_]*)/)?(?P<name>[^\[\]/]+)(?:\[(?P<items>.*)\])?", re.DOTALL)
POSITION_AXES = ("position", "seen")
#: Axes whose items may be named by a token of the run's text.
NAMED_AXES = (*POSITION_AXES, "prompt")
FROM_ZERO = ("layer", "block", "head")


class UnknownRefError(LookupError):
    """A ref or symbol names nothing that the toy has."""


@dataclass(frozen=True)
class Runs:
    """All traces by name. A ref without a run means `main`.

    `called` is what the pages call the tokens, in the order of the ids: a toy with other words keeps the text.
    """

    traces: Mapping[str, Trace]
    called: tuple[str, ...] = ()

    def find(self, ref: str) -> tuple[Trace, str, tuple[int, ...]]:
        """The trace, the value's name and the index of `[run/]name[.i[.j]]`. Raises UnknownRefError."""
        run, slash, rest = ref.rpartition("/")
        try:
            trace = self.traces[run if slash else "main"]
            return trace, *trace.split(rest)
        except KeyError:
            raise UnknownRefError(f"no value {ref!r}") from None

    def __getitem__(self, ref: str) -> Array:
        trace, name, index = self.find(ref)
        return np.asarray(trace.values[name][index])

    def ref(self, written: str) -> str:
        """The ref that an author's `symbol[items]` means. Raises UnknownRefError, saying what is wrong."""
        match = AUTHOR_REF.fullmatch(written.strip())
        if match is None:
            raise UnknownRefError(f"{written!r} is not of the form [run/]symbol[item,item]")
        run, items = match["run"], match["items"]
        if (run or "main") not in self.traces:
            raise UnknownRefError(f"{written!r}: no run {run!r} (there are {', '.join(self.traces)})")
        trace = self.traces[run or "main"]
        name = _name(trace, match["name"])
        parts = [name]
        for axis, item in zip(_axes(trace, name, items), items.split(",") if items else (), strict=False):
            try:
                parts.append(str(_index(trace, ".".join(parts), axis, self.token(item.strip(), trace.vocabulary))))
            except UnknownRefError as error:
                raise UnknownRefError(f"{written!r}: {error}") from None
        ref = ".".join(parts)
        return f"{run}/{ref}" if run and run != "main" else ref

    def token(self, written: str, vocabulary: Sequence[str]) -> str:
        """The toy's token for one that the pages name: itself, or where there is none, the one with the same id."""
        if written in vocabulary or written not in self.called[: len(vocabulary)]:
            return written
        return vocabulary[self.called.index(written)]


def run_of(ref: str) -> str:
    """What stands before the value's name: `attention_off/`, or nothing for main. Operands of a number share it."""
    run, slash, _ = ref.rpartition("/")
    return run + slash


def _name(trace: Trace, written: str) -> str:
    if written in trace.steps:
        return written
    for step in trace.steps.values():
        if step.symbol == written:
            return step.name
    raise UnknownRefError(f"no symbol or name {written!r}")


def _axes(trace: Trace, name: str, items: str | None) -> tuple[str, ...]:
    axes = trace.steps[name].axes
    if items and items.count(",") >= len(axes):
        raise UnknownRefError(f"{name}[{items}] has more items than {name} has axes ({', '.join(axes) or 'none'})")
    return axes


def _index(trace: Trace, row: str, axis: str, item: str) -> int:
    size: int = trace[row].shape[0]
    index = _written_index(trace, row, axis, item)
    if not 0 <= index < size:
        first = int(axis not in FROM_ZERO)
        raise UnknownRefError(f"{axis} {item} is not in {first} to {size - 1 + first}")
    return index


def _written_index(trace: Trace, row: str, axis: str, item: str) -> int:
    if item == "top":
        return int(trace[row].argmax())
    if axis == "token":
        if item.startswith("#") and item[1:].isdecimal():
            return int(item[1:])
        if item in trace.vocabulary:
            return trace.vocabulary.index(item)
        raise UnknownRefError(f"no token {item!r} in the vocabulary")
    if match := re.fullmatch(r"last(?:-(\d+))?", item):
        return int(trace[row].shape[0]) - 1 - int(match[1] or 0)
    if item.isdecimal():
        return int(item) - int(axis not in FROM_ZERO)
    if axis in NAMED_AXES and item in trace.tokens:
        return trace.tokens.index(item)
    raise UnknownRefError(
        f"{axis} {item!r} is not a number from {int(axis not in FROM_ZERO)}"
        + (" or a token of the text" * (axis in NAMED_AXES))
    )
