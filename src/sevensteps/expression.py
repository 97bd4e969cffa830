"""Arithmetic as a small tree: numbers with their refs, constants of a formula, operators.

`explain` builds it, the pages print it, the hand check evaluates it from its printed digits.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, Overflow, localcontext

#: Enough digits for any float64 written out in full, and for the hand check's functions.
PRECISE = Context(prec=60, Emax=10**6, Emin=-(10**6), traps=[Overflow])
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


@dataclass(frozen=True)
class Number:
    """A value of the trace."""

    ref: str
    value: float


@dataclass(frozen=True)
class Constant:
    """A number that belongs to the formula: the 4 under a mean of four, the 0.5 of GELU, π."""

    text: str


@dataclass(frozen=True)
class Apply:
    """An operator on its operands. n-ary: + × ; binary: − / max ; unary: negate square cube root exp ln tanh erf."""

    operator: str
    operands: "tuple[Expression, ...]"


Expression = Number | Constant | Apply


def numbers(expression: Expression) -> Iterator[Number]:
    """Every value of the trace in the expression, from left to right."""
    if isinstance(expression, Number):
        yield expression
    elif isinstance(expression, Apply):
        for operand in expression.operands:
            yield from numbers(operand)


def evaluate(expression: Expression, read: Callable[[Number], Decimal]) -> Decimal:
    """What a calculator gives when each number is entered as `read` says. NaN where there is no such number.

    Raises decimal.Overflow beyond any calculator.
    """
    with localcontext(PRECISE):
        return _evaluate(expression, read)


def _evaluate(expression: Expression, read: Callable[[Number], Decimal]) -> Decimal:
    if isinstance(expression, Number):
        return read(expression)
    if isinstance(expression, Constant):
        return PI if expression.text == "π" else Decimal(expression.text)
    return _CALCULATE[expression.operator](*(_evaluate(operand, read) for operand in expression.operands))


def _product(*factors: Decimal) -> Decimal:
    result = Decimal(1)
    for factor in factors:
        result *= factor
    return result


def _divide(a: Decimal, b: Decimal) -> Decimal:
    return a / b if b else Decimal("NaN")


def _tanh(x: Decimal) -> Decimal:
    if abs(x) > 100:
        return Decimal(1).copy_sign(x)
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


_CALCULATE: dict[str, Callable[..., Decimal]] = {
    "+": lambda *terms: sum(terms, Decimal(0)),
    "×": _product,
    "−": lambda a, b: a - b,
    "/": _divide,
    "max": max,
    "negate": lambda x: -x,
    "square": lambda x: x * x,
    "cube": lambda x: x * x * x,
    "root": lambda x: x.sqrt() if x >= 0 else Decimal("NaN"),
    "exp": Decimal.exp,
    "ln": lambda x: x.ln() if x >= 0 else Decimal("NaN"),
    "tanh": _tanh,
    # Fifteen digits are enough: the hand check compares six.
    "erf": lambda x: Decimal(math.erf(float(x))),
}
