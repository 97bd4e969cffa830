"""GPT-2 in Hugging Face's layout: a folder with config.json, model.safetensors and the tokenizer's files."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from sevensteps.engine.block import block_prefixes
from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.ops import Array
from sevensteps.lab.bpe import START
from sevensteps.lab.files import checksum, is_count, is_positive, read_table, require_file
from sevensteps.lab.model import Model
from sevensteps.lab.tokenizerfile import read_tokenizer

_COUNTS = ("n_embd", "n_head", "n_layer", "n_positions", "vocab_size")
_ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu_erf", "relu": "relu"}
#: Options of the config that change the arithmetic, with the one value that is read here.
_UNREAD = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
#: Names of a block, theirs -> ours. The matrices are stored input × output.
_OF_BLOCK = {
    "ln_1.weight": "ln1.w", "ln_1.bias": "ln1.b", "attn.c_proj.weight": "W_O", "attn.c_proj.bias": "b_O",
    "ln_2.weight": "ln2.w", "ln_2.bias": "ln2.b", "mlp.c_fc.weight": "W_in", "mlp.c_fc.bias": "b_in",
    "mlp.c_proj.weight": "W_out", "mlp.c_proj.bias": "b_out",
}  # fmt: skip
#: What some versions of the library store, too: causal masks.
_MASKS = (".attn.bias", ".attn.masked_bias")
_FLOATS = ("F16", "F32", "F64")


def load_gpt2(folder: Path) -> Model:
    """Read the model. Raises InputError that names all settings or tensors that are missing, unknown or misshapen."""
    config = _config(folder / "config.json")
    file = folder / "model.safetensors"
    tensors = _tensors(file, config)
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
    tokenizer = read_tokenizer(folder)
    if (found := tokenizer.get_vocab_size()) != config["vocab_size"]:
        raise InputError([Fault(str(folder), "tokenizer", f"{found} tokens", str(config["vocab_size"]))])
    return Model(
        name=folder.resolve().name, checksum=checksum(file), weights=weights, tokenizer=tokenizer,
        start=tokenizer.get_vocab()[START], layers=layers, heads=heads, d_head=d // heads,
        positions=config["n_positions"], eps=config["layer_norm_epsilon"],
        activation=_ACTIVATIONS[config["activation_function"]], norm="layer_norm",
    )  # fmt: skip


def _config(path: Path) -> dict[str, Any]:
    config = read_table(path)
    expected = {key: "a whole number from 1 on" for key in _COUNTS if not is_count(config.get(key))}
    if not (config.get("n_inner") is None or is_count(config["n_inner"])):
        expected["n_inner"] = "null, or a whole number from 1 on"
    if not is_positive(config.get("layer_norm_epsilon")):
        expected["layer_norm_epsilon"] = "a number above 0"
    if config.get("activation_function") not in list(_ACTIVATIONS):  # a list asks for equality, not for a hash
        expected["activation_function"] = f"one of {', '.join(_ACTIVATIONS)}"
    expected |= {key: repr(read) for key, read in _UNREAD.items() if config.get(key, read) != read}
    if not expected and config["n_embd"] % config["n_head"]:
        expected["n_head"] = f"a divisor of n_embd, {config['n_embd']}"
    if expected:
        found = {key: repr(config[key])[:60] if key in config else "nothing" for key in expected}
        raise InputError([Fault(str(path), key, found[key], wanted) for key, wanted in expected.items()])
    return config


def _shapes(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every tensor that the file must have, with its shape."""
    d = config["n_embd"]
    inner = config.get("n_inner") or 4 * d
    if config.get("tie_word_embeddings") is False:
        yield "lm_head.weight", (config["vocab_size"], d)
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


def _tensors(path: Path, config: Mapping[str, Any]) -> dict[str, Array]:
    """The tensors by name, without the library's prefix and without masks, as float32."""
    wanted = "a safetensors file"
    require_file(path, wanted)
    try:
        with safe_open(str(path), framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys() if not name.endswith(_MASKS)}  # noqa: SIM118 - not a dict
            _check_tensors(path, config, slices)
            tensors = {name.removeprefix("transformer."): file.get_tensor(name).astype(np.float32) for name in slices}
    except (OSError, SafetensorError) as error:
        raise InputError([Fault(str(path), "(file)", str(error), wanted)]) from None
    unreal = [name for name, tensor in tensors.items() if not np.isfinite(tensor).all()]
    if unreal:
        raise InputError([Fault(str(path), name, "a number that is not finite", "numbers") for name in unreal])
    return tensors


def _check_tensors(path: Path, config: Mapping[str, Any], slices: Mapping[str, Any]) -> None:
    """InputError that names every tensor which is missing, unknown, misshapen, or not of floats."""
    if config["n_layer"] > len(slices):
        raise InputError([Fault(str(path), "(file)", f"{len(slices)} tensors", f"those of {config['n_layer']} blocks")])
    expected = dict(_shapes(config))
    allowed = {**expected, "lm_head.weight": expected["wte.weight"]}
    found: dict[str, str] = dict.fromkeys(expected, "nothing")
    wanted = {name: f"{shape} of {', '.join(_FLOATS)}" for name, shape in allowed.items()}
    faults = []
    for theirs, tensor in slices.items():
        name = theirs.removeprefix("transformer.")
        shape, kind = tuple(tensor.get_shape()), tensor.get_dtype()
        if found.get(name, "nothing") != "nothing":
            faults.append(Fault(str(path), name, "it twice", "it once"))
        found[name] = "right" if shape == allowed.get(name) and kind in _FLOATS else f"{shape} of {kind}"
    faults += [
        Fault(str(path), name, what, wanted.get(name, "no such tensor"))
        for name, what in sorted(found.items())
        if what != "right"
    ]
    if faults:
        raise InputError(faults)
