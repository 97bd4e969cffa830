# Given: model = GPT2LMHeadModel.from_pretrained("gpt2"),
# and ids, the prompt (1, T).
import torch
from transformers import DynamicCache

cache = DynamicCache()                 # keys and values, block by block
new, longer = ids, ids
for _ in range(3):
    z = model(new, cache).logits[0, -1]  # the last row; fills the cache
    p = (z / 0.5).softmax(dim=-1)      # temperature 0.5
    new = torch.multinomial(p, 1)[None]  # greedy: z.argmax()[None, None]
    longer = torch.cat([longer, new], dim=1)  # next turn: one row only

# The same in one call, with top-k and top-p as well:
longer = model.generate(ids, do_sample=True, temperature=0.5,
                        top_k=3, top_p=0.7, max_new_tokens=3)
