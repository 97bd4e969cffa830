# Given: y (T rows of d), W_U (d rows of V), eps and targets (the id that follows each row).
import numpy as np

mean = y.mean(axis=1, keepdims=True)                       # one number a row
std = np.sqrt(((y - mean) ** 2).mean(axis=1, keepdims=True) + eps)
f = (y - mean) / std                                       # (T, d)

z = f @ W_U                                                # (T, V): the logits
e = np.exp(z - z.max(axis=1, keepdims=True))               # the largest first taken off: e^0 is 1
p = e / e.sum(axis=1, keepdims=True)                       # (T, V): each row adds up to 1

p_target = p[np.arange(len(targets)), targets]             # (T,)
loss = -np.log(p_target)
mean_loss = loss.mean()
