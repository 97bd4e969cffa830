# Given: z (T rows of V logits) and vocabulary (a list).
import numpy as np


def softmax(row):
    e = np.exp(row - row.max())
    return e / e.sum()


def keep(p, count):
    """The most likely tokens only, scaled so that they add up to 1."""
    best = np.argsort(-p)[:count]
    kept = np.zeros_like(p)
    kept[best] = p[best]
    return kept / kept.sum()


def draw(p, r):
    """The first token whose running sum, most likely first, is above r."""
    order = np.argsort(-p)
    return order[np.argmax(np.cumsum(p[order]) > r)]


last = z[-1]                           # only the last row is needed
p = softmax(last)
greedy = vocabulary[p.argmax()]
drawn = vocabulary[draw(p, 0.6)]

p_low = softmax(last / 0.5)            # temperature 0.5
p_high = softmax(last / 2)             # temperature 2
p_top_k = keep(p, 3)

running = np.cumsum(np.sort(p)[::-1])  # most likely first
below = np.count_nonzero(running < 0.7)
p_top_p = keep(p, below + 1)           # with the one that crosses 0.7
