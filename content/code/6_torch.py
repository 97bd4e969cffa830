# Given: model = GPT2LMHeadModel.from_pretrained("gpt2"), ids (1, T),
# and y, the rows that its last block puts out (1, T, d).
import torch

f = model.transformer.ln_f(y)          # with a gain and a bias
z = model.lm_head(f)                   # (1, T, V)
p = z.softmax(dim=-1)

# Tied: one matrix for both ends.
assert model.lm_head.weight is model.transformer.wte.weight

# Row t is scored on the token at t + 1; the last row has none yet.
loss = torch.nn.functional.cross_entropy(z[0, :-1], ids[0, 1:])
