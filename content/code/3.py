# Given: x (T x d), eps, and one matrix a head in W_Q, W_K, W_V.
# Head 1 is W_Q[0], the last row is [-1].
import numpy as np

c = x - x.mean(axis=1, keepdims=True)  # T x d
n1 = c / np.sqrt((c * c).mean(axis=1, keepdims=True) + eps)  # T x d

q1 = n1 @ W_Q[0]  # T x d_head
k1 = n1 @ W_K[0]
v1 = n1 @ W_V[0]

s1_last = q1[-1] @ k1.T / np.sqrt(q1.shape[1])  # T
e = np.exp(s1_last)
A1_last = e / e.sum()  # T
o1_last = A1_last @ v1  # d_head
