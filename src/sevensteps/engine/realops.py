"""Operations that only real models have. No page works them by hand, so they need no explanation (see ops.py)."""

from collections.abc import Callable

import numpy as np

from sevensteps.engine.ops import Array


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """Turn each pair of neighbours of a row by the angle of its position: (T, d), (T, d/2), (T, d/2) -> (T, d).

    Rotary positions (Su et al. 2021, arXiv 2104.09864, equation 34). Entries 2i and 2i + 1 are a pair.
    """
    even, odd = x[..., 0::2], x[..., 1::2]  # (T, d/2) each
    return np.stack((even * cos - odd * sin, even * sin + odd * cos), axis=-1).reshape(x.shape)


def silu(x: Array) -> Array:
    """x times the logistic function of x, entry by entry (Shazeer 2020, arXiv 2002.05202, calls it Swish)."""
    return x / (1.0 + np.exp(-x))


REAL_OPS: dict[str, Callable[..., Array]] = {op.__name__: op for op in (rotate, silu)}
