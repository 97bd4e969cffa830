"""What the check found: one line a fault, then the counts."""

from collections import Counter
from dataclasses import dataclass, field

#: Faults in what a reader may compute. A claim that no longer holds is no such fault: an edit of the toy may break it.
NUMERIC = frozenset({"number", "fact", "token", "bare number", "worked line", "note"})


@dataclass(frozen=True)
class Fault:
    """One fault: the kind, page, ref (or another name of what is wrong), both texts, and `file:line` of the source."""

    kind: str
    page: str
    ref: str
    shown: str
    expected: str
    source: str

    def __str__(self) -> str:
        what = f"{self.kind} {self.ref}" if self.ref else self.kind
        return f"{self.page}: {what}: shown {_line(self.shown)}, expected {_line(self.expected)} ({self.source})"


@dataclass
class Report:
    """All faults, and how much was looked at."""

    faults: list[Fault] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def numeric(self) -> list[Fault]:
        """The faults in what a reader may compute."""
        return [fault for fault in self.faults if fault.kind in NUMERIC]

    @property
    def broken_claims(self) -> list[Fault]:
        """The sentences that these weights no longer bear out."""
        return [fault for fault in self.faults if fault.kind == "claim"]

    def __str__(self) -> str:
        counted = ("pages", "numbers", "worked lines", "claims", "links")
        counts = ", ".join(f"{self.counts[what]} {what}" for what in counted)
        return "\n".join((*map(str, self.faults), f"{counts}, {len(self.faults)} faults{self._kinds()}"))

    def _kinds(self) -> str:
        if not self.faults:
            return ""
        numeric, claims = len(self.numeric), len(self.broken_claims)
        other = len(self.faults) - numeric - claims
        return f" ({numeric} numeric, {claims} claims that no longer hold, {other} other)"


def _line(text: str) -> str:
    """On one line, whatever a page may hold, and not too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= 160 else line[:159] + "…"
