# Given: x (T x d), n1 of step 3 (T x d), W_O,
# and one matrix a head in W_Q, W_K, W_V.
import numpy as np

later = np.triu(np.ones((len(x), len(x)), dtype=bool), k=1)  # T x T
outputs = []
for Q, K, V in zip(W_Q, W_K, W_V):
    q, k, v = n1 @ Q, n1 @ K, n1 @ V  # T x d_head
    s = q @ k.T / np.sqrt(q.shape[1])  # T x T
    e = np.exp(np.where(later, -np.inf, s))
    outputs.append(e / e.sum(axis=1, keepdims=True) @ v)

o = np.concatenate(outputs, axis=1)  # T x heads * d_head
attn = o @ W_O  # T x d
h = x + attn
