# Given: h (T x d), eps, W_in (W_1), b_in, W_out (W_2), b_out.
import numpy as np

c = h - h.mean(axis=1, keepdims=True)  # T x d
n2 = c / np.sqrt((c * c).mean(axis=1, keepdims=True) + eps)  # T x d

g = n2 @ W_in + b_in  # T x d_mlp
u = np.maximum(0, g)
mlp = u @ W_out + b_out  # T x d
y = h + mlp
