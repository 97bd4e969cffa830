# Given: y, W_U, eps, and targets (the id that follows each row).
import numpy as np

mean = y.mean(axis=1, keepdims=True)              # one number a row
variance = ((y - mean) ** 2).mean(axis=1, keepdims=True)
f = (y - mean) / np.sqrt(variance + eps)          # (T, d)

z = f @ W_U                                       # (T, V): logits
e = np.exp(z - z.max(axis=1, keepdims=True))      # largest: e^0 = 1
p = e / e.sum(axis=1, keepdims=True)              # rows add up to 1

pt = p[np.arange(len(targets)), targets]          # (T,)
loss = -np.log(pt)
mean_loss = loss.mean()
