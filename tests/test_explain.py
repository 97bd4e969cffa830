"""The arithmetic behind every number: it exists, it cites what is there, and it gives the number."""

from decimal import Decimal
from math import inf, isfinite, isnan
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from toys import load, shipped_traces, toys

from sevensteps.engine.faults import InputError
from sevensteps.engine.ops import OPS
from sevensteps.engine.steps import Step, Trace, run
from sevensteps.entries import ENTRIES
from sevensteps.explain import NOTHING_TO_CALCULATE, WORDS, Worked, explain_ref
from sevensteps.expression import Apply, evaluate, numbers
from sevensteps.printing import shown
from sevensteps.web.worked import closing_places


def test_every_op_is_explained_and_no_other() -> None:
    # A patch with another value is a copy of it, one with a number is a setting.
    assert set(WORDS) | set(NOTHING_TO_CALCULATE) == {*OPS, "given", "recorded", "taken", "set", "linear3"}
    # What has no entry is never calculated.
    assert set(ENTRIES) == set(WORDS) - {"linear3"} | {"softmax beyond"}


def exactly(worked: Worked) -> float:
    """The expression with every operand's full value."""
    assert worked.expression is not None
    return float(evaluate(worked.expression, lambda number: Decimal(number.value)))


def assert_explains(trace: Trace, ref: str) -> Worked:
    worked = explain_ref(trace, ref)
    result = float(trace[ref])
    assert worked.result.ref == ref
    assert worked.result.value == result
    assert worked.sentence.endswith(".")
    if worked.expression is not None:
        assert all(float(trace[number.ref]) == number.value for number in numbers(worked.expression))
        if isfinite(result):
            assert exactly(worked) == pytest.approx(result, rel=1e-11, abs=1e-12)
    else:
        name = trace.split(ref)[0]
        no_arithmetic = ("given", "causal_mask", "keep_top_k", "keep_top_p", "draw")
        assert name in trace.patch or trace.steps[name].op in no_arithmetic
    return worked


@pytest.mark.parametrize("name", list(shipped_traces()))
def test_every_number_of_every_run_is_explained_and_closes(name: str) -> None:
    trace = shipped_traces()[name]
    for ref in trace.refs():
        worked = assert_explains(trace, ref)
        # Copies and given numbers have nothing to calculate; everything else closes in six places at most.
        if isinstance(worked.expression, Apply):
            places = closing_places(worked)
            assert places is not None, ref
            assert places.operands <= 6, ref


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(toys())
def test_every_number_of_random_toys_is_explained_and_closes(data: dict) -> None:
    with TemporaryDirectory() as folder:
        try:
            traces = load(data, Path(folder)).traces()
        except InputError:
            reject()  # rows of equal numbers with epsilon 0 have no LayerNorm
    for trace in traces.values():
        for ref in trace.refs():
            worked = assert_explains(trace, ref)
            operands = [] if worked.expression is None else list(numbers(worked.expression))
            finite = isfinite(worked.result.value) and all(n.value < inf for n in operands)
            if isinstance(worked.expression, Apply) and finite:
                assert closing_places(worked) is not None, (ref, worked)


def of_logits(row: list[float]) -> Trace:
    """A trace of one softmax, with the steps that it cites."""
    import numpy as np

    steps = [
        Step("z", "given", symbol="z"),
        Step("e", "exp", ("z",), "e^z"),
        Step("sum", "row_sum", ("e",), "Z"),
        Step("p", "softmax", ("z",), "p", via=("e", "sum")),
    ]
    return run(steps, {"z": np.array([row])}, run="main")


@pytest.mark.parametrize("row", [[1000.0, 999.0, -1000.0], [-1000.0, -1001.0], [-740.0, -741.0, 0.5], [0.0, 1.0]])
def test_softmax_is_explained_where_e_to_the_logit_leaves_the_range_of_float64(row: list[float]) -> None:
    trace = of_logits(row)
    for k in range(len(row)):
        worked = assert_explains(trace, f"p.0.{k}")
        assert closing_places(worked) is not None


def test_a_patched_number_says_that_the_run_sets_it() -> None:
    worked = explain_ref(shipped_traces()["attention_off"], "attn_out.4.1")
    assert worked.expression is None
    assert "This run sets it" in worked.sentence


def test_a_patched_number_that_is_a_copy_leads_to_its_source() -> None:
    worked = explain_ref(shipped_traces()["tied"], "W_U.3.1")
    assert [number.ref for number in numbers(worked.expression)] == ["W_E.1.3"]


def test_a_number_that_is_not_there_is_refused() -> None:
    trace = shipped_traces()["main"]
    for ref in ("probs.4", "probs.5.0", "probs.4.12", "nothing.0", "probs.-1.0"):
        with pytest.raises(KeyError):
            explain_ref(trace, ref)


def test_not_a_number_is_never_printed_as_a_number() -> None:
    assert isnan(float("nan"))
    assert shown(float("nan")) == "undefined"


def test_a_logit_over_a_temperature_is_arithmetic_and_at_0_only_words() -> None:
    steps = [Step("z", "given", title="z"), Step("τ", "given", title="τ"), Step("c", "at_temperature", ("z", "τ"))]
    warm, greedy = (run(steps, {"z": np.array([1.0, 3.0, 2.0]), "τ": np.array(t)}) for t in (0.5, 0.0))
    assert exactly(explain_ref(warm, "c.2")) == -2
    assert explain_ref(greedy, "c.2").expression is None
    assert explain_ref(greedy, "c.2").sentence == "Greedy: only the largest z stays."
