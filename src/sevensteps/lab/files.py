"""What both loaders ask of a file and of a tokenizer."""

import hashlib
from pathlib import Path

from tokenizers import Tokenizer

from sevensteps.engine.faults import Fault, InputError

#: What a GPT-2 and SmolLM2 put between texts. It stands in front of every prompt.
START = "<|endoftext|>"


def require_file(path: Path, expected: str) -> None:
    """InputError unless this is a file with content: to open a pipe, say, would wait for ever."""
    if not path.is_file():
        found = "something else" if path.exists() else "no such file"
        raise InputError([Fault(str(path), "(file)", found, expected)])


def checksum(path: Path) -> str:
    """The file's sha256, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def start_id(tokenizer: Tokenizer, size: int, place: Path) -> int:
    """The id of START. InputError unless the ids are 0 to size - 1, one token each, START among them."""
    ids = tokenizer.get_vocab()
    if START not in ids or sorted(ids.values()) != list(range(size)):
        found = f"{len(ids)} tokens" + ("" if START in ids else f", no {START}")
        expected = f"{size} tokens with the ids from 0 on, {START} among them"
        raise InputError([Fault(str(place), "tokenizer", found, expected)])
    return ids[START]


def is_count(value: object) -> bool:
    """Whether it is a whole number that can be a size. True is none, and what no file can hold is none."""
    return type(value) is int and 1 <= value < 2**31
