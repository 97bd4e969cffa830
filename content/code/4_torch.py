# Given: model, a GPT2LMHeadModel,
# and x, the rows that go into its first block (T x 768).
block = model.transformer.h[0]
# mask, all 12 heads, and c_proj: W_O and its bias
attn = block.attn(block.ln_1(x)[None])[0][0]
h = x + attn
