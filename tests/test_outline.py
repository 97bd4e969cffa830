"""What each page must show its reader, found in the built site."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from pages import only, printed, table_of, text, with_attribute
from test_engine_published import PUBLISHED, VOCABULARY
from toys import shipped_runs

RUNS = shipped_runs()


def refs_of(*written: str) -> Iterator[str]:
    """Every number of the values that an author would write so."""
    for ref in map(RUNS.ref, written):
        yield from (".".join((ref, *map(str, rest))) for rest in np.ndindex(RUNS[ref].shape))


SHOWN = {
    "index": ["T", "V", "d", "heads", "d_head", "d_mlp", "id", "p[last,top]"],
    "1-tokens": ["V", "id"],
    "2-embeddings": ["E", "P", "x", "dots", "cosines", "twice/x[2]", "twice/x[4]"],
    "3-query-key-value": [
        "μ1[last]", "var1[last]", "σ1[last]", "n1", "WQ1", "WK1", "WV1", "q1[last]", "k1", "v1", "qk1[last]",
        "√d_head", "s1[last]", "e^s1[last]", "S1[last]", "A1[last]", "o1[last,1]",
    ],
    "4-mask-and-heads": [
        "m1", "A1", "A2", "WO", "r1[last]", "r2[last]", "attn[last]", "h", "loss", "mask_off/loss", "mask_off/L",
    ],
    "5-block": [
        "h[last]", "n2[last]", "W1", "b1", "g[last]", "u", "W2", "mlp[last]", "y", "attention_off/p[last]",
        "mlp_off/p[last]", "gelu_tanh_at", "gelu_erf_at",
    ],
    "6-output": [
        "y[last]", "μ[last]", "var[last]", "σ[last]", "f[last]", "WU", "z[last]", "e^z[last]", "Z[last]", "p[last]",
        "pt", "loss", "L", "ln V", "perplexity", "odds", "odds_ratio",
    ],
    "7-generation": [
        "running", "p_low", "p_high", "kept_k_sum", "kept_p_sum", "without_all", "with_all", "cache_gain", "cache_row",
        "generated/p[last,top]",
    ],
    "needle-and-dial": ["needle/own_cosine", "needle/tied_cosine", "needle/own_z", "needle/tied_z", "needle/own_p"],
    "odds": ["robot/robot_logits", "robot/robot_gap", "robot/robot_odds", "robot/robot_p"],
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_shows_every_number_that_it_must(pages: dict[str, Element], name: str) -> None:
    assert [ref for ref in refs_of(*SHOWN[name]) if ref not in printed(pages[name])] == []


SECTIONS = {
    "1-tokens": ["vocabulary-table", "cuts-table", "no-token-fits"],
    "6-output": ["tied", "every-position", "attention-bought", "lens", "which-rows", "cost", "differences"],
    "7-generation": ["greedy", "sampling", "temperature", "top-k", "top-p", "append", "old-rows", "cache", "savings"],
    "index": ["path", "toy", "ways", "counting"],
    "glossary": ["names-table"],
}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_page_has_the_parts_that_it_must(pages: dict[str, Element], name: str) -> None:
    ids = {element.get("id") for element in with_attribute(pages[name], "id")}
    assert set(SECTIONS[name]) <= ids


FIGURES = {
    "1-tokens": {50257, 256, 50000, 32000, 128256},
    "2-embeddings": {50257, 768, 1024},
    "3-query-key-value": {64, 8},
    "4-mask-and-heads": {12, 64},
    "5-block": {0.8412, 0.8413, 3072, 124439808},
    "7-generation": {12, 768, 1024},
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_gives_the_figures_of_real_models_that_it_must(pages: dict[str, Element], name: str) -> None:
    figures = {float(mark.get("value")) for mark in with_attribute(only(pages[name], "real"), "data-fact")}
    assert FIGURES[name] <= figures


def test_page_1_lists_every_token_with_its_id_and_cuts_the_text_to_its_end(pages: dict[str, Element]) -> None:
    table = table_of(pages["1-tokens"], "vocabulary-table")
    assert [row[:2] for row in table[1:]] == [[str(n), token] for n, token in enumerate(VOCABULARY)]
    cuts = table_of(pages["1-tokens"], "cuts-table")[1:]
    assert [cut[3] for cut in cuts] == PUBLISHED["tokens"]
    for n, cut in enumerate(cuts):
        assert cut[1] == "".join(PUBLISHED["tokens"][n:])
        assert cut[2].split() == [token for token in VOCABULARY if cut[1].startswith(token)]


def test_page_7_goes_on_to_the_full_stop_and_the_end_token(pages: dict[str, Element]) -> None:
    table = table_of(pages["7-generation"], "generation-table")
    assert [row[-1] for row in table[-3:]] == ["␣roof", ".", "<|endoftext|>"]


def test_the_home_page_says_from_where_it_counts(pages: dict[str, Element]) -> None:
    items = [text(item) for item in pages["index"].iter("li")]
    assert any(re.match("Positions count from 1", item) for item in items)
    assert any(re.match("Token ids count from 0", item) for item in items)
