"""GPT-2's tokenizer from Hugging Face's files: tokenizer.json, or vocab.json and merges.txt.

A tokenizer.json can describe anything; it can cut a prompt short, or crash the library that runs it. So it is not run:
its vocabulary and merges are taken, and it is refused where it describes something else than GPT-2's byte-level BPE.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from sevensteps.engine.faults import Fault, InputError
from sevensteps.lab.bpe import byte_level_bpe
from sevensteps.lab.files import read_table, read_text


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder. Raises InputError that names the file and what is wrong in it."""
    path = folder / "tokenizer.json"
    if not path.exists() and not (folder / "vocab.json").exists():
        raise InputError([Fault(str(path), "(file)", "no such file", "it, or vocab.json and merges.txt")])
    if path.exists():
        data = read_table(path)
        faults = [Fault(str(path), key, repr(found)[:60], expected) for key, found, expected in _wrong(data)]
        if faults:
            raise InputError(faults)
        added = {token["content"]: token["id"] for token in data.get("added_tokens") or []}
        merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]
        return byte_level_bpe(str(path), data["model"]["vocab"] | added, merges, added)
    vocabulary = read_table(path := folder / "vocab.json")
    if not _is_vocabulary(vocabulary):
        raise InputError([Fault(str(path), "(file)", repr(vocabulary)[:60], "a table of ids")])
    lines = read_text(path := folder / "merges.txt").splitlines()
    merges = [line for line in lines if line and not line.startswith("#version")]
    return byte_level_bpe(str(path), vocabulary, merges, [])


def _wrong(data: dict[str, Any]) -> Iterator[tuple[str, object, str]]:
    """What is not as in GPT-2's tokenizer.json: key, what was found, what was expected."""
    model, before, added = data.get("model"), data.get("pre_tokenizer"), data.get("added_tokens") or []
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE":
        yield "model", model, "BPE"
        return
    if not _is_vocabulary(model.get("vocab")):
        yield "model.vocab", model.get("vocab"), "a table of ids"
    if not (isinstance(model.get("merges"), list) and all(map(_is_merge, model["merges"]))):
        yield "model.merges", model.get("merges"), "a list of pairs of tokens"
    for key in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges"):
        if model.get(key):
            yield f"model.{key}", model[key], "nothing"
    if data.get("normalizer") is not None:
        yield "normalizer", data["normalizer"], "null"
    if not (isinstance(before, dict) and before.items() >= {"type": "ByteLevel", "add_prefix_space": False}.items()):
        yield "pre_tokenizer", before, "ByteLevel as GPT-2's, without a blank in front"
    if not (isinstance(added, list) and all(map(_is_added, added))):
        yield "added_tokens", added, "a list of tokens with their ids"


def _is_vocabulary(value: object) -> bool:
    return isinstance(value, dict) and all(type(number) is int for number in value.values())


def _is_merge(value: object) -> bool:
    pair = value if isinstance(value, list) else [value]
    return len(pair) in (1, 2) and all(isinstance(part, str) for part in pair)


def _is_added(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("content"), str) and type(value.get("id")) is int
