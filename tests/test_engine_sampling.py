"""Temperature, top-k, top-p, the draw with a given number, and generation."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import load, shipped, shipped_data, shipped_traces

from sevensteps.engine.sampling import draw, generate, next_probs

LOGITS = np.log([0.4, 0.3, 0.2, 0.1])
JUST_BELOW_1 = math.nextafter(1, 0)
ANY_LOGITS = st.lists(st.integers(-500, 500), min_size=1, max_size=8).map(lambda tenths: np.array(tenths) / 10)
#: Probabilities that float64 adds up without rounding.
EXACT_P = (
    st.lists(st.integers(0, 16), min_size=1, max_size=6)
    .filter(any)
    .map(lambda parts: np.array([*parts, 128 - sum(parts)]) / 128)
)


def test_temperature_1_is_the_softmax_of_the_model() -> None:
    main = shipped_traces()["main"]
    assert next_probs(main["logits.4"]) == pytest.approx(main["probs.4"], abs=1e-15)


def test_temperature_2_takes_the_root_of_the_odds_and_one_half_squares_them() -> None:
    flat, sharp = next_probs(LOGITS, temperature=2), next_probs(LOGITS, temperature=0.5)
    assert flat[0] / flat[3] == pytest.approx(2)
    assert sharp[0] / sharp[3] == pytest.approx(16)


@pytest.mark.parametrize("u", [0.0, 0.5, JUST_BELOW_1])
def test_temperature_0_is_greedy_whatever_u(u: float) -> None:
    with np.errstate(all="raise"):
        p = next_probs(np.array([1.0, 3.0, 3.0, 2.0]), temperature=0)
    assert p.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert draw(p, u) == 1


@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1e-9])
def test_a_tiny_temperature_tends_to_greedy_without_nan(temperature: float) -> None:
    assert next_probs(np.array([1.0, 2.0, -1.0]), temperature).tolist() == [0.0, 1.0, 0.0]


def test_a_huge_temperature_tends_to_equal_shares() -> None:
    assert next_probs(LOGITS, temperature=sys.float_info.max).tolist() == [0.25] * 4


def test_top_k_keeps_the_k_most_likely_and_renormalises() -> None:
    assert next_probs(LOGITS, top_k=2) == pytest.approx([4 / 7, 3 / 7, 0, 0])
    assert next_probs(LOGITS, top_k=1).tolist() == [1, 0, 0, 0]
    assert next_probs(LOGITS, top_k=99) == pytest.approx(next_probs(LOGITS))


def test_equal_logits_are_kept_in_the_order_of_their_ids() -> None:
    assert next_probs(np.zeros(4), top_k=2).tolist() == [0.5, 0.5, 0, 0]


def test_top_p_keeps_the_token_that_crosses_p_and_renormalises() -> None:
    assert next_probs(LOGITS, top_p=0.5) == pytest.approx([4 / 7, 3 / 7, 0, 0])
    assert next_probs(LOGITS, top_p=0.85) == pytest.approx([4 / 9, 3 / 9, 2 / 9, 0])
    assert next_probs(LOGITS, top_p=1) == pytest.approx([0.4, 0.3, 0.2, 0.1])


def test_a_top_p_below_the_first_probability_keeps_one_token() -> None:
    assert next_probs(LOGITS, top_p=0.001).tolist() == [1, 0, 0, 0]


def test_top_p_stops_at_the_token_that_reaches_p_exactly() -> None:
    assert next_probs(np.zeros(4), top_p=0.5).tolist() == [0.5, 0.5, 0, 0]


def test_top_k_comes_before_top_p() -> None:
    # Of the two that top-k keeps, the first has 4/7 > 0.5 after renormalising.
    assert next_probs(LOGITS, top_k=2, top_p=0.5).tolist() == [1, 0, 0, 0]


def test_temperature_comes_before_top_p() -> None:
    assert np.count_nonzero(next_probs(LOGITS, temperature=0.5, top_p=0.5)) == 1
    assert np.count_nonzero(next_probs(LOGITS, temperature=1, top_p=0.5)) == 2


@settings(max_examples=150, deadline=None)
@given(
    ANY_LOGITS,
    st.sampled_from([0, 0.1, 0.5, 1, 2, 10]),
    st.none() | st.integers(1, 9),
    st.none() | st.floats(0, 1, exclude_min=True),
)
def test_what_is_left_adds_up_to_1_and_is_the_most_likely(logits, temperature, top_k, top_p) -> None:
    p = next_probs(logits, temperature, top_k, top_p)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p >= 0).all()
    assert p.argmax() == logits.argmax()
    kept = np.flatnonzero(p)
    assert top_k is None or len(kept) <= top_k
    assert logits[kept].min() >= np.delete(logits, kept).max(initial=-np.inf)


@pytest.mark.parametrize(
    "settings_", [{"temperature": -1}, {"temperature": math.nan}, {"top_k": 0}, {"top_p": 0}, {"top_p": 1.1},
                  {"top_p": math.nan}]
)  # fmt: skip
def test_senseless_settings_are_refused(settings_: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        next_probs(LOGITS, **settings_)


@pytest.mark.parametrize("u", [-0.1, 1.0, 1.5, math.nan])
def test_a_number_outside_0_to_1_is_refused(u: float) -> None:
    with pytest.raises(ValueError, match="from 0 up to, not including, 1"):
        draw(np.array([0.5, 0.5]), u)


def test_the_draw_goes_through_the_running_sum_from_the_most_likely_token_down() -> None:
    p = np.array([0.125, 0.5, 0.0, 0.375])  # running sums 0.5, 0.875, 1
    drawn = {u: draw(p, u) for u in (0.0, 0.4999, 0.5, 0.8749, 0.875, JUST_BELOW_1)}
    assert drawn == {0.0: 1, 0.4999: 1, 0.5: 3, 0.8749: 3, 0.875: 0, JUST_BELOW_1: 0}


@settings(max_examples=60, deadline=None)
@given(EXACT_P)
def test_each_token_gets_a_share_of_u_equal_to_its_probability(p: np.ndarray) -> None:
    # With p in 128ths, the draw is constant on each [n/128, (n+1)/128): count both ends of each stretch.
    for u in (lambda n: n / 128, lambda n: math.nextafter((n + 1) / 128, 0)):
        drawn = [draw(p, u(n)) for n in range(128)]
        assert [Fraction(drawn.count(token), 128) for token in range(len(p))] == list(map(Fraction, p))


@settings(max_examples=100, deadline=None)
@given(ANY_LOGITS, st.integers(1, 4), st.sampled_from([0.0, 0.25, 0.5, 0.999, JUST_BELOW_1]))
def test_a_filtered_token_is_never_drawn(logits: np.ndarray, top_k: int, u: float) -> None:
    p = next_probs(logits, top_k=top_k)
    assert p[draw(p, u)] > 0


def test_a_sum_just_below_1_by_rounding_still_draws_a_possible_token() -> None:
    p = np.array([0.1] * 10 + [0.0])
    assert np.cumsum(p)[-1] == JUST_BELOW_1
    assert draw(p, JUST_BELOW_1) == 9


def test_generation_appends_and_stops_at_the_end_token() -> None:
    asked: list[list[int]] = []

    def logits_after(ids: list[int]) -> np.ndarray:
        asked.append(list(ids))
        return np.eye(5)[len(ids)]

    start = [0, 0]
    assert list(generate(logits_after, start, lambda z: int(z.argmax()), limit=10, end=4)) == [2, 3, 4]
    assert asked == [[0, 0], [0, 0, 2], [0, 0, 2, 3]]
    assert start == [0, 0]


def test_generation_stops_when_the_positions_are_full() -> None:
    new = list(generate(lambda ids: np.zeros(3), [0], lambda z: 2, limit=4, end=None))
    assert new == [2, 2, 2]
    assert list(generate(lambda ids: np.zeros(3), [0, 1], lambda z: 2, limit=2, end=None)) == []


def test_the_toy_goes_on_to_the_full_stop_and_the_end() -> None:
    generated = shipped_traces()["generated"]
    assert generated.tokens[5:] == ("␣roof", ".")
    assert generated.vocabulary[int(generated["targets.6"])] == "<|endoftext|>"


def test_appending_a_token_leaves_the_old_rows_as_they_were() -> None:
    toy, traces = shipped(), shipped_traces()
    for name, value in traces["main"].values.items():
        axes = traces["main"].steps[name].axes
        if axes[:1] == ("position",):
            longer = traces["generated"].values[name][:5]
            longer = longer[:, :5] if axes[1:] == ("seen",) else longer
            np.testing.assert_allclose(longer, value, rtol=0, atol=1e-14, err_msg=name)
    assert toy.logits_after([0, 2, 4, 5, 1]).tolist() == traces["main"]["logits.4"].tolist()


def test_a_text_that_fills_every_position_generates_nothing_more(tmp_path) -> None:
    data = shipped_data()
    data["weights"]["W_pos"] = data["weights"]["W_pos"][:5]
    traces = load(data, tmp_path).traces()
    assert traces["generated"].tokens == traces["main"].tokens
    assert traces["generated"]["targets"].tolist() == traces["main"]["targets"].tolist()
