"""The print rule a second time, in whole numbers only, so that a fault in one formatter does not pass the other.

And back: what a printed text says.
"""

import math
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction

MINUS = "\u2212"
#: Wide enough for any float64 written out in full.
WIDE = Context(prec=800, Emax=10**6, Emin=-(10**6), traps=[])
TINY = {"<0.001": 1, f">{MINUS}0.001": -1}
NOT_FINITE = ("∞", f"{MINUS}∞", "undefined")


def printed(value: float, places: int | None = None) -> str:
    """A number as a page must print it; `places` is what a worked line asks for in place of three.

    Fewer than no places round to tens, hundreds and so on.
    """
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    exact = Fraction(abs(value))
    hundredths = _nearest(exact, 2)
    if hundredths / 100 == abs(value) and (places is None or places >= 0):
        return _written(value, hundredths, 2, short=True)
    if places is None and not _nearest(exact, 3):
        return "<0.001" if value > 0 else f">{MINUS}0.001"
    count = 3 if places is None else places
    if not _nearest(exact, count):
        # Three places stand for the first digit that is not 0, each further one for one digit more.
        count += next(n for n in range(400) if exact * Fraction(10) ** n >= 1) - 3
    return _written(value, _nearest(exact, count), count)


def _nearest(exact: Fraction, places: int) -> int:
    """The nearest whole number of units of the last place, halves up."""
    return math.floor(exact * Fraction(10) ** places + Fraction(1, 2))


def _written(value: float, units: int, places: int, short: bool = False) -> str:
    """So many units of the last place as digits; `short` drops what the last zeros say."""
    whole, rest = divmod(units * 10 ** max(-places, 0), 10 ** max(places, 0))
    digits = f"{whole}.{rest:0{places}}" if places > 0 and (rest or not short) else str(whole)
    sign = MINUS if value < 0 and units else ""
    return sign + (digits.rstrip("0") if short and rest else digits)


def said(text: str) -> Decimal:
    """The number that a printed text says; <0.001 says 0, as a reader adds it up. NaN where it says none."""
    if text in TINY:
        return Decimal(0)
    try:
        return WIDE.create_decimal(text.replace(MINUS, "-").replace("∞", "Infinity"))
    except InvalidOperation:
        return Decimal("NaN")


def rounded(value: Decimal, places: int) -> Decimal:
    """To so many places, halves away from zero."""
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, WIDE)


def agrees(calculated: Decimal, text: str, places: int | None) -> bool:
    """Whether a calculator that gives `calculated` shows the printed text, at three places or those that it names.

    <0.001 is shown by anything closer to 0 than that, on the same side of 0 or 0 itself.
    """
    if calculated.is_nan():
        return False
    if text in TINY:
        return abs(calculated) < Decimal("0.001") and calculated * TINY[text] >= 0
    result = said(text)
    if not (calculated.is_finite() and result.is_finite()):
        return calculated.is_infinite() and calculated == result
    return rounded(calculated, 3 if places is None else places) == result
