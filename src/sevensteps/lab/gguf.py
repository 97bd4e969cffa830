"""Read a GGUF file (github.com/ggml-org/ggml, docs/gguf.md): its fields, and its tensors one by one as float32.

The `gguf` package reads the same files, but takes seconds for a vocabulary; the tests hold the two together.
"""

import math
import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sevensteps.engine.faults import Fault, InputError
from sevensteps.lab.files import is_count, require_file

Floats = NDArray[np.float32]
#: Field types that are one number or truth value, as struct writes them.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class Kind:
    """How a tensor's numbers are packed: `size` bytes hold `count` numbers."""

    name: str
    count: int
    size: int
    unpack: Callable[[NDArray[np.uint8]], Floats]


@dataclass(frozen=True)
class Tensor:
    """One tensor: where it stands in the file, and its shape, the slowest axis first."""

    path: Path
    name: str
    shape: tuple[int, ...]
    kind: Kind
    start: int

    @property
    def length(self) -> int:
        """How many bytes it takes in the file."""
        return math.prod(self.shape) // self.kind.count * self.kind.size

    def read(self) -> Floats:
        """The numbers in the tensor's shape. Raises InputError where one is not finite."""
        packed = np.fromfile(self.path, dtype=np.uint8, count=self.length, offset=self.start)
        with np.errstate(all="ignore"):
            numbers = self.kind.unpack(packed.reshape(-1, self.kind.size)).reshape(self.shape)
            total = numbers.sum()  # finite means that all are: one pass, and no second array
        if not np.isfinite(total) and not np.isfinite(numbers).all():
            raise InputError([Fault(str(self.path), self.name, "a number that is not finite", "numbers")])
        return numbers


@dataclass(frozen=True)
class GGUF:
    """A file's fields by key, and its tensors by name."""

    path: Path
    fields: dict[str, Any]
    tensors: dict[str, Tensor]


def read_gguf(path: Path) -> GGUF:
    """Read everything but the tensors' numbers. Raises InputError for a file that is truncated, wrong or hostile."""
    require_file(path, "a GGUF file")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(path, data)
    except _WrongError as wrong:
        raise InputError([Fault(str(path), *wrong.args)]) from None
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise InputError([Fault(str(path), "(file)", str(error), "a GGUF file")]) from None


class _WrongError(Exception):
    """The key, what was found there, what was expected."""


def _read(path: Path, data: mmap.mmap) -> GGUF:
    cursor = _Cursor(data)
    if (magic := cursor.take(4)) != b"GGUF":
        raise _WrongError("magic", repr(magic), "GGUF")
    if (version := cursor.number("I")) not in (2, 3):
        raise _WrongError("version", str(version), "2 or 3")
    tensor_count, field_count = cursor.number("Q"), cursor.number("Q")
    fields: dict[str, Any] = {}
    for _ in range(field_count):
        key = cursor.text()
        if key in fields:
            raise _WrongError(key, "it twice", "it once")
        fields[key] = cursor.value(cursor.number("I"))
    tensors = [_tensor(cursor, path) for _ in range(tensor_count)]
    alignment = fields.get("general.alignment", 32)
    if not is_count(alignment):
        raise _WrongError("general.alignment", repr(alignment), "a number of bytes")
    base = -(-cursor.place // alignment) * alignment
    placed: dict[str, Tensor] = {}
    for tensor in (replace(tensor, start=base + tensor.start) for tensor in tensors):
        if tensor.name in placed:
            raise _WrongError(tensor.name, "it twice", "it once")
        placed[tensor.name] = tensor
        if tensor.start + tensor.length > len(data):
            raise _WrongError(tensor.name, f"a file of {len(data)} bytes", f"at least {tensor.start + tensor.length}")
    return GGUF(path, fields, placed)


def _tensor(cursor: "_Cursor", path: Path) -> Tensor:
    """One line of the list of tensors; `start` still counts from where the tensors begin."""
    name = cursor.text()
    axes = cursor.number("I")
    if axes > 4:
        raise _WrongError(name, f"{axes} axes", "4 at most")
    shape = tuple(cursor.number("Q") for _ in range(axes))[::-1]  # the file has the fastest axis first
    number, start = cursor.number("I"), cursor.number("Q")
    kind = KINDS.get(number)
    if kind is None:
        raise _WrongError(name, f"the tensor type {number}", " or ".join(f"{n} ({k.name})" for n, k in KINDS.items()))
    if not shape or shape[-1] % kind.count:
        raise _WrongError(name, f"the shape {shape}", f"rows of a multiple of {kind.count}")
    return Tensor(path, name, shape, kind, start)


class _Cursor:
    """Reads on through the bytes; _WrongError where they end too soon."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.place = data, 0

    def take(self, length: int) -> bytes:
        if length > len(self.data) - self.place:
            raise _WrongError(f"byte {self.place}", "the end of the file", f"{length} more bytes")
        self.place += length
        return self.data[self.place - length : self.place]

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def text(self) -> str:
        place = self.place
        try:
            return self.take(self.number("Q")).decode()
        except UnicodeDecodeError:
            raise _WrongError(f"byte {place}", "a text that is not UTF-8", "UTF-8") from None

    def value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            raise _WrongError(f"byte {self.place}", f"the field type {kind}", "0 to 12")
        of, length = self.number("I"), self.number("Q")
        if of in _SCALARS:
            code = _SCALARS[of]
            size = struct.calcsize("<" + code)
            return list(struct.unpack(f"<{length}{code}", self.take(length * size)))
        if of != _STRING:
            raise _WrongError(f"byte {self.place}", f"a list of the type {of}", "numbers or texts")
        return [self.text() for _ in range(length)]


def _scales(blocks: NDArray[np.uint8], place: int) -> Floats:
    """The 16-bit number at a place of each block: (blocks, size) -> (blocks, 1)."""
    return blocks[:, place : place + 2].copy().view(np.float16).astype(np.float32)


def _q8_0(blocks: NDArray[np.uint8]) -> Floats:
    """32 numbers a block, d q: d in 16 bits, then each q in 8."""
    numbers = blocks[:, 2:].view(np.int8).astype(np.float32)
    numbers *= _scales(blocks, 0)
    return numbers


def _q4_1(blocks: NDArray[np.uint8]) -> Floats:
    """32 numbers a block, d q + m: d and m in 16 bits each, then the q in 4 bits: first the low halves of all bytes."""
    packed = blocks[:, 4:]
    numbers = np.empty((len(blocks), 32), dtype=np.float32)
    np.bitwise_and(packed, 15, out=numbers[:, :16], casting="unsafe")
    np.right_shift(packed, 4, out=numbers[:, 16:], casting="unsafe")
    numbers *= _scales(blocks, 0)
    numbers += _scales(blocks, 2)
    return numbers


KINDS = {
    0: Kind("F32", 1, 4, lambda bytes_: bytes_.view(np.float32)),
    1: Kind("F16", 1, 2, lambda bytes_: bytes_.view(np.float16).astype(np.float32)),
    3: Kind("Q4_1", 32, 20, _q4_1),
    8: Kind("Q8_0", 32, 34, _q8_0),
}
