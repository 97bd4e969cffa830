"""Single operations where floating point is hard, against 50 digits, and the closed set itself."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from sevensteps.engine import ops
from sevensteps.engine.ops import OPS

NUMBERS = st.floats(-1000, 1000)


def layer_norm(row: list[float], eps: float) -> np.ndarray:
    """One row through the four steps of LayerNorm."""
    x = np.array([row])
    centred = ops.subtract(x, ops.row_mean(x))
    scale = ops.root_with_epsilon(ops.row_mean_square(centred), np.array(eps))
    return ops.divide(centred, scale)[0]


def exact_layer_norm(row: list[float], eps: float) -> list[mpf]:
    mean = sum(map(mpf, row)) / len(row)
    scale = mp.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + mpf(eps))
    return [(x - mean) / scale for x in row]


def assert_within(found: np.ndarray, expected: list[mpf], tolerance: str = "1e-12") -> None:
    for got, want in zip(found.tolist(), expected, strict=True):
        assert abs(mpf(got) - want) <= mpf(tolerance) * max(1, abs(want))


TINY = [[1e-9, -2e-9, 3e-9, 0.5e-9], [1e-150, 2e-150, 3e-150], [0.0, 0.0, 0.0], [7.0, 7.0, 7.0, 7.0 + 2**-40]]
LARGE_MEAN = [
    [2000.5, 1999.25, 2001.75, 1998.5],
    [2000 + 2**-12, 2000 - 2**-12, 2000 + 2**-11, 2000 - 2**-11],
    [-1999.9, -2000.3, -2000.1, -1999.2, -2001.5],
]


@pytest.mark.parametrize("row", TINY + LARGE_MEAN)
@pytest.mark.parametrize("eps", [1e-5, 1e-3])
def test_layer_norm_keeps_its_digits_on_a_tiny_variance_and_on_a_large_mean(row: list[float], eps: float) -> None:
    assert_within(layer_norm(row, eps), exact_layer_norm(row, eps))


@pytest.mark.parametrize("row", LARGE_MEAN)
def test_layer_norm_on_a_large_mean_without_epsilon(row: list[float]) -> None:
    assert_within(layer_norm(row, 0.0), exact_layer_norm(row, 0.0))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-400, 400).map(lambda n: 2000 + n / 100), min_size=2, max_size=8), st.floats(0.01, 1))
def test_layer_norm_on_any_row_with_mean_around_2000(row: list[float], eps: float) -> None:
    # The mean itself is rounded to 1e-13 here, and is divided by a deviation which may be as small as 0.1.
    assert_within(layer_norm(row, eps), exact_layer_norm(row, eps), "5e-12")


@pytest.mark.parametrize("row", [[1000.0, -1000.0, 0.0], [-1000.0, -1000.5], [1000.0, 999.0, 1000.0], [-1000.0] * 3])
def test_softmax_of_logits_of_a_thousand(row: list[float]) -> None:
    total = sum(mp.exp(z) for z in row)
    found = ops.softmax(np.array([row]))[0]
    assert_within(found, [mp.exp(z) / total for z in row])
    assert np.isfinite(found).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_softmax_of_any_row_up_to_a_thousand(row: list[float]) -> None:
    total = sum(mp.exp(z) for z in row)
    assert_within(ops.softmax(np.array([row]))[0], [mp.exp(z) / total for z in row])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=n, max_size=n)))
def test_the_pattern_is_exactly_0_above_the_diagonal_and_each_row_adds_up_to_1(table: list[list[float]]) -> None:
    pattern = ops.softmax(ops.causal_mask(np.array(table)))
    above = np.triu(np.ones(pattern.shape, dtype=bool), k=1)
    assert (pattern[above] == 0.0).all()
    assert not np.isnan(pattern).any()
    assert pattern.sum(axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("x", [-40.0, -8.0, -3.0, -1.0, -0.5, 0.0, 1e-8, 0.5, 1.0, 3.0, 40.0])
def test_both_forms_of_gelu_on_their_whole_range(x: float) -> None:
    tanh = mpf(x) / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (mpf(x) + mpf("0.044715") * mpf(x) ** 3)))
    with np.errstate(over="ignore"):  # at −40: x over infinity, which is 0
        assert_within(ops.gelu_tanh(np.array([x])), [tanh])
    assert_within(ops.gelu_erf(np.array([x])), [mpf(x) * mp.ncdf(x)])


def test_gelu_erf_keeps_its_digits_far_below_zero() -> None:
    exact = -8 * mp.ncdf(-8)
    assert abs(mpf(float(ops.gelu_erf(np.array(-8.0)))) / exact - 1) < mpf("1e-12")


def test_every_op_is_a_documented_function_under_its_own_name() -> None:
    for name, op in OPS.items():
        assert op.__name__ == name
        assert inspect.getdoc(op)


def test_the_ops_are_all_public_functions_of_their_module() -> None:
    public = {name for name, value in vars(ops).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert public - {"most_likely_first"} == set(OPS)


def test_running_sums_and_filters_keep_each_token_at_its_place() -> None:
    p = np.array([0.125, 0.5, 0.125, 0.25])
    assert ops.cumulative(p).tolist() == [0.875, 0.5, 1.0, 0.75]
    assert ops.keep_top_k(p, np.array(3.0)).tolist() == [0.125, 0.5, 0.0, 0.25]
    assert ops.keep_top_p(p, np.array(0.75)).tolist() == [0.0, 0.5, 0.0, 0.25]
    assert ops.keep_top_p(p, np.array(0.7500001)).tolist() == [0.125, 0.5, 0.0, 0.25]
    assert ops.keep_top_p(p, np.array(0.0)).tolist() == [0.0, 0.5, 0.0, 0.0]


def test_a_draw_is_the_first_id_whose_running_sum_lies_above_the_number() -> None:
    p = np.array([0.125, 0.5, 0.125, 0.25])  # running sums 0.875, 0.5, 1, 0.75
    assert [float(ops.draw(p, np.array(u))) for u in (0.0, 0.49, 0.5, 0.74, 0.75, 0.875)] == [1, 1, 3, 3, 0, 2]
    assert ops.draw(p, np.array(0.5)).shape == ()


def test_a_temperature_divides_the_distance_to_the_largest_logit_and_0_leaves_only_the_first_largest() -> None:
    z = np.array([1.0, 3.0, 3.0, 2.0])
    assert ops.at_temperature(z, np.array(0.5)).tolist() == [-4.0, 0.0, 0.0, -2.0]
    assert ops.at_temperature(z, np.array(0.0)).tolist() == [-np.inf, 0.0, -np.inf, -np.inf]
