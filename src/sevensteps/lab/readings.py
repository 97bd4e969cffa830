"""What a run of a real model says: next token, loss at every position, the logit lens, and what a part was worth."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sevensteps.engine.block import block_prefixes
from sevensteps.engine.ops import Array, most_likely_first
from sevensteps.engine.steps import Patch, Trace, rerun
from sevensteps.lab.model import Model


@dataclass(frozen=True)
class Guess:
    """A token with its logit and probability."""

    id: int
    logit: float
    p: float


@dataclass(frozen=True)
class Cell:
    """What one row of the stream says: the best guess, and how the true next token fares (not at the last position)."""

    guess: Guess
    rank: int | None
    loss: float | None


def top(trace: Trace, count: int, position: int = -1) -> list[Guess]:
    """The most likely tokens after a position, ties by id."""
    z, p = trace.values["logits"][position], trace.values["probs"][position]  # (V,) each
    return [Guess(int(n), float(z[n]), float(p[n])) for n in most_likely_first(z)[:count]]


def losses(trace: Trace) -> Array:
    """Cross-entropy in nats at every position that a token follows: (T - 1,)."""
    return trace.values["loss"][:-1]


def rank(row: Array, token: int) -> int:
    """1 for the largest entry; ties count in front only by a smaller id."""
    return 1 + int(np.count_nonzero(row > row[token]) + np.count_nonzero(row[:token] == row[token]))


def streams(model: Model) -> list[str]:
    """The stream's names from below the first block to above the last: layers + 1."""
    prefixes = block_prefixes(model.layers)
    return [prefixes[0] + "resid_pre", *(prefix + "resid_post" for prefix in prefixes)]


def lens(model: Model, trace: Trace) -> Iterator[list[Cell]]:
    """The logit lens (nostalgebraist 2020): every stream read as the last one is, a list of T cells for each."""
    targets = trace.values["targets"]
    for stream in streams(model):
        read = model.read(trace.values[stream], targets)
        yield [_cell(read, position, position < len(targets) - 1) for position in range(len(targets))]


def _cell(read: Trace, position: int, has_next: bool) -> Cell:
    guess = top(read, 1, position)[0]
    if not has_next:
        return Cell(guess, None, None)
    target = int(read.values["targets"][position])
    return Cell(guess, rank(read.values["logits"][position], target), float(read.values["loss"][position]))


def part_name(model: Model, block: int, head: int | None = None) -> str:
    """The value that is replaced when a block's attention, or one head of it, is off. Raises ValueError."""
    if not 0 <= block < model.layers:
        raise ValueError(f"block {block}: the blocks are 0 to {model.layers - 1}")
    if head is not None and not 0 <= head < model.heads:
        raise ValueError(f"head {head}: the heads are 0 to {model.heads - 1}")
    return block_prefixes(model.layers)[block] + ("attn_out" if head is None else f"attn.z.{head}")


def every_block(model: Model) -> list[str]:
    """The names of all blocks' attention."""
    return [part_name(model, block) for block in range(model.layers)]


def heads_of(model: Model, block: int) -> list[str]:
    """The names of a block's heads."""
    return [part_name(model, block, head) for head in range(model.heads)]


def off(trace: Trace, parts: Iterable[str], means: Mapping[str, Array] | None = None) -> Trace:
    """The run with parts (part_name) replaced: by 0, or by their mean row where means are given."""
    patch: Patch = {name: 0.0 if means is None else means[name] for name in parts}
    return rerun(trace, patch)


def sweep(
    model: Model, trace: Trace, token: int, means: Mapping[str, Array] | None = None
) -> Iterator[tuple[float, list[float]]]:
    """For each block: p of a token after the last position with its attention off, and with each of its heads off."""

    def p_without(part: str) -> float:
        return float(off(trace, [part], means).values["probs"][-1, token])

    for block in range(model.layers):
        yield p_without(part_name(model, block)), [p_without(part) for part in heads_of(model, block)]


def mean_rows(model: Model, prompts: Sequence[str]) -> dict[str, Array]:
    """Each part's mean row over all positions of some texts, the start token left out: name -> (d,) or (d_head,).

    What a part writes on the average, so that taking it out does not take the stream where it never is.
    """
    names = every_block(model)
    names += [name for block in range(model.layers) for name in heads_of(model, block)]
    sums: dict[str, NDArray[np.float64]] = {}
    count = 0
    for prompt in prompts:
        trace = model.trace(model.ids(prompt)[: model.longest])
        count += len(trace.tokens) - 1
        for name in names:
            sums[name] = sums.get(name, 0.0) + trace.values[name][1:].sum(axis=0, dtype=np.float64)
    return {name: (total / count).astype(np.float32) for name, total in sums.items()}
