# model = GPT2LMHeadModel.from_pretrained("gpt2")
# y: what the last block, model.transformer.h[-1], puts out, (1, T, d)
f = model.transformer.ln_f(y)          # with a gain and a bias
z = model.lm_head(f)                   # (1, T, V)
p = z.softmax(dim=-1)

# Tied: one matrix for both ends.
assert model.lm_head.weight is model.transformer.wte.weight

# Row t is scored on the token at t + 1; the last row has none yet.
loss = torch.nn.functional.cross_entropy(z[0, :-1], ids[0, 1:])
