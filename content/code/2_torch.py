# Given: model = GPT2LMHeadModel.from_pretrained("gpt2"), ids (1, T).
import torch

wte = model.transformer.wte               # token rows: nn.Embedding
wpe = model.transformer.wpe               # position rows: nn.Embedding
x = wte(ids) + wpe(torch.arange(ids.shape[1]))  # (1, T, d)
