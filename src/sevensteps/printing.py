"""The one rule by which a number becomes text."""

import math
from decimal import ROUND_HALF_UP, Decimal

from sevensteps.expression import PRECISE

MINUS = "−"


def shown(value: float) -> str:
    """A number as the pages print it.

    An exact decimal of at most two places is short (0, −0.5, 0.25); anything else has three places, ties away from
    zero on the exact binary value. What would print 0.000 prints <0.001 (or >−0.001). Never −0.
    """
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else ("∞" if value > 0 else MINUS + "∞")
    if is_short(value):
        return signed(f"{rounded(Decimal(value), 2):f}".rstrip("0").rstrip("."))  # a huge value may end in a tie
    three = rounded(Decimal(value), 3)
    if not three:
        return "<0.001" if value > 0 else f">{MINUS}0.001"
    return signed(f"{three:f}")


def is_short(value: float) -> bool:
    """Whether the value is exactly a decimal of at most two places, as written in a toy file."""
    return math.isfinite(value) and float(f"{value:.2f}") == value


def with_places(value: float, places: int) -> str:
    """A number with other places, for worked lines only: short values stay short, a tiny one keeps its first digits.

    Fewer than no places round a huge one to tens, hundreds and so on.
    """
    if not math.isfinite(value) or (is_short(value) and places >= 0):
        return shown(value)
    exact = Decimal(value)
    number = rounded(exact, places)
    if not number:
        number = rounded(exact, places - 3 - exact.adjusted())
    return signed(f"{number:f}")


def rounded(value: Decimal, places: int) -> Decimal:
    """Half away from zero, as a calculator rounds."""
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, PRECISE_WIDE)


def read(text: str) -> Decimal:
    """The number that a printed text says: the inverse of `shown` for anything that is not <0.001."""
    return Decimal(text.replace(MINUS, "-").replace("∞", "Infinity"))


def signed(text: str) -> str:
    """Digits with the pages' minus; never −0."""
    return text.replace("-", MINUS) if text.strip("-0.") else text.lstrip("-")


#: A float64 may have 309 digits before the point and, printed as tiny, 324 behind it.
PRECISE_WIDE = PRECISE.copy()
PRECISE_WIDE.prec = 700
