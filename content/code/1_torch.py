# Given: text.
from transformers import GPT2Tokenizer

tokenizer = GPT2Tokenizer.from_pretrained("gpt2")
ids = tokenizer(text, return_tensors="pt").input_ids  # (1, T): one text, T ids
tokens = tokenizer.convert_ids_to_tokens(ids[0])      # a leading space is written Ġ there
