"""The numpy programs of the In code boxes, run as the pages show them, give the pages' own numbers."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from pages import STEPS, of_class, printed, text
from toys import shipped_runs

from sevensteps.engine.toy import text_of

CONTENT = Path(__file__).parent.parent / "content"
RUNS = shipped_runs()
MAIN = RUNS.traces["main"]
PROGRAMS = tuple(range(1, 8))

#: What the first comment of a program may name.
GIVEN: dict[str, Any] = {
    "vocabulary": list(MAIN.vocabulary),
    "text": text_of(MAIN),
    "ids": MAIN["ids"].astype(int),
    "targets": MAIN["targets"].astype(int),
    "eps": float(MAIN["layer_norm_eps"]),
    **{name: [MAIN[f"{name}.{head}"] for head in range(2)] for name in ("W_Q", "W_K", "W_V")},
    **{name: MAIN[name] for name in ("W_E", "W_pos", "W_O", "W_in", "b_in", "W_out", "b_out", "W_U")},
    **{symbol: RUNS[RUNS.ref(symbol)] for symbol in ("x", "n1", "h", "y", "z")},
}

#: For each program its variables and, as an author would write it, the value of the toy that each must hold.
RESULTS = {
    1: {"ids": "id"},
    2: {
        "embed": "E_id", "pos_embed": "P_position", "x": "x", "dots": "dots", "lengths": "lengths",
        "cosines": "cosines",
    },
    3: {
        "c": "c1", "n1": "n1", "q1": "q1", "k1": "k1", "v1": "v1",
        "s1_last": "s1[last]", "A1_last": "A1[last]", "o1_last": "o1[last]",
    },
    4: {"o": "o", "attn": "attn", "h": "h"},
    5: {"c": "c2", "n2": "n2", "g": "g", "u": "u", "mlp": "mlp", "y": "y"},
    6: {
        "mean": "μ", "variance": "var", "f": "f", "z": "z", "p": "p", "pt": "pt", "loss": "loss", "mean_loss": "L",
    },
    7: {"p": "p[last]", "p_low": "p_low", "p_high": "p_high", "p_top_k": "p_top_k", "p_top_p": "p_top_p"},
}  # fmt: skip

#: One small mistake for each program, of the kind that a reader might make.
MISTAKES = [
    (1, "vocabulary.index(longest)", "vocabulary.index(longest) + 1"),
    (2, "W_pos[:len(ids)]", "W_pos[1:len(ids) + 1]"),
    (2, "W_E ** 2", "abs(W_E)"),
    (3, "(c * c).mean(axis=1, keepdims=True)", "c.var(axis=1, keepdims=True, ddof=1)"),
    (3, "np.sqrt(q1.shape[1])", "np.sqrt(x.shape[1])"),
    (4, "k=1", "k=2"),
    (4, "h = x + attn", "h = attn"),
    (5, "np.maximum(0, g)", "g"),
    (6, "f @ W_U", "y @ W_U"),
    (6, "mean_loss = loss.mean()", "mean_loss = loss[:-1].mean()"),
    (7, "last / 2", "last * 2"),
    (7, "below + 1", "below"),
]


def programs_on(pages: dict[str, Element], number: int) -> list[str]:
    """The programs of a page's In code box as a reader sees them: numpy, then PyTorch."""
    return ["".join(pre.itertext()) for pre in pages[STEPS[number - 1]].iter("pre")]


def given_to(program: str) -> dict[str, Any]:
    """The variables that the first comment names; what stands in brackets tells their shapes."""
    comment = re.match(r"(#.*\n)+", program)[0]
    words = re.findall(r"\w+", re.sub(r"\([^)]*\)", "", comment))
    return {word: GIVEN[word] for word in words if word in GIVEN}


def run(program: str, number: int) -> dict[str, Any]:
    variables = given_to(program)
    exec(compile(program, f"content/code/{number}.py", "exec"), variables)
    return variables


def wrong_results(variables: dict[str, Any], number: int) -> list[str]:
    wrong = []
    for variable, written in RESULTS[number].items():
        value, expected = np.asarray(variables[variable]), RUNS[RUNS.ref(written)]
        if value.size != expected.size or not np.allclose(value.reshape(expected.shape), expected, 1e-12, 1e-12):
            wrong.append(variable)
    return wrong


@pytest.mark.parametrize("number", PROGRAMS)
def test_the_page_shows_the_programs_of_the_files(pages: dict[str, Element], number: int) -> None:
    files = [CONTENT / "code" / f"{number}.py", CONTENT / "code" / f"{number}_torch.py"]
    assert programs_on(pages, number) == [file.read_text(encoding="utf-8").strip() for file in files]


@pytest.mark.parametrize("number", PROGRAMS)
def test_a_program_gives_the_toys_numbers(pages: dict[str, Element], number: int) -> None:
    assert wrong_results(run(programs_on(pages, number)[0], number), number) == []


@pytest.mark.parametrize("number", PROGRAMS)
def test_a_program_needs_all_that_its_first_comment_names(pages: dict[str, Element], number: int) -> None:
    program = programs_on(pages, number)[0]
    assert given_to(program)
    for missing in given_to(program):
        used = re.sub(r"#.*", "", program)
        assert re.search(rf"\b{missing}\b", used), missing


@pytest.mark.parametrize("number", PROGRAMS)
def test_what_a_program_gives_is_what_its_page_prints(pages: dict[str, Element], number: int) -> None:
    on_page = printed(pages[STEPS[number - 1]])
    variables = run(programs_on(pages, number)[0], number)
    compared = dict.fromkeys(RESULTS[number], 0)
    for variable, written in RESULTS[number].items():
        ref = RUNS.ref(written)
        value = np.asarray(variables[variable]).reshape(RUNS[ref].shape)
        for index in np.ndindex(value.shape):
            for shown in on_page.get(".".join((ref, *map(str, index))), ()):
                assert is_rounded(float(value[index]), shown), (variable, index)
                compared[variable] += 1
    last = list(compared)[-1]
    assert compared[last], f"the page prints nothing of {last}"
    assert sum(compared.values()) >= 5


def is_rounded(value: float, shown: str) -> bool:
    """Whether a printed text is the value, rounded to the printed places."""
    if shown == "<0.001":
        return 0 < value < 0.0005
    number = Decimal(shown.replace("−", "-"))
    half_a_unit = Decimal(1).scaleb(number.as_tuple().exponent) / 2
    return abs(Decimal(value) - number) <= (half_a_unit if "." in shown else 0) + Decimal("1e-12")


def test_the_last_program_picks_the_tokens_that_its_page_names(pages: dict[str, Element]) -> None:
    variables = run(programs_on(pages, 7)[0], 7)
    named = {token.get("data-token"): text(token) for token in of_class(pages[STEPS[6]], "token")}
    assert (variables["greedy"], variables["drawn"]) == (named["top probs.4"], named["id drawn"])
    assert variables["greedy"] != variables["drawn"]


@pytest.mark.parametrize(("number", "right", "wrong"), MISTAKES)
def test_a_mistake_in_a_program_is_noticed(pages: dict[str, Element], number: int, right: str, wrong: str) -> None:
    program = programs_on(pages, number)[0]
    assert right in program
    assert wrong_results(run(program.replace(right, wrong), number), number)


@pytest.mark.parametrize("number", PROGRAMS)
def test_a_wrong_variable_is_noticed(pages: dict[str, Element], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = programs_on(pages, number)[0]
    # The last program only names its picks with the vocabulary: a test of its own looks at them.
    for name in set(given_to(program)) - ({"vocabulary"} if number == 7 else set()):
        with monkeypatch.context() as spoiled:
            spoiled.setitem(GIVEN, name, _spoiled(GIVEN[name]))
            assert wrong_results(run(program, number), number), name


def _spoiled(value: Any) -> Any:
    """The same kind of thing, but another one."""
    if isinstance(value, str):
        return value.replace("cat", "dog")
    if isinstance(value, float):
        return value + 0.5
    return value[::-1] + 0.5 if getattr(value, "dtype", int) == np.float64 else value[::-1]
