"""Every published figure of the output stage comes out to its last printed digit, one test case a figure."""

import json
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from toys import shipped, shipped_traces

PUBLISHED = json.loads((Path(__file__).parent / "data" / "published-output.json").read_text(encoding="utf-8"))
VOCABULARY = PUBLISHED["vocabulary"]
LAST = PUBLISHED["last_row"]
ROW = 4  # the last row, from 0


def printed(value: float, places: int = 3) -> str:
    """A value that has at most two decimals as it is, anything else rounded half away from zero."""
    exact = Decimal(float(value))
    hundredths = exact.quantize(Decimal("0.01"))
    if exact == hundredths:
        return f"{hundredths.normalize() + 0:f}"  # + 0 takes the sign off −0
    return str(exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def number(ref: str) -> float:
    run, _, rest = ref.rpartition("/")
    return float(shipped_traces()[run or "main"][rest])


def token(name: str) -> int:
    return VOCABULARY.index(name)


def best(ref: str) -> str:
    run, _, rest = ref.rpartition("/")
    return VOCABULARY[int(shipped_traces()[run or "main"][rest].argmax())]


def figures_with_a_ref() -> dict[str, tuple[str, str]]:
    """What the figure is -> (ref, published text)."""
    figures = {"mean": (f"ln_final.mean.{ROW}", LAST["mean"]), "std": (f"ln_final.scale.{ROW}", LAST["std"])}
    figures |= {f"y[{i + 1}]": (f"resid_post.{ROW}.{i}", text) for i, text in enumerate(LAST["y"])}
    figures |= {f"f[{i + 1}]": (f"ln_final.normalized.{ROW}.{i}", text) for i, text in enumerate(LAST["f"])}
    for row in LAST["softmax"]:
        for name, column in {"logits": "z", "logits.exp": "exp_z", "probs": "p"}.items():
            figures[f"{column} of {row['token']}"] = (f"{name}.{ROW}.{token(row['token'])}", row[column])
    figures["sum of e^z"] = (f"logits.exp_sum.{ROW}", LAST["sum_exp_z"])
    for row in PUBLISHED["every_position"]:
        position = row["position"]
        figures[f"p of the target at {position}"] = (f"probs.target.{position - 1}", row["p_target"])
        figures[f"-ln p at {position}"] = (f"loss.{position - 1}", row["minus_ln_p"])
    figures["mean loss"] = ("loss.mean", PUBLISHED["mean_loss"])
    figures["uniform loss"] = ("loss.uniform", PUBLISHED["uniform_loss"]["value"])
    for row in PUBLISHED["attention_off_last_row"]:
        ref = f"attention_off/probs.{ROW}.{token(row['token'])}"
        figures[f"p of {row['token']} with attention off"] = (ref, row["p"])
    return figures


@pytest.mark.parametrize(("ref", "text"), figures_with_a_ref().values(), ids=figures_with_a_ref().keys())
def test_figure(ref: str, text: str) -> None:
    assert printed(number(ref)) == text


def terms_of_roof() -> list[Decimal]:
    """The products in the logit of ␣roof, from f as it is printed, without those with a weight of 0.

    The published worked line is a chain of printed digits: -0.5 × -0.987 = 0.4935, printed 0.494, so that its terms
    add up to the printed 2.491. The product of the unrounded numbers is 0.49325 and would print 0.493.
    """
    pairs = [(f"ln_final.normalized.{ROW}.{i}", f"W_U.{i}.{token('␣roof')}") for i in range(4)]
    return [Decimal(printed(number(f))) * Decimal(number(weight)) for f, weight in pairs if number(weight)]


@pytest.mark.parametrize("n", range(3))
def test_term_of_the_logit_of_roof(n: int) -> None:
    assert str(terms_of_roof()[n].quantize(Decimal("0.001"), ROUND_HALF_UP)) == LAST["z_roof_terms"][n]


def test_the_logit_of_roof_has_no_other_terms_and_its_printed_terms_add_up_to_it() -> None:
    assert len(terms_of_roof()) == len(LAST["z_roof_terms"])
    assert str(sum(map(Decimal, LAST["z_roof_terms"]))) == printed(number(f"logits.{ROW}.{token('␣roof')}"))


SUMS: dict[str, tuple[Callable[[], float], str, int]] = {
    "sum of y": (lambda: sum(number(f"resid_post.{ROW}.{i}") for i in range(4)), LAST["sum_of_y"], 3),
    "share of the places": (
        lambda: sum(number(f"probs.{ROW}.{token(place)}") for place in LAST["share_of_places"]["tokens"]),
        LAST["share_of_places"]["sum_p"],
        2,
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_sum(name: str) -> None:
    compute, text, places = SUMS[name]
    assert printed(compute(), places) == text


def test_the_softmax_table_is_in_the_order_of_p() -> None:
    ids = [token(row["token"]) for row in LAST["softmax"]]
    assert sorted(ids) == list(range(len(VOCABULARY)))
    p = [number(f"probs.{ROW}.{n}") for n in ids]
    assert p == sorted(p, reverse=True)


@pytest.mark.parametrize("row", PUBLISHED["every_position"], ids=lambda row: f"position {row['position']}")
def test_most_likely_token_and_target(row: dict) -> None:
    main, position = shipped_traces()["main"], row["position"] - 1
    assert main.tokens[position] == row["after"]
    assert VOCABULARY[int(number(f"targets.{position}"))] == row["target"]
    assert best(f"probs.{position}") == row["most_likely"]


def test_with_attention_off_the_published_tokens_lead() -> None:
    p = shipped_traces()["attention_off"][f"probs.{ROW}"]
    leaders = {VOCABULARY[n] for n in p.argsort()[::-1][:3]}
    assert leaders == {row["token"] for row in PUBLISHED["attention_off_last_row"]}


def test_the_tied_read_out_names_the_published_token() -> None:
    assert best(f"tied/logits.{ROW}") == PUBLISHED["tied_read_out_last_row"]["most_likely"]


def test_text_tokens_vocabulary_and_unembedding_are_the_published_ones() -> None:
    toy, main = shipped(), shipped_traces()["main"]
    assert list(toy.vocabulary) == VOCABULARY
    assert list(main.tokens) == PUBLISHED["tokens"]
    assert toy.weights["W_U"].tolist() == PUBLISHED["W_U"]
    assert number("size.d_model") == PUBLISHED["d"]
    assert VOCABULARY[int(number(f"targets.{ROW}"))] == PUBLISHED["next_token"]


def test_printing_rounds_ties_away_from_zero_and_keeps_short_decimals_short() -> None:
    cases = {0.0625: "0.063", -0.0625: "-0.063", 0.5: "0.5", -0.0: "0", 1.0: "1", 10.0: "10", 0.9996: "1.000"}
    assert {value: printed(value) for value in cases} == cases
