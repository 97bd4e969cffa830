"""The published figures stand on page 6 as they were published."""

from xml.etree.ElementTree import Element

import pytest
from pages import of_class, only, printed, rows_of, table_of, text, with_attribute
from test_engine_published import LAST, PUBLISHED, figures_with_a_ref


@pytest.mark.parametrize(("ref", "figure"), figures_with_a_ref().values(), ids=figures_with_a_ref().keys())
def test_page_6_prints_the_published_figure(pages: dict[str, Element], ref: str, figure: str) -> None:
    assert figure.replace("-", "−") in printed(pages["6-output"])[ref]


def test_page_6_prints_the_published_sums(pages: dict[str, Element]) -> None:
    on_page = printed(pages["6-output"])
    assert LAST["sum_of_y"] in on_page["sum_of_y"]
    assert {f"{float(shown):.2f}" for shown in on_page["share_of_places"]} == {LAST["share_of_places"]["sum_p"]}
    rows = table_of(pages["6-output"], "roof-logit")[1:-1]
    products = [product for _, _, weight, product in rows if weight != "0"]
    assert products == LAST["z_roof_terms"]


def test_page_6_has_the_published_softmax_table_in_its_order(pages: dict[str, Element]) -> None:
    rows = [[row["token"], row["z"], row["exp_z"], row["p"]] for row in LAST["softmax"]]
    expected = [[cell.replace("-", "−") for cell in row] for row in rows]
    tables = [rows_of(table) for table in pages["6-output"].iter("table")]
    assert expected in [[row for row in table if row in expected] for table in tables]


def test_page_6_has_the_published_table_of_every_position(pages: dict[str, Element]) -> None:
    expected = [
        [f"{row['position']} {row['after']}", row["target"], row["p_target"], row["minus_ln_p"], row["most_likely"]]
        for row in PUBLISHED["every_position"]
    ]
    assert table_of(pages["6-output"], "every-position-table")[1:-1] == expected


def test_page_6_names_the_token_of_the_published_tied_read_out(pages: dict[str, Element]) -> None:
    named = {
        text(mark) for mark in of_class(pages["6-output"], "token") if mark.get("data-token") == "top tied/probs.4"
    }
    assert named == {PUBLISHED["tied_read_out_last_row"]["most_likely"]}


def test_page_6_gives_the_published_sizes_of_real_models(pages: dict[str, Element]) -> None:
    marks = with_attribute(only(pages["6-output"], "real"), "data-fact")
    figures = {int(float(mark.get("value"))) for mark in marks}
    models = [PUBLISHED["real_models"][model] for model in ("gpt2_small", "llama2_7b", "llama3_8b")]
    assert {size for model in models for size in model.values() if not isinstance(size, bool)} <= figures
