"""The print rule a second time, in whole numbers only, so that a fault in one formatter does not pass the other.

And back: what a printed text says.
"""

import math
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

MINUS = "\u2212"
#: Wide enough for any float64 written out in full.
WIDE = Context(prec=800, Emax=10**6, Emin=-(10**6), traps=[])
TINY = {"<0.001": 1, f">{MINUS}0.001": -1}
NOT_FINITE = ("∞", f"{MINUS}∞", "undefined")


def printed(value: float, places: int | None = None) -> str:
    """A number as a page must print it; `places` is what a worked line asks for in place of three."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    sign = MINUS if value < 0 else ""
    over, under = abs(value).as_integer_ratio()
    hundredths = _nearest(over * 100, under)
    if hundredths / 100 == abs(value):
        whole, rest = divmod(hundredths, 100)
        return sign * (hundredths > 0) + (f"{whole}.{rest:02}".rstrip("0") if rest else str(whole))
    if places is None and not _nearest(over * 1000, under):
        return "<0.001" if value > 0 else f">{MINUS}0.001"
    count = 3 if places is None else places
    if not _nearest(over * 10**count, under):
        # As many places as show the first digit that is not 0.
        count = next(n for n in range(count, 400) if over * 10**n >= under)
    whole, rest = divmod(_nearest(over * 10**count, under), 10**count)
    return f"{sign}{whole}.{rest:0{count}}"


def _nearest(over: int, under: int) -> int:
    """over / under as the nearest whole number, halves up."""
    return (2 * over + under) // (2 * under)


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


def agrees(calculated: Decimal, text: str) -> bool:
    """Whether a calculator that gives `calculated` shows the printed text: at three places or as many as it prints.

    <0.001 is shown by anything closer to 0 than that, on the same side of 0 or 0 itself.
    """
    if text in TINY:
        return abs(calculated) < Decimal("0.001") and calculated * TINY[text] >= 0
    result = said(text)
    if not (calculated.is_finite() and result.is_finite()):
        return calculated.is_infinite() and calculated == result
    return rounded(calculated, max(3, -int(result.as_tuple().exponent))) == result
