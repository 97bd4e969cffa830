"""Bad input is told as a list of faults, all of a file at once."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing wrong in an input file: where, what was found there, what was expected."""

    file: str
    key: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key}: found {self.found}, expected {self.expected}"


class InputError(Exception):
    """One or more faults in the files that a person wrote."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        super().__init__("\n".join(map(str, faults)))
