"""The loader of GGUF models: any file is read, or refused with a message that names it and what is wrong."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab_models import LLAMA, NOTHING, changed_llama

from sevensteps.engine.faults import InputError
from sevensteps.lab import command
from sevensteps.lab.gguf import read_gguf
from sevensteps.lab.llama import load_llama

TENSORS = {name: tensor.shape for name, tensor in read_gguf(LLAMA).tensors.items()}
FIELDS = read_gguf(LLAMA).fields
TOKENS, MERGES = FIELDS["tokenizer.ggml.tokens"], FIELDS["tokenizer.ggml.merges"]
COUNTS = ("block_count", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
          "context_length")  # fmt: skip
PROMPT = "the cat climbed the"


def message(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says of a file that it refuses."""
    assert command.main([PROMPT, "--model", str(path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    return told.err


def test_a_file_of_float32_alone_is_the_same_model(tmp_path: Path) -> None:
    ours, theirs = load_llama(changed_llama(tmp_path / "same.gguf")), load_llama(LLAMA)
    assert ours.weights.keys() == theirs.weights.keys()
    for name, weight in theirs.weights.items():
        np.testing.assert_array_equal(ours.weights[name], weight)
    assert ours.encode("In 1969") == theirs.encode("In 1969")


@pytest.mark.parametrize("name", sorted(TENSORS))
def test_a_missing_or_misshapen_tensor_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = message(changed_llama(tmp_path / "gone.gguf", tensors={name: NOTHING}), capsys)
    assert f"gone.gguf: {name}: found nothing, expected {TENSORS[name]}\n" in told
    wrong = np.zeros((*TENSORS[name][:-1], TENSORS[name][-1] + 1), dtype=np.float32)
    told = message(changed_llama(tmp_path / "wrong.gguf", tensors={name: wrong}), capsys)
    assert f"wrong.gguf: {name}: found {wrong.shape}, expected {TENSORS[name]}\n" in told


def test_all_faults_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = {"output.weight": np.zeros((287, 32), dtype=np.float32), "blk.1.ffn_up.weight": NOTHING}
    told = message(changed_llama(tmp_path / "wrong.gguf", tensors=changes), capsys)
    assert "output.weight: found (287, 32), expected no such tensor" in told
    assert "blk.1.ffn_up.weight: found nothing, expected (64, 32)" in told


@pytest.mark.parametrize(
    ("name", "again"),
    [(b"llama.feed_forward_length", b"tokenizer.ggml.token_type"), (b"blk.0.attn_q.weight", b"blk.0.attn_k.weight")],
)
def test_a_field_or_tensor_that_is_there_twice_is_told(
    name: bytes, again: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.gguf"
    path.write_bytes(LLAMA.read_bytes().replace(name, again))
    assert f"wrong.gguf: {again.decode()}: found it twice, expected it once" in message(path, capsys)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((f"llama.{key}", value) for key in COUNTS for value in (NOTHING, 0, True, "2", 2.0, [2])),
        *((f"llama.{key}", value) for key in ("rope.freq_base", "attention.layer_norm_rms_epsilon")
          for value in (NOTHING, 0.0, -1.0, float("nan"), float("inf"), 1, "1")),
        ("llama.attention.head_count", 3), ("llama.attention.head_count_kv", 3), ("llama.rope.dimension_count", 16),
        ("llama.attention.key_length", 16), ("llama.rope.scaling.type", "linear"), ("llama.vocab_size", 288),
        ("tokenizer.ggml.model", "llama"), ("tokenizer.ggml.pre", "llama-bpe"), ("tokenizer.ggml.pre", NOTHING),
        ("tokenizer.ggml.tokens", NOTHING), ("tokenizer.ggml.tokens", [1, 2]), ("tokenizer.ggml.merges", 3),
        ("tokenizer.ggml.merges", [1]), ("tokenizer.ggml.token_type", ["a"]), ("tokenizer.ggml.token_type", [1, 1]),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(key: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"wrong.gguf: {key}: found " in message(changed_llama(tmp_path / "wrong.gguf", {key: value}), capsys)


@pytest.mark.parametrize("blocks", [1, 3, 2**31 - 1])
def test_more_or_fewer_blocks_than_there_are_tensors_for_are_told_at_once(
    blocks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = message(changed_llama(tmp_path / "wrong.gguf", {"llama.block_count": blocks}), capsys)
    assert "wrong.gguf: " in told


@pytest.mark.parametrize("merge", ["the", "", " ", "the ", "no pair", "Ġ climbed"])
def test_a_merge_that_makes_no_token_is_told(merge: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed_llama(tmp_path / "wrong.gguf", {"tokenizer.ggml.merges": [*MERGES, merge]})
    assert "wrong.gguf: merges: found " in message(path, capsys)


@pytest.mark.parametrize("tokens", [[*TOKENS[:-1], "a"], ["<end>", *TOKENS[1:]]], ids=["one twice", "no start token"])
def test_tokens_that_are_not_one_each_are_told(
    tokens: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed_llama(tmp_path / "wrong.gguf", {"tokenizer.ggml.tokens": tokens})
    assert "wrong.gguf: vocabulary: found " in message(path, capsys)


def test_the_start_token_is_found_wherever_it_stands(tmp_path: Path) -> None:
    moved = [*TOKENS[1:], TOKENS[0]]
    types = [*FIELDS["tokenizer.ggml.token_type"][1:], 3]
    changes = {"tokenizer.ggml.tokens": moved, "tokenizer.ggml.token_type": types}
    model = load_llama(changed_llama(tmp_path / "moved.gguf", changes))
    assert model.start == len(TOKENS) - 1
    assert model.vocabulary[model.encode(PROMPT)[0]] == "<|endoftext|>"


def test_a_token_is_shown_by_its_text_and_one_that_would_steer_a_terminal_by_its_name() -> None:
    vocabulary = load_llama(LLAMA).vocabulary
    shown = {token: vocabulary[TOKENS.index(token)] for token in ("Ġthe", "Ċ", "ĉ", "a", "ě", "Ã", "Ģ")}
    assert shown == {"Ġthe": "␣the", "Ċ": "⏎", "ĉ": "⇥", "a": "a", "ě": "ě", "Ã": "Ã", "Ģ": "Ģ"}
    assert len(set(vocabulary)) == len(vocabulary)
    assert all(token.isprintable() for token in vocabulary)


def test_a_prompt_may_name_a_special_token() -> None:
    model = load_llama(LLAMA)
    assert model.encode("the<|endoftext|>") == (0, *model.encode("the")[1:], 0)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo] if hasattr(os, "mkfifo") else [Path.mkdir])
def test_what_is_no_file_is_refused_and_not_waited_for(
    make: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.gguf"
    make(path)  # type: ignore[operator]
    assert "found" in message(path, capsys)
    assert "none.gguf: (file): found no such file" in message(tmp_path / "none.gguf", capsys)


@given(data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_hostile_file_gives_a_message_or_a_model_but_never_crashes(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(LLAMA.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        # The fields stand in front of the tensors' numbers, where any byte is as good as another.
        place = data.draw(st.integers(0, 14_000))
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path / "hostile.gguf"
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, 5000]))])
    try:
        model = load_llama(path)
        answer = f"hostile.gguf gives {model.trace([model.start, 5, 6]).values['logits'].shape}"
    except InputError as error:
        answer = str(error)
    assert "hostile.gguf" in answer
