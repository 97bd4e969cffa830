"""A real model runs as the toy's steps do. The tests of the packaged model need it: `build.py lab --install`."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sevensteps.engine.steps import Trace
from sevensteps.lab import command, readings
from sevensteps.lab.llama import load_llama
from sevensteps.lab.model import Model
from sevensteps.lab.package import packaged_model

ROOT = Path(__file__).parent.parent
PROMPT = "The capital of France is"


@pytest.fixture(scope="module")
def model() -> Model:
    path = packaged_model()
    if path is None:
        pytest.skip("the packaged model is not installed (python build.py lab --install)")
    return load_llama(path)


@pytest.fixture(scope="module")
def trace(model: Model) -> Trace:
    return model.trace(model.encode(PROMPT))


def test_without_the_model_one_line_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "packaged_model", lambda: None)
    assert command.main([PROMPT]) == 3
    assert capsys.readouterr().err == "There is no model here. Get it with: python build.py lab --install\n"


def test_a_file_that_is_no_model_is_told_and_the_exit_code_is_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"a text")
    assert command.main([PROMPT, "--model", str(path)]) == 2
    assert "model.gguf: magic" in capsys.readouterr().err


def test_the_start_token_stands_in_front_of_a_prompt(model: Model, trace: Trace) -> None:
    assert trace.tokens == ("<|endoftext|>", "The", "␣capital", "␣of", "␣France", "␣is")
    assert model.vocabulary[readings.top(trace, 1)[0].id] == "␣Paris"


def test_the_last_row_of_the_lens_is_the_models_own_answer(model: Model, trace: Trace) -> None:
    *_, last = readings.lens(model, trace)
    assert [cell.guess for cell in last] == [readings.top(trace, 1, i)[0] for i in range(len(trace.tokens))]


def test_the_heads_add_up_to_attentions_output_and_a_head_off_takes_its_own_part_away(
    model: Model, trace: Trace
) -> None:
    block = "blocks.23."
    parts = [trace.values[f"{block}attn.result.{h}"] for h in range(model.heads)]
    out = trace.values[block + "attn_out"]
    scale = abs(out).max()
    np.testing.assert_allclose(sum(parts), out, rtol=0, atol=1e-5 * scale)
    changed = readings.off(trace, [readings.part_name(model, 23, 4)]).values[block + "attn_out"]
    np.testing.assert_allclose(out - changed, parts[4], rtol=0, atol=1e-5 * scale)


def test_with_attention_off_texts_with_the_same_end_have_the_same_last_row(model: Model, trace: Trace) -> None:
    other = model.trace(model.encode("My house is"))
    a, b = (readings.off(run, readings.every_block(model)).values["logits"][-1] for run in (trace, other))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-2)  # the stream reaches thousands, in float32


def test_the_command_prints_the_next_tokens_and_writes_them(model: Model, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    line = [sys.executable, str(ROOT / "build.py"), "lab", PROMPT, "--off", "23.4", "--json", str(told)]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=True)
    best = json.loads(told.read_text("utf-8"))["top"][0]["token"]
    assert best in done.stdout
