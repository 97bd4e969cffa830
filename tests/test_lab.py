"""`build.py lab` from the front door: on a small random model of each type, and on the packaged one where it is."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_models import FIXTURE, GPT2, LLAMA

from sevensteps.engine.norms import norm_steps
from sevensteps.lab import command, package
from sevensteps.lab.command import load

ROOT = Path(__file__).parent.parent
PROMPT = "the cat climbed the"
SMALL = {"gpt2-small-random": GPT2, "llama-small-random": LLAMA}
Errors = pytest.CaptureFixture[str]


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command as a person types it."""
    line = [sys.executable, ROOT / "build.py", "lab", *words]
    return subprocess.run(line, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture
def told(tmp_path: Path) -> Path:
    return tmp_path / "told.json"


def answer(told: Path, *words: str | Path) -> dict[str, Any]:
    """What the command writes to a file."""
    assert command.main([*map(str, words), "--json", str(told)]) == 0
    return json.loads(told.read_text("utf-8"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", SMALL)
def test_the_command_prints_tokens_losses_and_the_ten_best_next_ones(name: str, told: Path) -> None:
    ended = run(PROMPT, "--model", SMALL[name], "--json", told)
    assert ended.returncode == 0, ended.stderr
    written = json.loads(told.read_text("utf-8"))
    (known,) = (prompt for prompt in FIXTURE[name]["prompts"] if prompt["text"] == PROMPT)
    assert written["checksum"] == FIXTURE[name]["checksum"]
    assert written["tokens"] == ["<|endoftext|>", "the", "␣cat", "␣climbed", "␣the"]
    assert written["losses"] == pytest.approx(known["losses"], abs=1e-4)
    assert [guess["logit"] for guess in written["top"]] == pytest.approx(list(known["top"].values())[:10], abs=1e-4)
    assert f"ln V = {math.log(287):.3f}" in ended.stdout
    for token in [*written["tokens"], *(guess["token"] for guess in written["top"])]:
        assert token in ended.stdout


def test_the_packaged_model_knows_the_capital_of_france(packaged: Path, told: Path) -> None:
    ended = run("The capital of France is", "--off", "23.4", "--json", told)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(told.read_text("utf-8"))["top"][0]["token"] in ended.stdout
    assert run("The capital of France is").stdout.split("next")[1].split()[2] == "␣Paris"
    assert package.checksum(packaged) == package.CHECKSUM == FIXTURE["smollm2"]["checksum"]


def test_the_lens_prints_a_row_a_layer_and_ends_in_the_answer(told: Path, capsys: Errors) -> None:
    written = answer(told, PROMPT, "--model", GPT2, "--lens")
    rows = written["lens"]
    assert [len(row) for row in rows] == [5] * 3
    assert rows[-1][-1]["token"] == written["top"][0]["token"]
    assert [cell["loss"] for cell in rows[-1]] == [*written["losses"], None]
    assert "Logit lens" in capsys.readouterr().out


def test_a_sweep_takes_each_block_and_head_out_and_shows_how_far_it_is(told: Path, capsys: Errors) -> None:
    written = answer(told, PROMPT, "--model", GPT2, "--sweep")
    assert "0/2 [" in capsys.readouterr().err
    found = written["sweep"]
    assert [len(heads) for heads in found["heads"]] == [2, 2]
    best = next(n for n, token in enumerate(load(GPT2).vocabulary) if token == found["token"])
    for part, p in (("0", found["blocks"][0]), ("1.1", found["heads"][1][1])):
        assert probability(GPT2, part, best) == pytest.approx(p, rel=1e-6)


def probability(path: Path, part: str, token: int) -> float:
    model = load(path)
    (name,) = command.parts_of(model, part)
    return float(model.trace(model.encode(PROMPT), {name: 0.0}).values["probs"][-1, token])


def test_a_part_off_is_told_with_what_stands_in_its_place(told: Path) -> None:
    whole = answer(told, PROMPT, "--model", GPT2)
    zero = answer(told, PROMPT, "--model", GPT2, "--off", "1.0")
    mean = answer(told, PROMPT, "--model", GPT2, "--off", "1.0", "--mean")
    every = answer(told, PROMPT, "--model", GPT2, "--off", "all")
    assert [(said["off"], said["in its place"]) for said in (zero, mean, every)] == [
        ("1.0", "0"), ("1.0", "mean"), ("all", "0"),
    ]  # fmt: skip
    assert len({said["top"][0]["logit"] for said in (whole, zero, mean, every)}) == 4


@pytest.mark.parametrize("part", ["", "2", "-1", "0.2", "0.-1", "0.0.0", "x", "1.x", "²", "all.0"])
def test_a_part_that_the_model_has_not_is_told(part: str, capsys: Errors) -> None:
    assert command.main([PROMPT, "--model", str(GPT2), f"--off={part}"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("words", [["--mean"], ["--off", "0", "--sweep"], ["--mean", "--lens"], ["--nothing"]])
def test_options_that_do_not_go_together_are_told(words: list[str], capsys: Errors) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([PROMPT, "--model", str(GPT2), *words])
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_a_file_in_a_folder_that_is_not_there_is_told_before_anything_is_computed(
    tmp_path: Path, capsys: Errors
) -> None:
    assert command.main([PROMPT, "--model", str(GPT2), "--json", str(tmp_path / "no/told.json")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"there is no folder {tmp_path / 'no'}\n" in told.err
    assert command.main([PROMPT, "--model", str(GPT2), "--json", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_prompt_may_be_empty_and_must_not_be_missing(told: Path, capsys: Errors) -> None:
    written = answer(told, "", "--model", GPT2, "--lens")
    assert written["tokens"] == ["<|endoftext|>"]
    assert written["losses"] == []
    assert command.main(["--model", str(GPT2)]) == 2
    assert "a prompt is missing" in capsys.readouterr().err


def test_a_prompt_longer_than_the_positions_is_told(capsys: Errors) -> None:
    assert command.main(["a" * 40, "--model", str(GPT2)]) == 2
    assert "41 tokens with the start token; 32 are the most" in capsys.readouterr().err


def test_a_path_that_is_no_model_is_told_and_the_exit_code_is_2(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"a text")
    for model, message in ((path, "model.gguf: magic"), (tmp_path / "none", "none: (file): found no such file")):
        ended = run(PROMPT, "--model", model)
        assert ended.returncode == 2
        assert message in ended.stderr
        assert ended.stderr.count("\n") == 1


def test_without_the_model_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: Errors) -> None:
    monkeypatch.setattr(package, "FOLDER", "a_package_that_is_not_there")
    assert command.main([PROMPT]) == 3
    assert capsys.readouterr().err == "There is no model here. Get it with: python build.py lab --install\n"


def test_a_model_that_cannot_be_fetched_is_told(monkeypatch: pytest.MonkeyPatch, capfd: Errors) -> None:
    monkeypatch.setattr(package, "PACKAGE", "./no-such-folder-here")
    assert command.main(["--install"]) == 3
    assert capfd.readouterr().err.endswith("The model could not be fetched.\n")


def test_a_fetched_model_with_another_checksum_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Errors
) -> None:
    (tmp_path / "llm_other").mkdir()
    (tmp_path / "llm_other" / package.FILE).write_bytes(LLAMA.read_bytes())
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(package, "FOLDER", "llm_other")
    monkeypatch.setattr(package.subprocess, "run", lambda command: subprocess.CompletedProcess(command, 0))
    assert command.main(["--install"]) == 2
    assert "sha256: found" in capsys.readouterr().err
    monkeypatch.setattr(package, "CHECKSUM", package.checksum(LLAMA))
    assert command.main(["--install"]) == 0


def test_the_rows_of_a_norm_are_called_what_they_are() -> None:
    titles = {kind: {step.name: step.title for step in norm_steps(kind, "n", "x", ["n.w"], "", "", 1)}
              for kind in ("layer_norm", "rms_norm")}  # fmt: skip
    assert titles["layer_norm"]["n.unit"] == "row with mean 0 and deviation 1"
    assert titles["rms_norm"]["n.unit"] == "row with mean square 1"
    model = load(LLAMA)
    unit = model.trace(model.encode(PROMPT)).values["blocks.1.ln1.unit"]
    np.testing.assert_allclose((unit**2).mean(axis=-1), 1, rtol=0.05)
    assert abs(unit.mean(axis=-1)).max() > 0.05
