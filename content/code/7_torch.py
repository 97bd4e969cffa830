# model = GPT2LMHeadModel.from_pretrained("gpt2")
# ids: the prompt, (1, T)
cache, new = None, ids
for _ in range(3):
    out = model(new, past_key_values=cache, use_cache=True)
    cache = out.past_key_values        # keys and values, block by block
    z = out.logits[0, -1]              # the last row
    p = (z / 0.5).softmax(dim=-1)      # temperature 0.5
    new = torch.multinomial(p, 1)[None]    # greedy: z.argmax()
    ids = torch.cat([ids, new], dim=1)     # next turn: one row only

# The same in one call, with top-k and top-p as well:
ids = model.generate(ids, do_sample=True, temperature=0.5,
                     top_k=3, top_p=0.7, max_new_tokens=3)
