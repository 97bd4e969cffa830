# Given: W_E (V, d), W_pos (positions, d), ids.
import numpy as np

embed = W_E[ids]                      # (T, d): row ids[t] of W_E for position t
one_hot = np.eye(len(W_E))[ids]       # (T, V): a single 1 in each row
assert (one_hot @ W_E == embed).all() # the look-up as a multiplication

pos_embed = W_pos[:len(ids)]          # (T, d): the first T rows
x = embed + pos_embed                 # (T, d)

dots = W_E @ W_E.T                    # (V, V)
lengths = np.sqrt((W_E ** 2).sum(axis=1))
cosines = dots / np.outer(lengths, lengths)
