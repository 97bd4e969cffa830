"""From probabilities to the next token: temperature, top-k, top-p, and a draw with a given random number."""

from collections.abc import Callable, Iterator

import numpy as np

from sevensteps.engine import ops
from sevensteps.engine.ops import Array


def next_probs(logits: Array, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Array:
    """Probabilities to draw from: (V,) -> (V,), adding up to 1.

    Temperature first, then top-k, then top-p, each renormalised. T = 0 is greedy: all on the largest logit
    (the first of equals), so nothing is divided by 0. ValueError for T < 0, k < 1, or top-p outside (0, 1].
    """
    if not temperature >= 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError(f"temperature {temperature}, top-k {top_k}, top-p {top_p}: expected >= 0, >= 1, in (0, 1]")
    # A tiny temperature may give minus infinity, which is right.
    with np.errstate(over="ignore"):
        p = ops.softmax(ops.at_temperature(logits, np.asarray(temperature)))
    if top_k is not None:
        p = ops.keep_top_k(p, np.asarray(top_k))
        p = p / p.sum()
    if top_p is not None:
        p = ops.keep_top_p(p, np.asarray(top_p))
        p = p / p.sum()
    return p


def draw(p: Array, u: float) -> int:
    """The token whose stretch of the running sum holds u, most likely token first: (V,), u in [0, 1) -> id.

    Any fixed order of the tokens gives each its own probability; this one is the order of the pages' tables.
    """
    if not 0 <= u < 1:
        raise ValueError(f"u is {u}, expected a number from 0 up to, not including, 1")
    return int(ops.draw(p, np.asarray(u)))


def generate(
    logits_after: Callable[[list[int]], Array],
    ids: list[int],
    choose: Callable[[Array], int],
    limit: int,
    end: int | None,
) -> Iterator[int]:
    """Append chosen tokens until `limit` positions are full or the token `end` was chosen.

    `logits_after` maps ids to the last row's logits (V,); `choose` maps those logits to an id.
    """
    ids = list(ids)
    while len(ids) < limit:
        token = choose(logits_after(ids))
        yield token
        if token == end:
            return
        ids.append(token)
