# Given: model, a GPT2LMHeadModel,
# and x, the rows that go into its first block (T x 768).
block = model.transformer.h[0]
n1 = block.ln_1(x)
q, k, v = block.attn.c_attn(n1).split(x.shape[1], dim=-1)  # all 12 heads at once
d_head = block.attn.head_dim  # 64
q1, k1, v1 = q[:, :d_head], k[:, :d_head], v[:, :d_head]  # head 1

s1_last = q1[-1] @ k1.T / d_head**0.5
A1_last = s1_last.softmax(dim=-1)
o1_last = A1_last @ v1
