"""What the lab says of a model, held against an independent program, and what must hold in any model exactly.

All of it is tried on two small random models, GPT-2 and Llama, and on the packaged one where it is installed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_models import FIXTURE, GPT2, LLAMA

from sevensteps.engine import steps
from sevensteps.engine.forward import readout_steps
from sevensteps.engine.ops import OPS, Array
from sevensteps.engine.steps import Trace
from sevensteps.engine.toy import load_toy
from sevensteps.lab import readings
from sevensteps.lab.command import load
from sevensteps.lab.model import Model

#: Model -> how far its logits may be from those of float64. The small ones are some units of the last digit off.
MODELS = {"gpt2-small-random": 1e-5, "llama-small-random": 1e-4, "smollm2": 1e-3}
ROOT = Path(__file__).parent.parent
TEXT = "the cat climbed the"


@pytest.fixture(scope="module", params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(name: str, request: pytest.FixtureRequest) -> Model:
    paths = {"gpt2-small-random": GPT2, "llama-small-random": LLAMA}
    return load(paths[name] if name in paths else request.getfixturevalue("packaged"))


@pytest.fixture(scope="module")
def trace(model: Model) -> Trace:
    return model.trace(model.encode(TEXT))


@pytest.fixture(scope="module", params=range(5))
def prompt(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    return FIXTURE[name]["prompts"][request.param]


def test_the_fixture_is_of_this_file(name: str, model: Model) -> None:
    assert model.checksum == FIXTURE[name]["checksum"]


def test_a_prompt_is_cut_into_the_same_tokens(model: Model, prompt: dict[str, Any]) -> None:
    assert list(model.encode(prompt["text"])) == prompt["ids"]


def test_logits_and_losses_are_those_of_an_independent_program(name: str, model: Model, prompt: dict[str, Any]) -> None:
    trace = model.trace(prompt["ids"])
    logits = trace.values["logits"][-1]
    for sample in (prompt["top"], prompt["fixed"]):
        ours = {n: logits[int(n)] for n in sample}
        assert ours == pytest.approx(sample, rel=0, abs=MODELS[name])
    assert list(readings.losses(trace)) == pytest.approx(prompt["losses"], rel=0, abs=MODELS[name])
    assert [str(guess.id) for guess in readings.top(trace, 20)] == list(prompt["top"])


def test_the_last_row_of_the_lens_is_the_models_own_answer(model: Model, trace: Trace) -> None:
    last = readings.streams(model)[-1]
    read = model.read(trace.values[last], trace.values["targets"])
    np.testing.assert_array_equal(read.values["logits"], trace.values["logits"])
    np.testing.assert_array_equal(read.values["loss"], trace.values["loss"])
    *_, cells = readings.lens(model, trace)
    assert [cell.guess for cell in cells] == [readings.top(trace, 1, i)[0] for i in range(len(trace.tokens))]
    assert [cell.loss for cell in cells] == [*readings.losses(trace), None]


def test_the_lens_has_a_row_below_the_first_block_and_one_above_each(model: Model, trace: Trace) -> None:
    rows = list(readings.lens(model, trace))
    assert len(rows) == model.layers + 1
    assert all(len(row) == len(trace.tokens) for row in rows)


def test_what_the_heads_write_and_the_bias_add_up_to_attentions_output(model: Model, trace: Trace) -> None:
    for block in range(model.layers):
        prefix = f"blocks.{block}."
        parts = [trace.values[f"{prefix}attn.result.{h}"] for h in range(model.heads)]
        bias = model.weights.get(prefix + "b_O", 0)
        out = trace.values[prefix + "attn_out"]
        np.testing.assert_allclose(sum(parts) + bias, out, rtol=0, atol=1e-5 * abs(out).max())


def test_a_head_off_takes_exactly_what_it_writes_out_of_attentions_output(model: Model, trace: Trace) -> None:
    block, head = model.layers - 1, 1
    prefix = f"blocks.{block}."
    z, w_o = trace.values[f"{prefix}attn.z.{head}"], model.weights[prefix + "W_O"]
    wrote = z @ w_o[head * model.d_head : (head + 1) * model.d_head]  # (T, d)
    out = trace.values[prefix + "attn_out"]
    without = readings.off(trace, [readings.part_name(model, block, head)]).values[prefix + "attn_out"]
    assert abs(wrote).max() > 0.01 * abs(out).max()
    np.testing.assert_allclose(without - out, -wrote, rtol=0, atol=1e-5 * abs(out).max())


def test_a_block_off_leaves_only_the_mlp(model: Model, trace: Trace) -> None:
    without = readings.off(trace, [readings.part_name(model, 0)]).values
    np.testing.assert_array_equal(without["blocks.0.resid_mid"], without["blocks.0.resid_pre"])
    assert abs(without["logits"] - trace.values["logits"]).max() > 0.1


def test_the_mean_in_place_of_a_part_is_the_same_row_at_every_position(model: Model, trace: Trace) -> None:
    means = readings.mean_rows(model, ["a cat", "the roof"])
    ids = [model.encode(text) for text in ("a cat", "the roof")]
    name = readings.part_name(model, 1)
    rows = np.concatenate([model.trace(text).values[name][1:] for text in ids])
    np.testing.assert_allclose(means[name], rows.mean(axis=0), rtol=0, atol=1e-5 * abs(rows).max())
    changed = readings.off(trace, [name], means).values[name]
    np.testing.assert_array_equal(changed, np.tile(means[name], (len(trace.tokens), 1)))


def test_with_attention_off_texts_of_the_same_end_have_the_same_last_row(name: str, model: Model) -> None:
    # GPT-2 adds a row for the position: there the texts are of one length.
    texts = ("the cat roof", "at mat roof") if name == "gpt2-small-random" else ("the cat on the roof", "a roof")
    runs = [model.trace(model.encode(text)) for text in texts]
    assert runs[0].tokens[-1] == runs[1].tokens[-1]
    a, b = (readings.off(run, readings.every_block(model)) for run in runs)
    stream = abs(a.values[readings.streams(model)[-1]]).max()
    np.testing.assert_allclose(a.values["logits"][-1], b.values["logits"][-1], rtol=0, atol=1e-6 * max(stream, 10))
    assert abs(runs[0].values["logits"][-1] - runs[1].values["logits"][-1]).max() > 0.1


def test_the_toy_a_real_model_and_its_lens_are_read_by_the_same_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value of the read-out is the very array that the engine's own function gave back, in all three."""
    given_back: list[tuple[str, Array]] = []

    def watched(name: str) -> Callable[..., Array]:
        def op(*inputs: Array) -> Array:
            given_back.append((name, np.asarray(OPS[name](*inputs))))
            return given_back[-1][1]

        return op

    monkeypatch.setattr(steps, "_OPS", {name: watched(name) for name in OPS})
    toy, model = load_toy(ROOT / "content/toy.toml"), load(GPT2)
    real = model.trace(model.encode(TEXT))
    lens = model.read(real.values["blocks.0.resid_post"], real.values["targets"])
    toys = toy.traces()["main"]
    for read, weights in ((toys, toy.weights), (real, model.weights), (lens, model.weights)):
        for step in readout_steps("stream", weights):
            value = read.values[step.name]
            assert any(name == step.op and array is value for name, array in given_back), step.name
