"""A worked line: the arithmetic behind a number, printed so that it closes exactly from its printed digits."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, Overflow
from functools import cache
from math import inf, isfinite

from sevensteps.explain import Worked
from sevensteps.expression import Apply, Constant, Expression, Number, evaluate, numbers
from sevensteps.printing import is_short, read, rounded, shown, with_places

#: Three to six places are the rule. The rest is for toys with huge or tiny weights, so that they close too.
OPERAND_PLACES = (3, 4, 5, 6, 8, 10, 12, 15, 30)
#: A calculator's digits: a tie that only binary misses, in the 17th digit, is a tie.
CALCULATOR = Context(prec=15)


@dataclass(frozen=True)
class Places:
    """How many decimals a worked line prints; None for the result means the print rule."""

    operands: int
    result: int | None


def closing_places(worked: Worked) -> Places | None:
    """The fewest places with which a calculator, fed the printed operands, gives the printed result.

    None when there is nothing to calculate: no expression, or a result or operand beyond the finite numbers (e to −∞
    is fine: it is 0).
    The result follows the print rule if it can. Where the float lies a hair beside a tie (0.1125 held as 0.11249999…)
    it gets more places too; where three places are beyond what a float64 holds (e to 40), it keeps twelve digits.
    """
    expression, result = worked.expression, worked.result
    if expression is None or not isfinite(result.value) or not all(n.value < inf for n in numbers(expression)):
        return None
    calculated = cache(lambda places: _calculated(expression, places))
    twelve_digits = 11 - Decimal(result.value).adjusted()
    for result_places in (None, 4, 5, 6, 9, 12, twelve_digits):
        for places in OPERAND_PLACES:
            if (result_places or 0) <= places and _closes(calculated(places), result.value, result_places):
                return Places(places, result_places)
    return None


def _calculated(expression: Expression, places: int) -> Decimal:
    try:
        return CALCULATOR.plus(evaluate(expression, lambda number: read(with_places(number.value, places))))
    except Overflow:
        return Decimal("NaN")


def _closes(calculated: Decimal, result: float, places: int | None) -> bool:
    if calculated.is_nan():
        return False
    if places is None and not is_short(result) and abs(result) < 0.0005:
        # The printed result is <0.001. A calculator shows less than that, too, on the same side of 0; it may show
        # 0 itself, where terms cancel that do so only almost in binary.
        return abs(calculated) < Decimal("0.001") and calculated * Decimal(result) >= 0
    printed = read(shown(result) if places is None else with_places(result, places))
    return rounded(calculated, 3 if places is None else places) == printed


def formula(expression: Expression, number: Callable[[Number], str], constant: Callable[[str], str]) -> str:
    """The expression as HTML, from left to right, in brackets where a calculator needs them."""

    def bracketed(operand: Expression, loose: tuple[str, ...]) -> str:
        html = write(operand)
        negative = isinstance(operand, Number) and operand.value < 0
        return f"({html})" if negative or (isinstance(operand, Apply) and operand.operator in loose) else html

    def write(expression: Expression) -> str:
        if isinstance(expression, Number):
            return number(expression)
        if isinstance(expression, Constant):
            return constant(expression.text)
        sign, operands = expression.operator, expression.operands
        if sign in _BETWEEN:
            # A negative first term of a sum needs no bracket: −0.5 + 1.
            first = write(operands[0]) if sign in "+−" else bracketed(operands[0], _BETWEEN[sign])
            rest = [bracketed(operand, _BETWEEN[sign] + _NOT_SECOND.get(sign, ())) for operand in operands[1:]]
            # A line may break between terms, never inside a product.
            gap = "\N{NO-BREAK SPACE}" if sign == "×" else " "
            return f"{gap}{sign}{gap}".join((first, *rest))
        if sign in _POWERS:
            return f"{bracketed(operands[0], _ANY)}<sup>{constant(_POWERS[sign])}</sup>"
        if sign == "exp":
            return f"e<sup>{write(operands[0])}</sup>"
        if sign == "negate":
            return "−" + bracketed(operands[0], ("+", "−"))
        return f"{_NAMES[sign]}({', '.join(map(write, operands))})"

    return write(expression)


#: Infix operators, and what is put in brackets around them.
_BETWEEN = {"+": (), "−": (), "×": ("+", "−", "negate"), "/": ("+", "−", "negate")}
_NOT_SECOND = {"−": ("+", "−"), "/": ("×", "/")}
_ANY = ("+", "−", "×", "/", "negate", "exp")
_POWERS = {"square": "2", "cube": "3"}
_NAMES = {"root": "√", "ln": "ln", "tanh": "tanh", "erf": "erf", "max": "max"}
