"""The engine against an independent reference of 50 digits: every value of every run."""

import tempfile
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings
from mpmath import mp, mpf
from toys import load, shipped, shipped_data, shipped_traces, toys

from sevensteps.engine.forward import forward_steps
from sevensteps.engine.steps import Trace, run

# Float64 carries 16 digits; a pass of this depth on weights near 1 loses at most three or four of them.
TOLERANCE = mpf("1e-12")


def assert_same(trace: Trace, reference: dict[str, oracle.Nested]) -> None:
    assert set(trace.values) == set(reference)
    for name, value in trace.values.items():
        expected = np.array(reference[name], dtype=object)
        assert value.shape == expected.shape, name
        for index in np.ndindex(value.shape):
            assert_close(value[index], expected[index], (trace.run, name, index))


def assert_close(found: float, expected: mpf, where: object) -> None:
    if mp.isinf(expected):
        assert found == expected, where
    else:
        assert abs(mpf(float(found)) - expected) <= TOLERANCE * max(1, abs(expected)), (where, found, expected)


@pytest.mark.parametrize("name", ["main", *shipped_data()["runs"]])
def test_every_value_of_every_run_of_the_shipped_toy(name: str) -> None:
    assert_same(shipped_traces()[name], oracle.toy_run(shipped_data(), name))


def test_every_value_of_the_generated_run_and_each_of_its_choices() -> None:
    trace, data = shipped_traces()["generated"], shipped_data()
    ids, targets = trace["ids"].astype(int).tolist(), trace["targets"].astype(int).tolist()
    reference = oracle.toy_forward(data, ids, targets)
    assert_same(trace, reference)
    main = oracle.cut(data["text"], data["vocabulary"])
    assert ids[: len(main)] == main
    assert targets[: len(main) - 1] == main[1:]
    for position in range(len(main) - 1, len(ids)):
        assert reference["probs"][position][targets[position]] == max(reference["probs"][position])
    assert data["vocabulary"][targets[-1]] == "<|endoftext|>"


@settings(max_examples=60, deadline=None)
@given(toys())
def test_every_value_of_random_toys(data: dict) -> None:
    references = {name: oracle.toy_run(data, name) for name in ("main", "other") if well_conditioned(data, name)}
    assume(len(references) == 2)
    with tempfile.TemporaryDirectory() as folder:
        traces = load(data, Path(folder)).traces()
    for name, reference in references.items():
        assert_same(traces[name], reference)
    generated = traces["generated"]
    ids, targets = generated["ids"].astype(int).tolist(), generated["targets"].astype(int).tolist()
    reference = oracle.toy_forward(data, ids, targets)
    for position in range(len(references["main"]["ids"]), len(ids)):
        # Equal logits may be told apart by rounding: the choice is one of the best, not the best.
        assert max(reference["probs"][position]) - reference["probs"][position][targets[position]] < TOLERANCE


def well_conditioned(data: dict, name: str) -> bool:
    """LayerNorm divides the rounding of its input by `scale`: a tiny one loses the digits in any float64 program."""
    try:
        reference = oracle.toy_run(data, name)
    except ZeroDivisionError:
        return False
    return all(scale > 0.02 for norm in ("ln1", "ln2", "ln_final") for scale in reference[f"{norm}.scale"])


@pytest.mark.parametrize("activation", ["relu", "gelu_tanh", "gelu_erf"])
@pytest.mark.parametrize("optional_parts", [True, False])
def test_every_value_of_three_blocks(activation: str, optional_parts: bool) -> None:
    weights = random_weights(layers=3, heads=2, d=4, d_head=2, units=5, vocabulary=6, optional_parts=optional_parts)
    ids, targets = [3, 0, 5, 5], [0, 5, 5, 1]
    reference = oracle.forward(weights, ids, targets, 2, 1e-5, activation, {"blocks.1.attn_out": 0}, layers=3)
    arrays = per_head(weights)
    given_values = {name: np.array(value, dtype=float) for name, value in reference.items() if is_given(name)} | arrays
    steps = forward_steps(arrays, heads=2, layers=3, activation=activation)
    assert_same(run(steps, given_values, {"blocks.1.attn_out": 0}), reference)


def is_given(name: str) -> bool:
    return name in ("ids", "targets", "layer_norm_eps") or name.startswith(("size.", "head."))


def per_head(weights: dict[str, list]) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        if name.endswith(("_Q", "_K", "_V")):
            arrays |= {f"{name}.{h}": np.array(one) for h, one in enumerate(weight)}
        else:
            arrays[name] = np.array(weight)
    return arrays


def random_weights(layers, heads, d, d_head, units, vocabulary, optional_parts) -> dict[str, list]:
    draw = np.random.default_rng(7)
    block = {
        "W_Q": (heads, d, d_head), "W_K": (heads, d, d_head), "W_V": (heads, d, d_head), "W_O": (heads * d_head, d),
        "W_in": (d, units), "W_out": (units, d),
    }  # fmt: skip
    shapes = {"W_E": (vocabulary, d), "W_pos": (5, d)}
    if optional_parts:
        block |= {"b_Q": (heads, d_head), "b_K": (heads, d_head), "b_V": (heads, d_head), "b_O": (d,)}
        block |= {"b_in": (units,), "b_out": (d,), "ln1.w": (d,), "ln1.b": (d,), "ln2.w": (d,), "ln2.b": (d,)}
        shapes |= {"ln_final.w": (d,), "ln_final.b": (d,), "W_U": (d, vocabulary)}
    shapes |= {f"blocks.{n}.{name}": shape for n in range(layers) for name, shape in block.items()}
    return {name: draw.normal(size=shape).round(2).tolist() for name, shape in shapes.items()}


def test_the_reference_shares_no_code_with_the_engine() -> None:
    source = Path(oracle.__file__).read_text(encoding="utf-8")
    assert "sevensteps" not in source
    assert "numpy" not in source


def test_the_shipped_toy_takes_its_ids_from_the_reference_cut() -> None:
    data = shipped_data()
    for name, spec in shipped().runs.items():
        text = data["runs"].get(name, {}).get("text", data["text"])
        assert list(spec.ids) == oracle.cut(text, data["vocabulary"])
