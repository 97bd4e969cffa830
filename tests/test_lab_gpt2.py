"""The loader of GPT-2: any folder is read, or refused with a message that names the file and what is wrong in it."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab_models import GPT2, NOTHING, changed_gpt2
from safetensors.numpy import load_file, save_file

from sevensteps.engine.faults import InputError
from sevensteps.lab import command
from sevensteps.lab.gpt2 import load_gpt2
from sevensteps.lab.model import LONGEST

WEIGHTS = load_file(GPT2 / "model.safetensors")
PROMPT = "the cat climbed the"
FILES = ("config.json", "model.safetensors", "tokenizer.json")


def message(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says of a folder that it refuses."""
    assert command.main([PROMPT, "--model", str(folder)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    return told.err


def logits(folder: Path) -> Any:
    model = load_gpt2(folder)
    return model.trace(model.encode(PROMPT)).values["logits"]


@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_a_missing_tensor_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = message(changed_gpt2(tmp_path / "small", tensors={name: NOTHING}), capsys)
    assert f"model.safetensors: {name.removeprefix('transformer.')}: found nothing, expected (" in told


@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_a_misshapen_tensor_is_named_with_both_shapes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = WEIGHTS[name].shape
    wrong = np.zeros((shape[0] + 1, *shape[1:]), dtype=np.float32)
    told = message(changed_gpt2(tmp_path / "small", tensors={name: wrong}), capsys)
    assert f"{name.removeprefix('transformer.')}: found {wrong.shape} of F32, expected {shape} of" in told


def test_all_faults_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = {
        "transformer.wte.weight": NOTHING,
        "transformer.h.2.ln_1.weight": np.ones(16, dtype=np.float32),
        "transformer.h.1.mlp.c_fc.weight": WEIGHTS["transformer.h.1.mlp.c_fc.weight"].T.copy(),
    }
    told = message(changed_gpt2(tmp_path / "small", tensors=changes), capsys)
    assert "wte.weight: found nothing" in told
    assert "h.2.ln_1.weight: found (16,) of F32, expected no such tensor" in told
    assert "h.1.mlp.c_fc.weight: found (40, 16) of F32, expected (16, 40)" in told


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.bool_])
def test_numbers_that_are_no_floats_are_refused(kind: type, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = {"transformer.ln_f.weight": np.ones(16, dtype=kind)}
    assert "ln_f.weight: found (16,) of " in message(changed_gpt2(tmp_path / "small", tensors=changes), capsys)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_refused(
    number: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = WEIGHTS["transformer.h.1.mlp.c_fc.weight"].copy()
    wrong[3, 4] = number
    told = message(changed_gpt2(tmp_path / "small", tensors={"transformer.h.1.mlp.c_fc.weight": wrong}), capsys)
    assert "model.safetensors: h.1.mlp.c_fc.weight: found a number that is not finite" in told


def test_a_tensor_that_is_there_with_and_without_the_prefix_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed_gpt2(tmp_path / "small", tensors={"ln_f.weight": np.zeros(16, dtype=np.float32)})
    assert "ln_f.weight: found it twice, expected it once" in message(folder, capsys)


def test_names_without_the_prefix_masks_and_a_stored_tied_matrix_change_nothing(tmp_path: Path) -> None:
    plain = {name.removeprefix("transformer."): weight for name, weight in WEIGHTS.items()}
    masks = {"h.0.attn.bias": np.ones((1, 1, 32, 32), dtype=np.uint8), "h.1.attn.masked_bias": np.float32([-1e4])}
    folder = changed_gpt2(tmp_path / "small")
    save_file(plain | masks | {"lm_head.weight": plain["wte.weight"].copy()}, folder / "model.safetensors")
    np.testing.assert_array_equal(logits(folder), logits(GPT2))


def test_an_untied_matrix_is_used(tmp_path: Path) -> None:
    untied = -WEIGHTS["transformer.wte.weight"]
    folder = changed_gpt2(tmp_path / "small", {"tie_word_embeddings": False}, {"lm_head.weight": untied})
    np.testing.assert_array_equal(logits(folder), -logits(GPT2))


def test_an_untied_matrix_that_is_missing_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = changed_gpt2(tmp_path / "small", {"tie_word_embeddings": False})
    assert "lm_head.weight: found nothing" in message(folder, capsys)


def test_half_precision_is_read(tmp_path: Path) -> None:
    folder = changed_gpt2(tmp_path / "small", tensors={n: w.astype(np.float16) for n, w in WEIGHTS.items()})
    rounded = changed_gpt2(
        tmp_path / "rounded", tensors={n: w.astype(np.float16).astype(np.float32) for n, w in WEIGHTS.items()}
    )
    np.testing.assert_array_equal(logits(folder), logits(rounded))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((key, value) for key in ("n_embd", "n_head", "n_layer", "n_positions", "vocab_size")
          for value in (NOTHING, None, 0, -1, 2.0, "2", True, [2], 10**30)),
        *(("n_inner", value) for value in (0, -40, "40", True, 40.0)),
        *(("layer_norm_epsilon", value) for value in (NOTHING, 0, -1e-5, float("nan"), float("inf"), "1e-5", True)),
        *(("activation_function", value) for value in (NOTHING, None, "tanh", 1, ["gelu_new"], {"gelu_new": 1})),
        ("n_head", 3), ("scale_attn_weights", False), ("scale_attn_by_inverse_layer_idx", True),
        ("add_cross_attention", True),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named(key: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = message(changed_gpt2(tmp_path / "small", {key: value}), capsys)
    assert f"config.json: {key}: found " in told


@pytest.mark.parametrize("layers", [3, 1, 2**31 - 1])
def test_settings_that_do_not_fit_the_tensors_are_told_at_once(
    layers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "model.safetensors: " in message(changed_gpt2(tmp_path / "small", {"n_layer": layers}), capsys)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"{" * 100_000, b'{"a": 1', b"null", b"\x00" * 100])
def test_a_file_that_is_something_else_is_named(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed_gpt2(tmp_path / "small")
    (folder / name).write_bytes(content)
    assert name in message(folder, capsys)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = changed_gpt2(tmp_path / "small")
    (folder / name).unlink()
    told = message(folder, capsys)
    assert "no such file" in told
    assert name in told


@pytest.mark.parametrize("name", FILES)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused_and_not_waited_for(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed_gpt2(tmp_path / "small")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert f"{name}: (file): found something else" in message(folder, capsys)
    (folder / name).unlink()
    (folder / name).mkdir()
    assert f"{name}: (file): found something else" in message(folder, capsys)


def test_an_empty_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "config.json: (file): found no such file" in message(tmp_path, capsys)


@pytest.mark.parametrize(
    ("what", "header"),
    [
        ("ends after the file", {"a": {"dtype": "F32", "shape": [1000], "data_offsets": [0, 4000]}}),
        ("shape and length differ", {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}),
        ("a shape beyond all memory", {"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}}),
        ("negative", {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}),
        ("backwards", {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}),
        ("no such type", {"a": {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]}}),
        ("no table", {"a": 3}),
    ],
)
def test_a_header_that_lies_is_told(
    what: str, header: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed_gpt2(tmp_path / "small")
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    assert "model.safetensors: (file): found " in message(folder, capsys)


def test_a_header_that_claims_to_be_longer_than_the_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed_gpt2(tmp_path / "small")
    for length in (2**20, 2**40, 2**64 - 1):
        (folder / "model.safetensors").write_bytes(length.to_bytes(8, "little") + b"{}")
        assert "model.safetensors: (file): found " in message(folder, capsys)


def test_a_truncated_file_is_told_wherever_it_ends(tmp_path: Path) -> None:
    folder = changed_gpt2(tmp_path / "small")
    whole = (folder / "model.safetensors").read_bytes()
    for length in (*range(0, len(whole), 997), len(whole) - 1):
        (folder / "model.safetensors").write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"model\.safetensors"):
            load_gpt2(folder)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files are overwritten."""
    return changed_gpt2(tmp_path_factory.mktemp("hostile") / "small")


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_hostile_file_gives_a_message_or_a_model_but_never_crashes(
    name: str, copy: Path, data: st.DataObject
) -> None:
    shutil.copy(GPT2 / name, copy / name)
    content = bytearray((copy / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        # In the tensors' own numbers any byte is as good as another.
        place = data.draw(st.integers(0, min(len(content), 4000) - 1))
        content[place] = data.draw(st.integers(0, 255))
    (copy / name).write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2]))])
    try:
        model = load_gpt2(copy)
        answer = str(model.trace(model.encode(PROMPT)).values["logits"].shape)
    except InputError as error:
        answer = str(error)
        assert str(copy) in answer
    except ValueError as error:
        answer = str(error)
        assert "the text" in answer
    finally:
        shutil.copy(GPT2 / name, copy / name)
    assert answer


def test_vocab_and_merges_make_the_same_tokens_as_tokenizer_json(tmp_path: Path) -> None:
    folder = changed_gpt2(tmp_path / "small")
    parts = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    (folder / "vocab.json").write_text(json.dumps(parts["vocab"]), "utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in parts["merges"])]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "tokenizer.json").unlink()
    for text in (PROMPT, "In 1969,\n  two", "Ça coûte 20 €", ""):
        assert load_gpt2(folder).encode(text) == load_gpt2(GPT2).encode(text)
    (folder / "merges.txt").write_text("no such pair\n", "utf-8")
    with pytest.raises(InputError, match=r"merges\.txt"):
        load_gpt2(folder)
    (folder / "vocab.json").unlink()
    with pytest.raises(
        InputError, match=r"tokenizer\.json: .*no such file, expected it, or vocab\.json and merges\.txt"
    ):
        load_gpt2(folder)


def with_tokenizer(folder: Path, change: dict[str, Any], vocabulary: dict[str, int] | None = None) -> Path:
    """The small GPT-2 with another tokenizer.json."""
    changed_gpt2(folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8")) | change
    if vocabulary is not None:
        tokenizer["model"]["vocab"] = vocabulary
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    return folder


def test_a_tokenizer_that_cuts_or_fills_a_text_is_not_let(tmp_path: Path) -> None:
    cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    folder = with_tokenizer(tmp_path / "small", {"truncation": cut})
    assert load_gpt2(folder).encode(PROMPT) == load_gpt2(GPT2).encode(PROMPT)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("normalizer", {"type": "Lowercase"}), ("pre_tokenizer", None), ("pre_tokenizer", {"type": "Whitespace"}),
        ("pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": True}), ("added_tokens", [{"id": 287}]),
        ("model", None), ("model", {"type": "WordLevel", "vocab": {}, "unk_token": "?"}),
        ("model.vocab", ["a"]), ("model.vocab", {"a": "0"}), ("model.merges", 3), ("model.merges", [["a", "b", "c"]]),
        ("model.dropout", 0.5), ("model.end_of_word_suffix", "</w>"),
    ],
)  # fmt: skip
def test_a_tokenizer_that_is_not_gpt2s_is_refused(
    key: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parent, _, part = key.rpartition(".")
    model = json.loads((GPT2 / "tokenizer.json").read_text("utf-8"))["model"]
    change = {parent: model | {part: value}} if parent else {key: value}
    assert f"tokenizer.json: {key}: found " in message(with_tokenizer(tmp_path / "small", change), capsys)


def test_ids_with_a_gap_or_without_the_start_token_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = json.loads((GPT2 / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    gap = {token: n + (n > 200) for token, n in tokens.items()}
    for number, (change, vocabulary) in enumerate([({}, gap), ({"added_tokens": []}, renamed(tokens))]):
        told = message(with_tokenizer(tmp_path / str(number), change, vocabulary), capsys)
        assert "tokenizer.json: vocabulary: found 287 tokens" in told


def renamed(tokens: dict[str, int]) -> dict[str, int]:
    return {"<end>" if token == "<|endoftext|>" else token: n for token, n in tokens.items()}


def test_a_prompt_that_the_tokens_cannot_say_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokens = json.loads((GPT2 / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    folder = with_tokenizer(tmp_path / "small", {}, {("Ωx" if t == "Q" else t): n for t, n in tokens.items()})
    assert command.main(["Quo", "--model", str(folder)]) == 2
    assert "the model has no tokens for all of the text: they would say 'uo'" in capsys.readouterr().err


def test_a_prompt_is_at_most_as_long_as_the_positions() -> None:
    model = load_gpt2(GPT2)
    assert len(model.encode("a" * 31)) == model.positions == 32
    with pytest.raises(ValueError, match="33 tokens with the start token; 32 are the most"):
        model.encode("a" * 32)


def test_a_model_of_many_positions_still_takes_only_as_many_tokens_as_memory_allows() -> None:
    model = replace(load_gpt2(GPT2), positions=10**6)
    assert len(model.encode("a" * 127)) == LONGEST == 128
    with pytest.raises(ValueError, match="129 tokens with the start token; 128 are the most"):
        model.encode("a" * 128)
