"""Files of models, which may be anything: refused with a message that names the file."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from sevensteps.engine.faults import Fault, InputError


def require_file(path: Path, expected: str) -> None:
    """InputError unless this is a file: to open a pipe, say, would wait for ever."""
    if not path.is_file():
        found = "something else" if path.exists() else "no such file"
        raise InputError([Fault(str(path), "(file)", found, expected)])


def read_text(path: Path) -> str:
    """The text of a UTF-8 file. Raises InputError."""
    require_file(path, "a text")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError([Fault(str(path), "(file)", str(error), "a text in UTF-8")]) from None


def read_table(path: Path) -> dict[str, Any]:
    """The table that a JSON file holds. Raises InputError."""
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError([Fault(str(path), "(file)", str(error), "JSON")]) from None
    if not isinstance(data, dict):
        raise InputError([Fault(str(path), "(file)", type(data).__name__, "a table")])
    return data


def checksum(path: Path) -> str:
    """The file's sha256, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_count(value: object) -> bool:
    """Whether it is a whole number that can be a size. True is none, and what no file can hold is none."""
    return type(value) is int and 1 <= value < 2**31


def is_positive(value: object) -> bool:
    """Whether it is a fraction above 0, and no infinity."""
    return isinstance(value, float) and 0 < value < math.inf
