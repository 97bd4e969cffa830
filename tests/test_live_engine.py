"""The engine in the browser: the same operations, the same values, the same printed digits as in Python."""

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from documents import ALL_VALUES, WITH_SCRIPTS, arrays, evaluated
from hypothesis import HealthCheck, given, reject, settings
from mpmath import mp, mpf
from pages import LAB, STEPS
from playwright.sync_api import Browser, Page
from toys import load, recorded_runs, shipped, shipped_runs, toys

from sevensteps.engine.faults import InputError
from sevensteps.engine.ops import OPS, gelu_erf, gelu_tanh
from sevensteps.engine.steps import Trace
from sevensteps.printing import shown, with_places
from sevensteps.refs import Runs
from sevensteps.web.marks import full
from sevensteps.web.worked import OPERAND_PLACES


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    """One empty page for all fresh documents; its scripts must not fail or speak."""
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    page.close()
    assert said == []


@pytest.fixture
def tokens_page(page: Page, site: Path) -> Page:
    """The first step's page."""
    page.goto((site / f"{STEPS[0]}.html").as_uri())
    return page


def assert_equal(found: np.ndarray, expected: np.ndarray, tolerance: float, where: str) -> None:
    """Relative to each expected value; 0 and the infinities exactly."""
    assert found.shape == expected.shape, where
    exact = (expected == 0) | ~np.isfinite(expected)
    assert (found[exact] == expected[exact]).all(), where
    difference = np.abs(found[~exact] - expected[~exact])
    assert (difference <= tolerance * np.abs(expected[~exact])).all(), (where, found, expected)


def test_every_operation_has_its_javascript_line_and_there_is_no_other(tokens_page: Page) -> None:
    assert set(tokens_page.evaluate("Object.keys(OPS)")) == set(OPS)


def test_every_value_of_every_run_on_every_page_is_that_of_numpy(page: Page, site: Path) -> None:
    own, recorded = shipped_runs().traces, recorded_runs().traces
    forward = {step.name for step in shipped().steps()}
    for slug in WITH_SCRIPTS:
        page.goto((site / f"{slug}.html").as_uri())
        found = arrays(page.evaluate(ALL_VALUES))
        assert set(own) <= set(found) <= set(own) | set(recorded)
        assert (set(found) > set(own)) == (slug in LAB)
        for run, values in found.items():
            trace = (own | recorded)[run]
            assert not trace.tokens or run in recorded or set(values) >= forward
            for name, array in values.items():
                assert_equal(array, trace.values[name], 1e-12, f"{slug}: {run}/{name}")


def in_one_step(trace: Trace, name: str) -> np.ndarray:
    """What numpy makes of a step from the trace's other values."""
    step, patch = trace.steps[name], trace.patch.get(name)
    if isinstance(patch, str):
        return trace[patch.removesuffix(".T")].T if patch.endswith(".T") else trace[patch]
    if patch is not None:
        return np.full(trace.values[name].shape, float(patch))
    with np.errstate(all="ignore"):
        return np.asarray(OPS[step.op](*(trace[ref] for ref in step.inputs)))


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=toys())
def test_every_step_of_random_toys_is_that_of_numpy(blank: Page, data: dict) -> None:
    """Each step is compared on the browser's own inputs, by numpy's list of steps, and relative to the value itself.

    So a value that is small because its terms cancel (6e-12 left of terms around 1, then divided by a tiny deviation)
    is held to all its digits: what e^x rounded otherwise five steps before is not counted a second time.
    """
    with TemporaryDirectory() as folder:
        try:
            toy = load(data, Path(folder))
        except InputError:
            reject()  # rows of equal numbers with epsilon 0 have no LayerNorm
    traces = toy.traces()
    found = arrays(evaluated(blank, toy, Runs(traces), ALL_VALUES))
    assert set(found) == set(traces)
    for run, trace in traces.items():
        values = found[run]
        assert set(values) == set(trace.values)
        own = replace(trace, values=values)
        for name, step in trace.steps.items():
            given_here = step.op == "given" and name not in trace.patch
            expected = trace.values[name] if given_here else in_one_step(own, name)
            assert_equal(values[name], expected, 1e-9, f"{run}/{name}")


AWKWARD = [-1e9, -1e5, -60.0, -38.5, -30.0, -20.0, -12.0, -8.0, -6.5, -5.0, -4.0, -3.4, -2.2, -2.0, -1.0, -0.5, -1e-9]
AWKWARD += [0.0, 1e-300, 1e-9, 0.5, 1.0, 2.0, 2.13, 3.0, 3.54, 8.0, 40.0, 1e9]


def gelu(name: str, x: float) -> mpf:
    """To 60 digits."""
    with mp.workdps(60):
        x = mpf(x)
        if name == "gelu_erf":
            return x / 2 * mp.erfc(-x / mp.sqrt(2))
        return x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)))


def assert_keeps_its_digits(name: str, x: float, found: float) -> None:
    # e^−u is as exact as u, which is rounded to u times 1e-16: some 1e-13 where u is in the hundreds.
    expected = gelu(name, x)
    assert abs(mpf(found) - expected) <= mpf("5e-13") * abs(expected) + mpf("1e-300"), (name, x, found)


@pytest.mark.parametrize(("name", "python"), [("gelu_erf", gelu_erf), ("gelu_tanh", gelu_tanh)])
def test_gelu_keeps_its_digits_far_below_zero_in_both_languages(
    tokens_page: Page, name: str, python: Callable[[np.ndarray], np.ndarray]
) -> None:
    browser = tokens_page.evaluate(f"xs => [...OPS.{name}(array([xs.length], xs)).data].map(String)", AWKWARD)
    with np.errstate(over="ignore"):
        numpy = python(np.array(AWKWARD))
    for x, here, there in zip(AWKWARD, numpy.tolist(), map(float, browser), strict=True):
        assert_keeps_its_digits(name, x, here)
        assert_keeps_its_digits(name, x, there)


def test_erfc_keeps_thirteen_digits(tokens_page: Page) -> None:
    xs = [*np.linspace(-10, 26, 1801), *np.linspace(1.2, 2.6, 701)]
    found = tokens_page.evaluate("xs => xs.map(erfc)", xs)
    worst = max(abs(mpf(y) / mp.erfc(mpf(x)) - 1) for x, y in zip(xs, found, strict=True))
    assert worst < mpf("1e-13")


def values_to_print() -> Iterator[float]:
    """100,000 numbers: of any size, ties of every length, whole numbers beyond 1e21, the smallest and what is none."""
    draw = random.Random(7)
    yield from (0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308)
    yield from (sign * 10.0**k for k in range(-320, 309) for sign in (1, -1))
    for _ in range(40_000):
        yield draw.choice((1, -1)) * draw.uniform(1, 10) * 10.0 ** draw.randint(-30, 24)
    for _ in range(30_000):  # ties: k/2^n, and decimals that end in 5
        yield draw.randint(-(2**20), 2**20) / 2.0 ** draw.randint(0, 16)
    for _ in range(20_000):
        yield float(f"{draw.randint(-99999, 99999)}5e-{draw.randint(1, 9)}")
    for _ in range(2_000):
        yield draw.choice((1, -1)) * float(draw.getrandbits(draw.randint(60, 1000)))
    while True:
        yield draw.randint(-10_000, 10_000) / draw.choice((1, 2, 4, 5, 8, 10, 20, 100, 1000, 2000))


def places_of_a_line(value: float, draw: random.Random) -> int:
    """One of the places with which a worked line may print: an operand's, a result's, twelve digits of a result."""
    twelve_digits = 11 - Decimal(value).adjusted() if math.isfinite(value) else 9
    return draw.choice((*OPERAND_PLACES, 9, min(twelve_digits, max(OPERAND_PLACES))))


def test_a_number_prints_the_same_in_both_languages(tokens_page: Page) -> None:
    draw = random.Random(8)
    some = values_to_print()
    values = [next(some) for _ in range(100_000)]
    places = [places_of_a_line(value, draw) for value in values]
    written = json.dumps([[full(value), count] for value, count in zip(values, places, strict=True)])
    code = "written => JSON.parse(written).map(([v, places]) => [shown(Number(v)), withPlaces(Number(v), places)])"
    found: list[Any] = tokens_page.evaluate(code, written)
    for value, count, texts in zip(values, places, found, strict=True):
        assert texts == [shown(value), with_places(value, count)], (value, count)
