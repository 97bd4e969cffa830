"""Llama-type models in a GGUF file, as llama.cpp writes them: RMSNorm, rotary positions, grouped heads, SwiGLU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sevensteps.engine.block import block_prefixes
from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.ops import Array
from sevensteps.lab.bpe import START, byte_level_bpe
from sevensteps.lab.files import checksum, is_count, is_positive
from sevensteps.lab.gguf import GGUF, read_gguf
from sevensteps.lab.model import Model

_COUNTS = tuple(
    "llama." + key
    for key in (
        "block_count", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
        "context_length",
    )
)  # fmt: skip
_NUMBERS = ("llama.rope.freq_base", "llama.attention.layer_norm_rms_epsilon")
_LISTS = {"tokenizer.ggml.tokens": str, "tokenizer.ggml.merges": str, "tokenizer.ggml.token_type": int}
#: The one sort of model that is read, and the one way to cut a text into tokens.
_SORT = {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm"}
#: A tensor's name in the file -> ours; "" are those that are split into heads.
_OF_BLOCK = {
    "attn_norm": "ln1.w", "ffn_norm": "ln2.w", "attn_output": "W_O", "ffn_gate": "W_gate", "ffn_up": "W_in",
    "ffn_down": "W_out",
}  # fmt: skip
_SPLIT = {"attn_q": "W_Q", "attn_k": "W_K", "attn_v": "W_V"}
_CONTROL = 3  # the token type of special tokens


def load_llama(path: Path) -> Model:
    """Read the model. Raises InputError that names all fields or tensors that are missing, unknown or misshapen."""
    file = read_gguf(path)
    fields = _checked_fields(file)
    layers, heads = fields["llama.block_count"], fields["llama.attention.head_count"]
    if layers > len(file.tensors):
        raise InputError([Fault(str(path), "(file)", f"{len(file.tensors)} tensors", f"those of {layers} blocks")])
    _check_tensors(file, _shapes(fields))
    tokens, merges, types = (fields[key] for key in _LISTS)
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL]
    vocabulary = {token: n for n, token in enumerate(tokens)}
    tokenizer = byte_level_bpe(str(path), vocabulary, merges, special, digits=True)  # as llama.cpp's `smollm`
    return Model(
        name=str(fields.get("general.name", path.stem)), checksum=checksum(path), weights=_weights(file),
        tokenizer=tokenizer, start=vocabulary[START], layers=layers, heads=heads,
        d_head=fields["llama.embedding_length"] // heads, positions=fields["llama.context_length"],
        eps=fields["llama.attention.layer_norm_rms_epsilon"], activation="silu", norm="rms_norm",
        rope_base=fields["llama.rope.freq_base"],
    )  # fmt: skip


def _weights(file: GGUF) -> dict[str, Array]:
    """The tensors by our names, input × output, queries, keys and values split into heads."""
    layers, heads, key_heads, d = (
        file.fields[f"llama.{key}"]
        for key in ("block_count", "attention.head_count", "attention.head_count_kv", "embedding_length")
    )
    d_head = d // heads
    weights: dict[str, Array] = {"W_E": file.tensors["token_embd.weight"].read()}
    for n, prefix in enumerate(block_prefixes(layers)):
        for theirs, ours in _OF_BLOCK.items():
            weights[prefix + ours] = _turned(file.tensors[f"blk.{n}.{theirs}.weight"].read())
        for theirs, ours in _SPLIT.items():
            whole = file.tensors[f"blk.{n}.{theirs}.weight"].read()  # (heads * d_head, d)
            for h in range(heads if ours == "W_Q" else key_heads):
                weights[f"{prefix}{ours}.{h}"] = _turned(whole[h * d_head : (h + 1) * d_head])  # (d, d_head)
    return weights | {"ln_final.w": file.tensors["output_norm.weight"].read()}


def _turned(weight: Array) -> Array:
    """A matrix is stored output × input; a norm's gain is one row. Copied, not viewed: products are a third faster."""
    return np.ascontiguousarray(weight.T)


def _checked_fields(file: GGUF) -> dict[str, Any]:
    """The fields. InputError that names every one that is missing or says what is not read here."""
    fields = file.fields
    expected = {key: repr(value) for key, value in _SORT.items() if fields.get(key) != value}
    if not expected:
        expected |= {key: "a whole number from 1 on" for key in _COUNTS if not is_count(fields.get(key))}
        expected |= {key: "a number above 0" for key in _NUMBERS if not is_positive(fields.get(key))}
        expected |= {
            key: f"a list of {kind.__name__}" for key, kind in _LISTS.items() if not _is_list(fields.get(key), kind)
        }
    if not expected:
        expected = _misfits(fields)
    if expected:
        found = {key: repr(fields[key])[:60] if key in fields else "nothing" for key in expected}
        raise InputError([Fault(str(file.path), key, found[key], wanted) for key, wanted in expected.items()])
    return fields


def _is_list(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)


def _misfits(fields: dict[str, Any]) -> dict[str, str]:
    """Fields that do not go together: key -> what would."""
    width, heads = fields["llama.embedding_length"], fields["llama.attention.head_count"]
    if width % (2 * heads):
        return {"llama.attention.head_count": f"a number of heads that share {width} evenly, in pairs"}
    expected = {}
    if heads % fields["llama.attention.head_count_kv"]:
        expected["llama.attention.head_count_kv"] = f"a divisor of {heads}"
    if len(fields["tokenizer.ggml.token_type"]) != (size := len(fields["tokenizer.ggml.tokens"])):
        expected["tokenizer.ggml.token_type"] = f"a list of {size}"
    # A file need not say these. Where it says something else, its arithmetic is another.
    same = dict.fromkeys(("rope.dimension_count", "attention.key_length", "attention.value_length"), width // heads)
    for key, read in {**same, "rope.scaling.type": "none", "vocab_size": size}.items():
        if fields.get(f"llama.{key}", read) != read:
            expected[f"llama.{key}"] = repr(read)
    return expected


def _shapes(fields: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every tensor that the file must have, with its shape."""
    d, hidden = fields["llama.embedding_length"], fields["llama.feed_forward_length"]
    keys = d // fields["llama.attention.head_count"] * fields["llama.attention.head_count_kv"]
    yield "token_embd.weight", (len(fields["tokenizer.ggml.tokens"]), d)
    yield "output_norm.weight", (d,)
    for n in range(fields["llama.block_count"]):
        of_block = {
            "attn_norm": (d,), "ffn_norm": (d,), "attn_q": (d, d), "attn_k": (keys, d), "attn_v": (keys, d),
            "attn_output": (d, d), "ffn_gate": (hidden, d), "ffn_up": (hidden, d), "ffn_down": (d, hidden),
        }  # fmt: skip
        yield from ((f"blk.{n}.{name}.weight", shape) for name, shape in of_block.items())


def _check_tensors(file: GGUF, shapes: Iterator[tuple[str, tuple[int, ...]]]) -> None:
    """InputError that names every tensor which is missing, unknown or misshapen."""
    shown = str(file.path)
    expected = dict(shapes)
    found = {name: tensor.shape for name, tensor in file.tensors.items()}
    faults = [
        Fault(shown, name, str(found.get(name, "nothing")), str(expected.get(name, "no such tensor")))
        for name in sorted(expected.keys() | found.keys())
        if found.get(name) != expected.get(name)
    ]
    if faults:
        raise InputError(faults)
