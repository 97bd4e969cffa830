"""A reader's calculator: arithmetic on printed numbers with fifty digits, of which it shows fifteen."""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext

from sevensteps.web.check.arithmetic import Arithmetic, Figure
from sevensteps.web.check.printed import said

#: Nothing is trapped: what has no value becomes NaN or an infinity.
CONTEXT = Context(prec=50, Emax=10**6, Emin=-(10**6), traps=[])
SHOWN = Context(prec=15, Emax=10**6, Emin=-(10**6), traps=[])
PI = "3.14159265358979323846264338327950288419716939937511"


def calculate(arithmetic: Arithmetic) -> Decimal:
    """What a calculator gives when every number is entered as it is printed."""
    with localcontext(CONTEXT):
        return SHOWN.plus(_calculate(arithmetic))


def _calculate(arithmetic: Arithmetic) -> Decimal:
    if isinstance(arithmetic, Figure):
        return said(arithmetic.text)
    if isinstance(arithmetic, str):
        return Decimal(PI) if arithmetic == "π" else said(arithmetic)
    return _OPERATIONS[arithmetic.operator](*map(_calculate, arithmetic.operands))


def _sum(*terms: Decimal) -> Decimal:
    return sum(terms, Decimal(0))


def _product(*factors: Decimal) -> Decimal:
    product = Decimal(1)
    for factor in factors:
        product *= factor
    return product


def _largest(*operands: Decimal) -> Decimal:
    return Decimal("NaN") if any(operand.is_nan() for operand in operands) else max(operands)


def _tanh(x: Decimal) -> Decimal:
    # 1 − tanh x is about 2e^(−2x): beyond any printed digit from 60 on.
    return Decimal(1).copy_sign(x) if abs(x) > 60 else ((2 * x).exp() - 1) / ((2 * x).exp() + 1)


def _erf(x: Decimal) -> Decimal:
    """2/√π · Σ (−1)ⁿ x²ⁿ⁺¹ / (n! (2n+1)), Abramowitz and Stegun 7.1.5; 1 − erf 7 is below 1e-22."""
    if not abs(x) < 7:
        return x if x.is_nan() else Decimal(1).copy_sign(x)
    total, power, n = Decimal(0), x, 0
    while abs(power) > Decimal("1e-40"):
        total += power / (2 * n + 1)
        n += 1
        power *= -x * x / n
    return 2 * total / Decimal(PI).sqrt()


_OPERATIONS: dict[str, Callable[..., Decimal]] = {
    "+": _sum,
    "×": _product,
    "−": lambda a, b: a - b,
    "/": lambda a, b: a / b,
    "negate": lambda x: -x,
    "square": lambda x: x * x,
    "cube": lambda x: x * x * x,
    "root": lambda x: x.sqrt(),
    "exp": lambda x: x.exp(),
    "ln": lambda x: x.ln(),
    "max": _largest,
    "tanh": _tanh,
    "erf": _erf,
}
