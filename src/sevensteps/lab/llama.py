"""Llama-type models in a GGUF file, as llama.cpp writes them: RMSNorm, rotary positions, grouped heads, SwiGLU."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from sevensteps.engine.block import block_prefixes
from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.ops import Array
from sevensteps.lab.gguf import GGUF, read_gguf
from sevensteps.lab.model import Model

_FIELDS = {
    "llama.block_count": int, "llama.embedding_length": int, "llama.feed_forward_length": int,
    "llama.attention.head_count": int, "llama.attention.head_count_kv": int, "llama.context_length": int,
    "llama.rope.freq_base": float, "llama.attention.layer_norm_rms_epsilon": float,
    "tokenizer.ggml.tokens": list, "tokenizer.ggml.merges": list, "tokenizer.ggml.token_type": list,
}  # fmt: skip
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
    layers, d = fields["llama.block_count"], fields["llama.embedding_length"]
    heads, key_heads = fields["llama.attention.head_count"], fields["llama.attention.head_count_kv"]
    d_head = d // heads
    _check_tensors(file, _shapes(fields))
    weights: dict[str, Array] = {"W_E": file.tensors["token_embd.weight"].read()}
    for n, prefix in enumerate(block_prefixes(layers)):
        for theirs, ours in _OF_BLOCK.items():
            # Matrices are stored output × input; a norm's gain is one row.
            weights[prefix + ours] = file.tensors[f"blk.{n}.{theirs}.weight"].read().T
        for theirs, ours in _SPLIT.items():
            whole = file.tensors[f"blk.{n}.{theirs}.weight"].read()  # (heads * d_head, d)
            for h in range(heads if ours == "W_Q" else key_heads):
                weights[f"{prefix}{ours}.{h}"] = whole[h * d_head : (h + 1) * d_head].T  # (d, d_head)
    weights["ln_final.w"] = file.tensors["output_norm.weight"].read()
    return Model(
        name=str(fields.get("general.name", path.stem)), checksum=checksum(path), weights=weights,
        tokenizer=_tokenizer(fields), start=0, layers=layers, heads=heads, d_head=d_head,
        positions=fields["llama.context_length"], eps=fields["llama.attention.layer_norm_rms_epsilon"],
        activation="silu", norm="rms_norm", rope_base=fields["llama.rope.freq_base"],
    )  # fmt: skip


def checksum(path: Path) -> str:
    """The file's sha256, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked_fields(file: GGUF) -> dict[str, Any]:
    shown = str(file.path)
    architecture = file.fields.get("general.architecture")
    if architecture != "llama":
        raise InputError([Fault(shown, "general.architecture", repr(architecture), "'llama'")])
    faults = [
        Fault(shown, key, repr(file.fields[key])[:60] if key in file.fields else "nothing", kind.__name__)
        for key, kind in _FIELDS.items()
        if not isinstance(file.fields.get(key), kind)
    ]
    if faults:
        raise InputError(faults)
    fields = file.fields
    counts = {key: fields[key] for key, kind in _FIELDS.items() if kind is int}
    faults = [Fault(shown, key, str(count), "1 or more") for key, count in counts.items() if count < 1]
    heads, key_heads = fields["llama.attention.head_count"], fields["llama.attention.head_count_kv"]
    if not faults and (fields["llama.embedding_length"] % (2 * heads) or heads % key_heads):
        expected = "a width that the heads share evenly, and heads that the key/value heads share evenly"
        faults = [Fault(shown, "llama.attention.head_count", f"{heads} and {key_heads} key/value heads", expected)]
    if faults:
        raise InputError(faults)
    return fields


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


def _tokenizer(fields: dict[str, Any]) -> Tokenizer:
    """Byte-level BPE of the file's own vocabulary and merges, digits one by one (llama.cpp's `smollm`)."""
    tokens = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ", 1)) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: n for n, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    types = fields["tokenizer.ggml.token_type"]
    tokenizer.add_special_tokens([token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL])
    return tokenizer
