"""One rule by which a number becomes text, against a second implementation with whole numbers."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sevensteps.printing import read, shown, with_places


def by_hand(value: float) -> str:
    """The print rule of the design, with exact fractions: short decimals short, else three places, ties away from 0."""
    hundredths = Fraction(value) * 100
    sign = "−" if value < 0 else ""
    if any(float(Fraction(n, 100)) == value for n in (math.floor(hundredths), math.ceil(hundredths))):
        nearest = min((math.floor(hundredths), math.ceil(hundredths)), key=lambda n: abs(n - hundredths))
        whole, part = divmod(abs(nearest), 100)
        return (sign if nearest else "") + (f"{whole}.{part:02d}".rstrip("0") if part else str(whole))
    thousandths = math.floor(abs(Fraction(value)) * 1000 + Fraction(1, 2))
    if thousandths == 0:
        return ">−0.001" if value < 0 else "<0.001"
    return f"{sign}{thousandths // 1000}.{thousandths % 1000:03d}"


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
@example(0.0625)
@example(-0.0625)
@example(0.0005)
@example(-0.0004)
@example(-0.0)
@example(2.675)
@example(0.1 + 0.2)
@example(99999.9995)
def test_a_number_prints_by_the_rule(value: float) -> None:
    assert shown(value) == by_hand(value)


@given(st.integers(-(10**9), 10**9))
def test_a_tie_in_the_fourth_place_rounds_away_from_zero(odd: int) -> None:
    value = (2 * odd + 1) / 16  # …0625 is exact in binary and its fourth place is a 5 where it ties
    assert shown(value) == by_hand(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-0.5, "−0.5"), (0.25, "0.25"), (2.49067, "2.491"), (0.0004, "<0.001"),
        (-0.0004, ">−0.001"), (0.97, "0.97"), (0.9700001, "0.970"), (float("inf"), "∞"), (float("-inf"), "−∞"),
        (float("nan"), "undefined"), (1e22, "10000000000000000000000"), (100.0, "100"),
    ],
)  # fmt: skip
def test_the_rule_by_example(value: float, text: str) -> None:
    assert shown(value) == text


@given(st.floats(allow_nan=False))
def test_no_number_prints_as_minus_zero_or_with_an_ascii_minus(value: float) -> None:
    assert shown(value) not in ("−0", "−0.000", "0.000")
    assert "-" not in shown(value)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9), st.integers(3, 12))
def test_a_worked_line_never_prints_a_number_that_is_not_zero_as_zero(value: float, places: int) -> None:
    text = with_places(value, places)
    assert (read(text) == 0) == (value == 0)
    assert abs(float(read(text)) - value) <= abs(value) / 2 + 1e-300 or abs(float(read(text)) - value) <= 10**-places
