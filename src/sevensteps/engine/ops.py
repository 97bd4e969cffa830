"""The closed set of operations from which every step is made.

T is the number of positions, d the width of a row, V the size of the vocabulary.
Each function takes float64 arrays and returns a new one; real models are float32, and stay it.
`explain.py` has one explanation for each name in `OPS`; a test holds the two sets together.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def rows(table: Array, ids: Array) -> Array:
    """Look up rows of a table: (V, d), (T,) -> (T, d). With one id, (V, d), () -> (d,)."""
    return np.asarray(table[ids.astype(int)])


def first_rows(table: Array, ids: Array) -> Array:
    """The first T rows of a table, T being the number of ids: (positions, d), (T,) -> (T, d)."""
    return table[: len(ids)]


def transpose(table: Array) -> Array:
    """(V, d) -> (d, V)."""
    return table.T


def add(a: Array, b: Array) -> Array:
    """Add, entry by entry; b may be one row for all rows of a: (T, d), (T, d) or (d,) -> (T, d)."""
    return a + b


def multiply(a: Array, b: Array) -> Array:
    """Multiply, entry by entry; b may be one row for all rows of a: (T, d), (d,) -> (T, d)."""
    return a * b


def subtract(a: Array, b: Array) -> Array:
    """Take one number a row from every entry of the row: (T, d), (T,) -> (T, d). Also (), () -> ()."""
    return a - _per_row(b, a)


def divide(a: Array, b: Array) -> Array:
    """Divide every entry of a row by the row's one number: (T, d), (T,) or () -> (T, d)."""
    return a / _per_row(b, a)


def row_mean(x: Array) -> Array:
    """(T, d) -> (T,): the sum of a row over its length d."""
    return np.asarray(_sum(x) / x.shape[-1])


def row_mean_square(x: Array) -> Array:
    """(T, d) -> (T,): the mean of the squares. Of a centred row this is its variance, over d (not d - 1)."""
    return np.asarray(_sum(x * x) / x.shape[-1])


def root_with_epsilon(variance: Array, epsilon: Array) -> Array:
    """(T,), () -> (T,): LayerNorm's scale, with epsilon inside the root (Ba et al. 2016, as in GPT-2)."""
    return np.sqrt(variance + epsilon)


def square_root(x: Array) -> Array:
    """Any shape, entry by entry."""
    return np.sqrt(x)


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Rows times a matrix, plus a bias where there is one: (T, d), (d, m), (m,) -> (T, m)."""
    product = _times(x, weight)  # (T, m)
    return product if bias is None else product + bias


def linear_part(z: Array, weight: Array, head: Array) -> Array:
    """One head's share of the output matrix: (T, d_head), (heads * d_head, d), () -> (T, d)."""
    start = int(head) * z.shape[-1]
    return _times(z, weight[start : start + z.shape[-1]])


def scores(q: Array, k: Array) -> Array:
    """Dot product of every row of q with every row of k: (T, d), (S, d) -> (T, S)."""
    return _times(q, k.T)


def causal_mask(x: Array) -> Array:
    """(T, T) -> (T, T): minus infinity where the column is later than the row."""
    later = np.triu(np.ones(x.shape, dtype=bool), k=1)  # (T, T)
    return np.where(later, -np.inf, x)


def exp(x: Array) -> Array:
    """e^x, entry by entry; infinity where float64 ends (x > 709.78)."""
    return np.exp(x)


def row_sum(x: Array) -> Array:
    """(T, d) -> (T,), and (d,) -> ()."""
    return _sum(x)


def softmax(x: Array) -> Array:
    """(T, d) -> (T, d): e^x over the row's sum of e^x. The row's maximum is taken off first, so ±1000 is safe."""
    # In float64, for real models too: a probability below 1e-45 still has a loss.
    e: Array = np.exp(x - x.max(axis=-1, keepdims=True), dtype=np.float64)  # (T, d), at most 1
    return np.asarray(e / _sum(e)[..., None])


def concat(*parts: Array) -> Array:
    """The heads side by side: heads x (T, d_head) -> (T, heads * d_head)."""
    return np.concatenate(parts, axis=-1)


def relu(x: Array) -> Array:
    """max(0, x), entry by entry."""
    return np.maximum(0.0, x)


def gelu_tanh(x: Array) -> Array:
    """GPT-2's GELU: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016)."""
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    # 0.5 (1 + tanh(u)) is 1 / (1 + e^(-2u)), which keeps its digits where 1 + tanh would cancel (x far below 0).
    return x / (1.0 + np.exp(-2.0 * inner))


def gelu_erf(x: Array) -> Array:
    """The exact GELU: x times the normal distribution's share below x, 0.5 x (1 + erf(x / sqrt 2))."""
    # erfc keeps its digits where 1 + erf would cancel (x far below 0).
    erfc = np.vectorize(math.erfc, otypes=[np.float64])
    return np.asarray(0.5 * x * erfc(-x / math.sqrt(2.0)))


def pick(table: Array, columns: Array) -> Array:
    """One entry a row: (T, V), (T,) -> (T,)."""
    return np.take_along_axis(table, columns.astype(int)[..., None], axis=-1)[..., 0]


def neg_log(x: Array) -> Array:
    """-ln x, entry by entry, in nats; infinity at 0."""
    return -np.log(x)


def log(x: Array) -> Array:
    """ln x, entry by entry, in nats."""
    return np.log(x)


def total(*numbers: Array) -> Array:
    """The sum of single numbers: any count of () -> ()."""
    return _sum(np.stack(numbers))


def product(*numbers: Array) -> Array:
    """The product of single numbers: any count of () -> ()."""
    return np.asarray(np.prod(np.stack(numbers), axis=0))


def row_norm(x: Array) -> Array:
    """Length of each row: (T, d) -> (T,)."""
    return np.asarray(np.sqrt(_sum(x * x)))


def cosines(dots: Array, lengths: Array) -> Array:
    """Dot products over both lengths: (T, T), (T,) -> (T, T)."""
    return dots / (lengths[:, None] * lengths)


def at_temperature(z: Array, temperature: Array) -> Array:
    """Logits less the largest of them, over the temperature: (V,), () -> (V,).

    At temperature 0, greedy, every logit but the (first) largest is minus infinity.
    """
    if temperature == 0:
        return np.where(np.arange(z.size) == z.argmax(), 0.0, -np.inf)
    return np.asarray((z - z.max()) / temperature)


def cumulative(p: Array) -> Array:
    """Running sum from the most likely entry down, each at its own place: (V,) -> (V,)."""
    order = most_likely_first(p)
    running = np.empty_like(p)
    running[order] = np.cumsum(p[order])
    return running


def keep_top_k(p: Array, k: Array) -> Array:
    """The k most likely entries of p, 0 elsewhere: (V,), () -> (V,)."""
    kept = np.zeros_like(p)
    best = most_likely_first(p)[: int(k)]
    kept[best] = p[best]
    return kept


def keep_top_p(p: Array, limit: Array) -> Array:
    """The most likely entries up to and with the one whose running sum reaches the limit: (V,), () -> (V,)."""
    order = most_likely_first(p)
    # Every entry in front of which the limit is not yet reached, and the first one whatever the limit.
    count = 1 + int(np.count_nonzero(np.cumsum(p[order])[:-1] < limit))
    return keep_top_k(p, np.asarray(count))


def draw(p: Array, u: Array) -> Array:
    """The id on whose stretch of the running sum u falls, most likely entry first: (V,), () in [0, 1) -> ()."""
    order = most_likely_first(p)
    place = int(np.count_nonzero(np.cumsum(p[order]) <= u))
    # Rounding may leave the last running sum just below 1: an entry with p = 0 is still never drawn.
    return np.asarray(order[min(place, int(np.count_nonzero(p)) - 1)], dtype=np.float64)


def most_likely_first(p: Array) -> NDArray[np.intp]:
    """Indices from the largest entry to the smallest, ties by index: (V,) -> (V,)."""
    return np.argsort(-p, kind="stable")


#: Up to this many entries a matrix is multiplied term by term. Nobody adds up a real model by hand, whatever its size.
BY_HAND = 2**16


def _times(x: Array, weight: Array) -> Array:
    """Rows times a matrix: (T, d), (d, m) -> (T, m).

    The terms of a sum are rounded one by one, in order, as a reader adds them up and as the browser does. Fused
    multiply-adds would leave 1e-18 where two terms cancel, on some machines. Large matrices need the speed more.
    """
    if weight.dtype == np.float32:
        return np.asarray(x.astype(np.float32) @ weight)
    if weight.size > BY_HAND:
        return np.asarray(x @ weight)
    result = np.zeros((*x.shape[:-1], weight.shape[-1]))  # (T, m)
    for k, row in enumerate(weight):  # d times
        result += x[..., k, None] * row
    return result


def _sum(x: Array) -> Array:
    """Each row's sum: (T, d) -> (T,), and (d,) -> (). Term by term, in order, for the same reason."""
    if x.dtype == np.float32:
        return np.asarray(x.sum(axis=-1))
    return np.asarray(np.cumsum(x, axis=-1)[..., -1])


def _per_row(b: Array, a: Array) -> Array:
    """Give b trailing axes of length 1 until it lines up with the rows of a."""
    return b.reshape(b.shape + (1,) * (a.ndim - b.ndim))


OPS: dict[str, Callable[..., Array]] = {
    op.__name__: op
    for op in (
        rows, first_rows, transpose, add, multiply, subtract, divide, row_mean, row_mean_square,
        root_with_epsilon, square_root, linear, linear_part, scores, causal_mask, exp, row_sum,
        softmax, concat, relu, gelu_tanh, gelu_erf, pick, neg_log, log, total, product, row_norm,
        cosines, at_temperature, cumulative, keep_top_k, keep_top_p, draw,
    )
}  # fmt: skip
