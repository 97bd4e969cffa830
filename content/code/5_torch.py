# Given: model, a GPT2LMHeadModel,
# and h, the rows after attention in its first block (T x 768).
block = model.transformer.h[0]
n2 = block.ln_2(h)
u = block.mlp.act(block.mlp.c_fc(n2))  # GELU, tanh form; T x 3072
mlp = block.mlp.c_proj(u)
y = h + mlp
