"""GPT-2 in Hugging Face's layout: a folder with config.json, model.safetensors and the tokenizer's files."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from sevensteps.engine.block import block_prefixes
from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.ops import Array
from sevensteps.lab.llama import checksum
from sevensteps.lab.model import Model

_CONFIG = {
    "n_embd": int, "n_head": int, "n_layer": int, "n_positions": int, "vocab_size": int, "layer_norm_epsilon": float,
    "activation_function": str,
}  # fmt: skip
_ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu_erf", "relu": "relu"}
#: Options of the config that change the arithmetic, with the one value that is read here.
_UNREAD = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
#: Names of a block, theirs -> ours. The matrices are stored input × output.
_OF_BLOCK = {
    "ln_1.weight": "ln1.w", "ln_1.bias": "ln1.b", "attn.c_proj.weight": "W_O", "attn.c_proj.bias": "b_O",
    "ln_2.weight": "ln2.w", "ln_2.bias": "ln2.b", "mlp.c_fc.weight": "W_in", "mlp.c_fc.bias": "b_in",
    "mlp.c_proj.weight": "W_out", "mlp.c_proj.bias": "b_out",
}  # fmt: skip
_END = "<|endoftext|>"


def load_gpt2(folder: Path) -> Model:
    """Read the model. Raises InputError that names all settings or tensors that are missing, unknown or misshapen."""
    config = _config(folder / "config.json")
    file = folder / "model.safetensors"
    tensors = _tensors(file, dict(_shapes(config)))
    layers, heads, d = config["n_layer"], config["n_head"], config["n_embd"]
    weights: dict[str, Array] = {"W_E": tensors["wte.weight"], "W_pos": tensors["wpe.weight"]}
    for n, prefix in enumerate(block_prefixes(layers)):
        for theirs, ours in _OF_BLOCK.items():
            weights[prefix + ours] = tensors[f"h.{n}.{theirs}"]
        for kind, ours in (("weight", "W"), ("bias", "b")):
            # (d, 3 d) or (3 d,): queries, keys and values, each with its heads one after the other.
            for letter, part in zip("QKV", np.split(tensors[f"h.{n}.attn.c_attn.{kind}"], 3, axis=-1), strict=True):
                for h, head in enumerate(np.split(part, heads, axis=-1)):
                    weights[f"{prefix}{ours}_{letter}.{h}"] = head
    weights |= {"ln_final.w": tensors["ln_f.weight"], "ln_final.b": tensors["ln_f.bias"]}
    if "lm_head.weight" in tensors and not np.array_equal(tensors["lm_head.weight"], weights["W_E"]):
        weights["W_U"] = tensors["lm_head.weight"].T
    tokenizer = _tokenizer(folder)
    start = tokenizer.token_to_id(_END)
    if start is None or tokenizer.get_vocab_size() != config["vocab_size"]:
        found = f"{tokenizer.get_vocab_size()} tokens" + ("" if start is not None else f", no {_END}")
        raise InputError([Fault(str(folder), "tokenizer", found, f"{config['vocab_size']} tokens with {_END}")])
    return Model(
        name=folder.name, checksum=checksum(file), weights=weights, tokenizer=tokenizer, start=start, layers=layers,
        heads=heads, d_head=d // heads, positions=config["n_positions"], eps=config["layer_norm_epsilon"],
        activation=_ACTIVATIONS[config["activation_function"]], norm="layer_norm",
    )  # fmt: skip


def _config(path: Path) -> dict[str, Any]:
    config = _json(path)
    faults = [
        Fault(str(path), key, repr(config.get(key, "nothing")), f"a value of the type {kind.__name__}")
        for key, kind in _CONFIG.items()
        if not isinstance(config.get(key), kind) or (kind is int and config[key] < 1)
    ]
    faults += [
        Fault(str(path), key, repr(config[key]), repr(read))
        for key, read in _UNREAD.items()
        if config.get(key, read) != read
    ]
    if not faults and config["n_embd"] % config["n_head"]:
        faults.append(Fault(str(path), "n_head", str(config["n_head"]), f"a divisor of n_embd, {config['n_embd']}"))
    if config.get("activation_function") not in _ACTIVATIONS:
        found = repr(config.get("activation_function", "nothing"))
        faults.append(Fault(str(path), "activation_function", found, f"one of {', '.join(_ACTIVATIONS)}"))
    if faults:
        raise InputError(faults)
    return config


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([Fault(str(path), "(file)", str(error), "JSON of a GPT-2 in Hugging Face's layout")]) from None
    if not isinstance(data, dict):
        raise InputError([Fault(str(path), "(file)", type(data).__name__, "a table")])
    return data


def _shapes(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every tensor that the file must have, with its shape."""
    d = config["n_embd"]
    inner = config.get("n_inner") or 4 * d
    yield "wte.weight", (config["vocab_size"], d)
    yield "wpe.weight", (config["n_positions"], d)
    yield "ln_f.weight", (d,)
    yield "ln_f.bias", (d,)
    matrices = {"attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "mlp.c_fc": (d, inner), "mlp.c_proj": (inner, d)}
    for n in range(config["n_layer"]):
        for name in ("ln_1", "ln_2"):
            yield from ((f"h.{n}.{name}.{part}", (d,)) for part in ("weight", "bias"))
        for name, shape in matrices.items():
            yield f"h.{n}.{name}.weight", shape
            yield f"h.{n}.{name}.bias", shape[1:]


def _tensors(path: Path, expected: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The tensors by name, without the library's prefix, as float32; without the masks that some versions store."""
    try:
        with safe_open(str(path), framework="numpy") as file:
            names = {name.removeprefix("transformer."): name for name in file.keys()}  # noqa: SIM118 - not a dict
            shapes = {name: tuple(file.get_slice(theirs).get_shape()) for name, theirs in names.items()}
            shapes = {name: shape for name, shape in shapes.items() if not name.endswith(("attn.bias", "masked_bias"))}
            allowed = {**expected, "lm_head.weight": expected["wte.weight"]}
            faults = [
                Fault(str(path), name, str(shapes.get(name, "nothing")), str(allowed.get(name, "no such tensor")))
                for name in sorted(expected.keys() | shapes.keys())
                if shapes.get(name) != allowed.get(name)
            ]
            if faults:
                raise InputError(faults)
            tensors = {name: file.get_tensor(names[name]).astype(np.float32) for name in shapes}
    except (OSError, SafetensorError, TypeError) as error:
        raise InputError(
            [Fault(str(path), "(file)", str(error), "a safetensors file of 16- or 32-bit floats")]
        ) from None
    unreal = [name for name, tensor in tensors.items() if not np.isfinite(tensor).all()]
    if unreal:
        raise InputError([Fault(str(path), name, "a number that is not finite", "numbers") for name in unreal])
    return tensors


def _tokenizer(folder: Path) -> Tokenizer:
    """tokenizer.json, or GPT-2's own vocab.json and merges.txt."""
    path = folder / "tokenizer.json"
    try:
        if path.exists():
            return Tokenizer.from_file(str(path))
        path = folder / "merges.txt"
        tokenizer = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(path)))
    except Exception as error:  # the library raises plain Exceptions
        raise InputError([Fault(str(path), "(file)", str(error), "a tokenizer that can be read")]) from None
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([_END])
    return tokenizer
