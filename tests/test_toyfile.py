"""A wrong toy.toml: one message a fault, with file, key, found and expected, and all faults of the file at once."""

import copy
import random
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from toys import SHIPPED, load, shipped, shipped_data, toml

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.steps import Trace
from sevensteps.engine.toy import load_toy

SOURCE = SHIPPED.read_text(encoding="utf-8")


def faults_of(text: str | bytes, folder: Path) -> list[Fault]:
    path = folder / "toy.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        load_toy(path, "content/toy.toml")
    return caught.value.faults


def weight(name: str, value: object) -> Callable[[dict], None]:
    return lambda data: data["weights"].__setitem__(name, value)


def part(*keys: object, to: object) -> Callable[[dict], None]:
    """Set one entry deep in the data."""

    def change(data: dict) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = to

    return change


def without(*keys: object) -> Callable[[dict], None]:
    def change(data: dict) -> None:
        for key in keys[:-1]:
            data = data[key]
        del data[keys[-1]]

    return change


def run_of(**table: object) -> Callable[[dict], None]:
    return part("runs", "extra", to=table)


TOP = "text, next, vocabulary, layer_norm_eps, activation, tied, weights"
PATCHABLE = "the name of a weight or of a computed value"
#: name of the case -> (change of the shipped data, key, found, expected)
CASES: dict[str, tuple[Callable[[dict], None], str, str, str]] = {
    "unknown key": (part("txet", to="the"), "txet", "an unknown key", f"one of {TOP}, patch, runs"),
    "missing key": (without("activation"), "activation", "nothing", "this key"),
    "missing weights": (without("weights"), "weights", "nothing", "this key"),
    "missing matrix": (without("weights", "W_in"), "weights.W_in", "nothing", "this key"),
    "weights no table": (part("weights", to=3), "weights", "3", "a table of matrices"),
    "text no text": (part("text", to=12), "text", "12", "text, not empty"),
    "text empty": (part("text", to=""), "text", "''", "text, not empty"),
    "next unknown": (part("next", to="␣tree"), "next", "'␣tree'", "a token of the vocabulary"),
    "next no text": (part("next", to=[1]), "next", "[1]", "a token, not empty"),
    "no token fits": (
        part("text", to="the cow climbed the"),
        "text",
        "'the␣cow␣climbed␣the'",
        "a vocabulary entry that fits at character 4, '␣cow␣climbed'",
    ),
    "text too long": (
        part("text", to="the" + " the" * 8),
        "text",
        "9 tokens",
        "at most 8, the rows of W_pos",
    ),
    "vocabulary no list": (part("vocabulary", to="the"), "vocabulary", "'the'", "a list of tokens"),
    "vocabulary empty": (part("vocabulary", to=[]), "vocabulary", "[]", "a list of tokens"),
    "token twice": (
        part("vocabulary", 9, to="␣sofa"),
        "vocabulary[9]",
        "'␣sofa'",
        "a token that is not yet there (it is vocabulary[8])",
    ),
    "token empty": (part("vocabulary", 9, to=""), "vocabulary[9]", "''", "a token, not empty"),
    "token a number": (part("vocabulary", 9, to=4), "vocabulary[9]", "4", "a token, not empty"),
    "token with a plain space": (
        part("vocabulary", 9, to=" floor"), "vocabulary[9]", "' floor'", "the space written as ␣"
    ),
    "token with a line break": (part("vocabulary", 9, to="a\n"), "vocabulary[9]", r"'a\n'", "no control characters"),
    "epsilon negative": (part("layer_norm_eps", to=-1), "layer_norm_eps", "-1", "0 or more"),
    "epsilon text": (part("layer_norm_eps", to="small"), "layer_norm_eps", "'small'", "a finite number"),
    "epsilon NaN": (part("layer_norm_eps", to=float("nan")), "layer_norm_eps", "nan", "a finite number"),
    "activation": (part("activation", to="silu"), "activation", "'silu'", "one of relu, gelu_tanh, gelu_erf"),
    "activation a list": (part("activation", to=[]), "activation", "[]", "one of relu, gelu_tanh, gelu_erf"),
    "tied": (part("tied", to="no"), "tied", "'no'", "true or false"),
    "tied with W_U": (
        part("tied", to=True), "weights.W_U", "a matrix", "none, since tied = true reads out through W_E"
    ),
    "ragged": (part("weights", "W_E", 2, to=[1, 0]), "weights.W_E[2]", "length 2", "length 4, as in the other rows"),
    "ragged first row": (
        part("weights", "W_E", 0, to=[1]), "weights.W_E[0]", "length 1", "length 4, as in the other rows"
    ),
    "too few rows": (without("weights", "W_E", 11), "weights.W_E", "11 × 4", "12 × 4 (token × dimension)"),
    "too wide": (weight("b_out", [0] * 5), "weights.b_out", "length 5", "length 4 (dimension)"),
    "wrong head shape": (
        part("weights", "W_K", 1, to=[[1, 2, 3]] * 4), "weights.W_K[1]", "4 × 3", "4 × 2 (dimension × entry)"
    ),
    "a head too few": (
        without("weights", "W_V", 1), "weights.W_V", "a list of 1", "one entry for each of the 2 heads of W_Q"
    ),
    "matrix for a list of heads": (weight("W_Q", 2.5), "weights.W_Q", "2.5", "a list with one entry a head"),
    "NaN": (part("weights", "W_out", 7, 3, to=float("nan")), "weights.W_out[7][3]", "nan", "a finite number"),
    "infinity": (part("weights", "b_in", 0, to=float("-inf")), "weights.b_in[0]", "-inf", "a finite number"),
    "text in a matrix": (part("weights", "W_E", 0, 0, to="0,5"), "weights.W_E[0][0]", "'0,5'", "a finite number"),
    "true in a matrix": (part("weights", "W_E", 0, 0, to=True), "weights.W_E[0][0]", "true", "a finite number"),
    "a list in a vector": (part("weights", "b_in", 0, to=[1]), "weights.b_in[0]", "[1]", "a finite number"),
    "an integer beyond float64": (part("weights", "b_in", 0, to=10**309), "weights.b_in[0]",
                                  "1" + "0" * 76 + "...", "a finite number"),
    "a vector for a matrix": (weight("W_E", [1, 2]), "weights.W_E", "[1, 2]", "a list of rows of numbers"),
    "a number for a row": (part("weights", "W_E", 3, to=1), "weights.W_E[3]", "1", "a list of numbers"),
    "an empty matrix": (weight("W_in", []), "weights.W_in", "[]", "a list of rows of numbers"),
    "an empty optional weight": (weight("b_O", {}), "weights.b_O", "{}", "a list of numbers"),
    "unknown part of a norm": (
        weight("ln1", {"gain": [1, 1, 1, 1]}),
        "weights.ln1.gain",
        "an unknown key",
        "one of W_E, W_pos, W_Q, W_K, W_V, W_O, W_in, b_in, W_out, b_out, W_U, ln1.w, ln1.b, b_Q, b_K, b_V, b_O, "
        "ln2.w, ln2.b, ln_final.w, ln_final.b",
    ),
    "runs no table": (part("runs", to=[]), "runs", "[]", "tables [runs.NAME]"),
    "a run no table": (part("runs", "extra", to=1), "runs.extra", "1", "a table"),
    "a run of a taken name": (
        part("runs", "main", to={}),
        "runs.main",
        "'main'",
        "a name of small letters, digits and _ which starts with a letter, other than main and generated",
    ),
    "unknown key in a run": (run_of(txt="the"), "runs.extra.txt", "an unknown key", "one of text, next, patch"),
    "text of a run": (
        run_of(text="the  cat"),
        "runs.extra.text",
        "'the␣␣cat'",
        "a vocabulary entry that fits at character 4, '␣␣cat'",
    ),
    "next of a run": (run_of(next="roof"), "runs.extra.next", "'roof'", "a token of the vocabulary"),
    "patch no table": (
        run_of(patch="attn_out"), "runs.extra.patch", "'attn_out'", "a table of NAME = a number or another value's name"
    ),
    "patch of an unknown value": (run_of(patch={"atn_out": 0}), "runs.extra.patch.atn_out", "'atn_out'", PATCHABLE),
    "patch of the ids": (run_of(patch={"ids": 99}), "runs.extra.patch.ids", "'ids'", PATCHABLE),
    "patch of a head's number": (run_of(patch={"head.0": 3}), "runs.extra.patch.head.0", "'head.0'", PATCHABLE),
    "patch with an unquoted name": (
        run_of(patch={"attn": {"z": {"0": 0}}}),
        "runs.extra.patch.attn",
        "{'z': {'0': 0}}",
        'a number or a name (a name with dots is quoted: "attn.z.0" = 0)',
    ),
    "patch by a later value": (
        run_of(patch={"embed": "resid_pre"}),
        "runs.extra.patch.embed",
        "'resid_pre'",
        "a number, or the name of a value that is made before embed",
    ),
    "patch by itself": (
        run_of(patch={"embed": "embed"}),
        "runs.extra.patch.embed",
        "'embed'",
        "a number, or the name of a value that is made before embed",
    ),
    "patch of another shape": (
        run_of(patch={"W_U": "W_E"}),
        "runs.extra.patch.W_U",
        "W_E of the shape (12, 4) in place of (4, 12)",
        "a number, or a value of the shape of W_U",
    ),
    "patch by a row that is not there": (
        run_of(patch={"resid_pre": "embed.9"}),
        "runs.extra.patch.resid_pre",
        "embed.9",
        "a number, or a value of the shape of resid_pre",
    ),
    "patch by infinity": (
        run_of(patch={"attn_out": float("inf")}), "runs.extra.patch.attn_out", "inf", "a finite number"
    ),
    "patch that makes 0/0": (
        run_of(text="the cat", patch={"ln1.scale": 0, "ln1.centred": 0}),
        "runs.extra.patch",
        "0/0 or ∞ − ∞ in ln1.normalized of the run extra",
        "numbers only (smaller weights, or a larger layer_norm_eps)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_fault_is_told_in_one_message(case: str, tmp_path: Path) -> None:
    change, key, found, expected = CASES[case]
    data = shipped_data()
    change(data)
    faults = faults_of(toml(data), tmp_path)
    assert [str(fault) for fault in faults] == [f"content/toy.toml: {key}: found {found}, expected {expected}"]


def test_a_run_that_only_patches_the_main_text_may_have_undefined_values(tmp_path: Path) -> None:
    data = shipped_data()
    run_of(patch={"ln1.scale": 0, "ln1.centred": 0})(data)
    path = tmp_path / "toy.toml"
    path.write_text(toml(data), encoding="utf-8")
    traces = load_toy(path).traces()
    assert np.isnan(traces["extra"]["logits"]).all()
    assert np.isfinite(traces["main"]["logits"]).all()


def test_a_row_without_spread_and_no_epsilon(tmp_path: Path) -> None:
    data = shipped_data() | {"layer_norm_eps": 0}
    data["weights"]["W_E"][0] = [1, 1, 1, 1]  # "the", whose position row is 0: mean 1, deviation 0
    (fault,) = faults_of(toml(data), tmp_path)
    assert (fault.key, fault.found) == ("weights", "0/0 or ∞ − ∞ in ln1.normalized of the run main")


def line_of(key: str) -> int:
    """The line on which a key of the shipped file stands, from 1."""
    return next(n for n, line in enumerate(SOURCE.splitlines(), 1) if line.startswith(f"{key} = "))


TEXTS: dict[str, tuple[str | bytes, str, str]] = {
    "not TOML": (SOURCE.replace("vocabulary = [", "vocabulary = "), f"line {line_of('vocabulary')}", "TOML"),
    "a key twice": (SOURCE.replace("tied = false", 'text = "the"'), f"line {line_of('tied')}", "TOML"),
    "not UTF-8": (SOURCE.encode("utf-16"), "a byte that is not UTF-8 at 0", "UTF-8 text"),
    "nested too deep": ("text = " + "[" * 9999, "lists or tables nested too deep", "TOML of a few levels"),
    "an endless integer": (
        SOURCE.replace("1e-5", "9" * 9999), "an integer of thousands of digits", "TOML with finite numbers"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_a_file_that_cannot_be_read_as_toml(case: str, tmp_path: Path) -> None:
    text, found, expected = TEXTS[case]
    (fault,) = faults_of(text, tmp_path)
    assert (fault.file, fault.key, fault.expected) == ("content/toy.toml", "(file)", expected)
    assert found in fault.found


def test_no_file_and_a_folder_in_its_place(tmp_path: Path) -> None:
    for path, found in {tmp_path / "none.toml": "nothing", tmp_path: None}.items():
        with pytest.raises(InputError) as caught:
            load_toy(path)
        assert caught.value.faults[0].key == "(file)"
        assert found in (None, caught.value.faults[0].found)


def test_an_empty_file_misses_every_key(tmp_path: Path) -> None:
    assert [fault.key for fault in faults_of("", tmp_path)] == TOP.split(", ")


@pytest.mark.parametrize(
    "found",
    ["0x" + "f" * 9000, "{" + ".".join("a" * 2000) + " = 1}"],
    ids=["a huge hexadecimal integer", "tables 2000 deep"],
)
def test_a_value_that_python_itself_would_not_print(found: str, tmp_path: Path) -> None:
    for source in (SOURCE.replace('activation = "relu"', f"activation = {found}"), f"{SOURCE}\nmore = {found}"):
        assert all(isinstance(fault, Fault) for fault in faults_of(source, tmp_path))


def test_a_long_value_is_cut_in_the_message(tmp_path: Path) -> None:
    (fault,) = faults_of(SOURCE.replace('activation = "relu"', f'activation = "{"x" * 500}"'), tmp_path)
    assert fault.found == "'" + "x" * 76 + "..."


#: Cases of one fault each which do not hide one another.
TOGETHER = [
    "unknown key", "missing key", "next unknown", "token twice", "epsilon negative", "tied", "ragged", "too wide",
    "wrong head shape", "NaN", "an empty optional weight", "a run of a taken name", "patch of an unknown value",
]  # fmt: skip


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    data = shipped_data()
    for case in TOGETHER:
        CASES[case][0](data)
    assert {fault.key for fault in faults_of(toml(data), tmp_path)} == {CASES[case][1] for case in TOGETHER}


@pytest.mark.parametrize(("first", "second"), list(combinations(TOGETHER, 2)))
def test_no_fault_hides_another_or_makes_up_a_third(first: str, second: str, tmp_path: Path) -> None:
    data = shipped_data()
    CASES[first][0](data)
    CASES[second][0](data)
    expected = {f"content/toy.toml: {key}: found {f}, expected {e}" for _, key, f, e in (CASES[first], CASES[second])}
    assert {str(fault) for fault in faults_of(toml(data), tmp_path)} == expected


def test_the_error_has_one_line_a_fault(tmp_path: Path) -> None:
    data = shipped_data() | {"a\nb": 1, "tied": "maybe"}
    path = tmp_path / "toy.toml"
    path.write_text(toml(data), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_toy(path)
    assert len(str(caught.value).splitlines()) == len(caught.value.faults) == 2


JUNK = [
    True, 0, -1, 99, 0.5, 1e308, float("nan"), float("inf"), 10**400, "", "the", "␣", "\n", "🙂" * 99, "W_E.T",
    ".T", "embed.0", [], [[]], [1], [[1, 2], [3]], ["a"], {}, {"a": {"b": 1}}, [[[[[[[1]]]]]]],
]  # fmt: skip


def mutate(data: dict, draw: random.Random) -> None:
    """Remove, replace, shorten or add to something anywhere in the data."""
    place: dict | list = data
    while True:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.3:
            break
        place = place[key]
    how = draw.randrange(4)
    if how == 0:
        del place[key]
    elif how == 1 and isinstance(place[key], list):
        place[key] = place[key][: draw.randrange(len(place[key]) + 1)]
    elif how == 2 and isinstance(place[key], dict):
        place[key][draw.choice(["text", "patch", "W_X", "ids", "attn_out", "ln1"])] = draw.choice(JUNK)
    else:
        place[key] = copy.deepcopy(draw.choice(JUNK))


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_file_is_loaded_or_refused_with_full_messages(seed: int, tmp_path: Path) -> None:
    draw, data = random.Random(seed), shipped_data()
    for _ in range(draw.randint(1, 3)):
        mutate(data, draw)
    traces, faults = loaded_or_refused(data, tmp_path)
    assert bool(traces) != bool(faults)
    for fault in faults:
        assert all((fault.file == "toy.toml", fault.key, fault.found, fault.expected))
        assert len(str(fault).splitlines()) == 1
    for trace in traces:
        assert not any(np.isnan(value).any() for value in trace.values.values())


def loaded_or_refused(data: dict, folder: Path) -> tuple[list[Trace], list[Fault]]:
    try:
        return list(load(data, folder).traces().values()), []
    except InputError as error:
        return [], error.faults


def test_a_mark_in_front_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode())
    assert load_toy(path).vocabulary == shipped().vocabulary


def test_a_run_takes_from_main_what_it_does_not_say() -> None:
    runs = shipped().runs
    assert runs["dog"].ids == (0, 3, 4, 5, 1)
    assert runs["dog"].targets == (3, 4, 5, 1, 6)
    assert runs["attention_off"].ids == runs["main"].ids
    assert runs["attention_off"].targets == runs["main"].targets
    assert runs["attention_off"].patch == {"attn_out": 0}


def test_a_run_may_have_its_own_next_token(tmp_path: Path) -> None:
    toy = load(shipped_data() | {"runs": {"sofa": {"next": " sofa"}}}, tmp_path)
    assert toy.runs["sofa"].targets[-1] == toy.vocabulary.index("␣sofa")


@pytest.mark.parametrize("token", ["<script>", "&amp;", '"', "|", "{{x}}", "$", "_", "🙂", "]", "\\", "'"])
def test_any_visible_token_is_allowed(token: str, tmp_path: Path) -> None:
    data = shipped_data()
    data["vocabulary"][0] = token
    data["text"] = f"{token} cat"
    data["runs"] = {}
    assert load(data, tmp_path).traces()["main"].tokens == (token, "␣cat")
