# Given: z (T rows of V logits) and vocabulary (a list).
import numpy as np


def softmax(row):
    e = np.exp(row - row.max())
    return e / e.sum()


def keep(p, count):
    """The `count` most likely tokens, scaled up so that they add up to 1."""
    order = np.argsort(-p)
    kept = np.zeros_like(p)
    kept[order[:count]] = p[order[:count]]
    return kept / kept.sum()


def draw(p, r):
    """The first token, most likely first, whose running sum lies above r."""
    order = np.argsort(-p)
    running = np.cumsum(p[order])
    return int(order[np.argmax(running > r)])


last = z[-1]                                     # only the last row is needed
greedy = vocabulary[int(last.argmax())]

p = softmax(last)
p_low = softmax(last / 0.5)                      # temperature 0.5
p_high = softmax(last / 2)                       # temperature 2
p_top_k = keep(p, 3)
running = np.cumsum(np.sort(p)[::-1])            # most likely first
p_top_p = keep(p, 1 + np.count_nonzero(running < 0.7))     # with the one that crosses 0.7
drawn = vocabulary[draw(p, 0.6)]
