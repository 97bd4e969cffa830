"""Make what the lab is held against: two small random models, and the logits and losses of an independent program.

Run once, in an environment of its own (the project does not need these packages):

    python3 -m venv /tmp/torch
    /tmp/torch/bin/pip install torch==2.13.0 transformers==5.24.0 gguf==0.19.0
    /tmp/torch/bin/python tests/data/make_lab_fixture.py SmolLM2-135M-Instruct.Q4_1.gguf

It writes `gpt2-small-random/`, `llama-small-random.gguf` and `lab_logits.json` beside itself. The logits are by
`transformers`, in float64. It shares with the lab neither a line of the forward pass, nor the unpacking of GGUF
weights, which is the `gguf` package's, nor the reading of its tokenizer. The random weights are large: with GPT-2's own
deviation of 0.02 all logits would be near 0 and all attention uniform, and a wrong model would pass.
"""

import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, dequantize, quants
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent
GPT2 = HERE / "gpt2-small-random"
LLAMA = HERE / "llama-small-random.gguf"
END = "<|endoftext|>"
TOP, FIXED, DECIMALS, DEVIATION = 20, 40, 6, 0.5
SMOLLM2_PROMPTS = (
    "The capital of France is", "the cat climbed the", "In 1969, 3 people flew", "def area(width, height):\n    return",
    "Ça coûte 20 €, n'est-ce pas ?",
)  # fmt: skip
SMALL_PROMPTS = ("the cat climbed the", "a cat", "In 1969,\n  two", "Ça coûte 20 €", "the the the the cat cat")
CORPUS = ["the cat climbed the roof and the cat sat on the mat, then the cat slept on the roof"] * 3


def main() -> None:
    """Write the models and the fixture."""
    path = Path(sys.argv[1])
    tokenizer = make_tokenizer()
    make_gpt2(tokenizer)
    make_llama(tokenizer)
    gpt2 = GPT2LMHeadModel.from_pretrained(GPT2).double().eval()
    small = {text: tokenizer.encode(text).ids for text in SMALL_PROMPTS}
    versions = {"torch": torch.__version__, "transformers": transformers.__version__, "gguf": version("gguf")}
    told = {
        "versions": versions,
        "gpt2-small-random": readings(gpt2, GPT2 / "model.safetensors", small),
        "llama-small-random": readings(llama(LLAMA), LLAMA, llama_ids(LLAMA, SMALL_PROMPTS)),
        "smollm2": readings(llama(path), path, llama_ids(path, SMOLLM2_PROMPTS)),
    }
    text = json.dumps(told, ensure_ascii=False, indent=1) + "\n"
    (HERE / "lab_logits.json").write_text(text, encoding="utf-8", newline="\n")


def make_tokenizer() -> Tokenizer:
    """A byte-level BPE as GPT-2's, of a few words; the end of text has the id 0."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=288, special_tokens=[END], initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def make_gpt2(tokenizer: Tokenizer) -> None:
    """Save a GPT-2 with random weights, biases and gains, in the library's own layout."""
    config = GPT2Config(
        n_embd=16, n_head=2, n_layer=2, n_positions=32, n_inner=40, vocab_size=tokenizer.get_vocab_size(),
        layer_norm_epsilon=1e-3, activation_function="gelu_new", bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    torch.manual_seed(5)
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            is_gain = name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight"))
            weight.normal_(1.0 if is_gain else 0.0, DEVIATION)
    model.save_pretrained(GPT2)
    (GPT2 / "generation_config.json").unlink()
    (GPT2 / "model.safetensors").chmod(0o644)
    tokenizer.save(str(GPT2 / "tokenizer.json"), pretty=False)


def make_llama(tokenizer: Tokenizer) -> None:
    """Save a Llama with random weights as GGUF: query heads share keys and values, and each kind of matrix is there."""
    parts = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(parts["vocab"], key=parts["vocab"].get)
    d, hidden, heads, key_heads, blocks = 32, 64, 4, 2, 2
    keys = d // heads * key_heads
    writer = GGUFWriter(LLAMA, "llama")
    writer.add_name("llama-small-random")
    writer.add_block_count(blocks)
    writer.add_context_length(64)
    writer.add_embedding_length(d)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_rope_freq_base(1000.0)
    writer.add_layer_norm_rms_eps(1e-3)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges([" ".join(pair) for pair in parts["merges"]])
    writer.add_bos_token_id(0)
    random = np.random.default_rng(5)

    def add(name: str, shape: tuple[int, ...], kind: GGMLQuantizationType = GGMLQuantizationType.F32) -> None:
        numbers = random.normal(1.0 if len(shape) == 1 else 0.0, DEVIATION, shape).astype(np.float32)
        writer.add_tensor(f"{name}.weight", quants.quantize(numbers, kind), raw_dtype=kind)

    add("token_embd", (len(tokens), d), GGMLQuantizationType.Q8_0)
    add("output_norm", (d,))
    for n in range(blocks):
        add(f"blk.{n}.attn_norm", (d,))
        add(f"blk.{n}.ffn_norm", (d,))
        add(f"blk.{n}.attn_q", (d, d), GGMLQuantizationType.Q4_1)
        add(f"blk.{n}.attn_k", (keys, d), GGMLQuantizationType.Q4_1)
        add(f"blk.{n}.attn_v", (keys, d), GGMLQuantizationType.Q8_0)
        add(f"blk.{n}.attn_output", (d, d), GGMLQuantizationType.F16)
        add(f"blk.{n}.ffn_gate", (hidden, d), GGMLQuantizationType.Q4_1)
        add(f"blk.{n}.ffn_up", (hidden, d), GGMLQuantizationType.Q4_1)
        add(f"blk.{n}.ffn_down", (d, hidden), GGMLQuantizationType.Q4_1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def llama(path: Path) -> LlamaForCausalLM:
    """The model of the GGUF file, its weights unpacked by the `gguf` package."""
    reader = GGUFReader(path)
    number = {name: field.parts[field.data[0]][0].item() for name, field in reader.fields.items()
              if name.startswith("llama.")}  # fmt: skip
    heads, key_heads = number["llama.attention.head_count"], number["llama.attention.head_count_kv"]
    config = LlamaConfig(
        vocab_size=number["llama.vocab_size"], hidden_size=number["llama.embedding_length"],
        intermediate_size=number["llama.feed_forward_length"], num_hidden_layers=number["llama.block_count"],
        num_attention_heads=heads, num_key_value_heads=key_heads,
        max_position_embeddings=number["llama.context_length"],
        rms_norm_eps=number["llama.attention.layer_norm_rms_epsilon"], tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": number["llama.rope.freq_base"]},
    )  # fmt: skip
    part = {
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    }  # fmt: skip
    weights: dict[str, torch.Tensor] = {}
    for tensor in reader.tensors:
        numbers = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        if tensor.name == "token_embd.weight":
            name = "model.embed_tokens.weight"
        elif tensor.name == "output_norm.weight":
            name = "model.norm.weight"
        else:
            _, block, kind, _ = tensor.name.split(".")
            name = f"model.layers.{block}.{part[kind]}.weight"
            if kind in ("attn_q", "attn_k"):
                numbers = halves(numbers, heads if kind == "attn_q" else key_heads)
        weights[name] = torch.from_numpy(numbers)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model = LlamaForCausalLM(config)
    model.load_state_dict(weights, strict=True)
    return model.double().eval()


def halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """GGUF has the two rows of each of RoPE's pairs side by side, transformers has them half a head apart."""
    return rows.reshape(heads, -1, 2, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def llama_ids(path: Path, prompts: tuple[str, ...]) -> dict[str, list[int]]:
    """Each prompt's ids by the library's own reader of the file's tokenizer, which must be told of the digits."""
    backend = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return {text: backend.encode(text, add_special_tokens=False).ids for text in prompts}


def readings(model: torch.nn.Module, path: Path, prompts: dict[str, list[int]]) -> dict[str, Any]:
    """The file's checksum, and for each prompt its ids, the losses, and some logits of the last position."""
    return {
        "checksum": hashlib.sha256(path.read_bytes()).hexdigest(),
        "prompts": [reading(model, text, [0, *ids]) for text, ids in prompts.items()],
    }


@torch.no_grad()
def reading(model: torch.nn.Module, text: str, ids: list[int]) -> dict[str, Any]:
    logits = model(torch.tensor([ids])).logits[0]  # (T, V)
    assert logits.dtype == torch.float64
    losses = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="none")
    last = logits[-1]
    best = last.argsort(descending=True)[:TOP].tolist()
    fixed = np.linspace(0, len(last) - 1, FIXED).astype(int).tolist()
    return {
        "text": text,
        "ids": ids,
        "losses": [round(loss, DECIMALS) for loss in losses.tolist()],
        "top": {str(n): round(last[n].item(), DECIMALS) for n in best},
        "fixed": {str(n): round(last[n].item(), DECIMALS) for n in fixed},
    }


if __name__ == "__main__":
    main()
