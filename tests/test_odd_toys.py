"""Toys that nobody ships, built and checked: only claims may break, never a number."""

import random
import shutil
import tomllib
from html import escape
from pathlib import Path
from typing import Any

import pytest
from toys import shipped_data, toml

from sevensteps.web.check import check_site
from sevensteps.web.output import write_site
from sevensteps.web.site import load_sources, render

ROOT = Path(__file__).parent.parent


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("content", "templates", "static"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def other_faults(source: Path, data: dict[str, Any]) -> list[str]:
    """The check's faults on a site of this toy, but for claims that do not hold of it."""
    (source / "content" / "toy.toml").write_text(toml(data), encoding="utf-8")
    sources = load_sources(source)
    write_site(source / "site", render(sources).files)
    return [str(fault) for fault in check_site(sources, source / "site").faults if fault.kind != "claim"]


def with_tokens(data: dict[str, Any], tokens: list[str], text: str) -> None:
    """Tokens behind the shipped ones, with weights of their own; the last of them is likely wherever *f* is."""
    chance = random.Random(1)
    data["vocabulary"] += tokens
    data["weights"]["W_E"] += [[chance.randint(-10, 10) / 10 for _ in range(4)] for _ in tokens]
    for row, likely in zip(data["weights"]["W_U"], (3, 3, 0, 3), strict=True):
        row += [chance.randint(-10, 10) / 10 for _ in tokens[1:]] + [likely]
    data |= {"text": text, "next": tokens[-1]}


@pytest.mark.parametrize("likely", ["<script>", "&amp;", "]", "7"])
def test_odd_tokens_as_text_and_as_the_most_likely_one(source: Path, likely: str) -> None:
    data = shipped_data()
    with_tokens(data, ['"', "|", "{{x}}", "$", "_", "🙂", "0.5³", likely], f"the|{likely}0.5³_ cat")
    assert other_faults(source, data) == []
    page = (source / "site" / "6-output.html").read_text("utf-8")
    assert f">{escape(likely)}</code>" in page
    assert f">{likely}</code>" not in page or likely == escape(likely)


@pytest.mark.parametrize(("name", "factor"), [("W_U", 30), ("W_U", 150), ("W_Q", 150)])
def test_a_matrix_may_be_sharpened_until_the_powers_of_e_are_infinite(source: Path, name: str, factor: float) -> None:
    data = shipped_data()
    data["weights"][name] = scaled(data["weights"][name], factor)
    assert other_faults(source, data) == []


def scaled(weights: Any, factor: float) -> Any:
    return [scaled(part, factor) for part in weights] if isinstance(weights, list) else weights * factor


@pytest.mark.parametrize(
    ("place", "weight"), [(("W_V", 1, 1, 0), 1e15), (("W_V", 1, 1, 0), 1.5e59), (("W_E", 2, 2), 1e308)]
)
def test_a_weight_may_be_huge(source: Path, place: tuple[Any, ...], weight: float) -> None:
    data = shipped_data()
    edit(data["weights"], place, weight)
    assert other_faults(source, data) == []


def test_the_table_of_one_logit_says_where_its_printed_digits_do_not_add_up(source: Path) -> None:
    data = shipped_data()
    edit(data["weights"], ("W_U", 0, 6), 12)
    assert other_faults(source, data) == []


def edit(weights: Any, place: tuple[Any, ...], weight: float) -> None:
    *way, last = place
    for step in way:
        weights = weights[step]
    weights[last] = weight


@pytest.mark.parametrize(("d", "heads", "d_head", "units"), [(6, 3, 2, 24), (5, 2, 2, 8)])
def test_other_sizes_build_with_the_shipped_pages(source: Path, d: int, heads: int, d_head: int, units: int) -> None:
    data, chance = shipped_data(), random.Random(2)

    def matrix(rows: int, columns: int) -> list[list[float]]:
        return [[chance.randint(-15, 15) / 10 for _ in range(columns)] for _ in range(rows)]

    data["weights"] = {
        "W_E": matrix(12, d), "W_pos": matrix(8, d), "W_O": matrix(heads * d_head, d), "W_U": matrix(d, 12),
        "W_in": matrix(d, units), "b_in": matrix(1, units)[0], "W_out": matrix(units, d), "b_out": matrix(1, d)[0],
    } | {name: [matrix(d, d_head) for _ in range(heads)] for name in ("W_Q", "W_K", "W_V")}  # fmt: skip
    assert other_faults(source, data) == []


@pytest.mark.parametrize("change", [{"activation": "gelu_erf"}, {"activation": "gelu_tanh", "layer_norm_eps": 0}])
def test_other_settings_build_with_the_shipped_pages(source: Path, change: dict[str, Any]) -> None:
    assert other_faults(source, shipped_data() | change) == []


def test_a_tied_toy_with_no_unembedding_builds_with_the_shipped_pages(source: Path) -> None:
    data = shipped_data() | {"tied": True}
    del data["weights"]["W_U"]
    assert other_faults(source, data) == []


def test_other_words_in_the_places_of_the_shipped_ones_keep_every_sentence(source: Path) -> None:
    toy = (source / "content" / "toy.toml").read_text("utf-8")
    words = {"the": "der", "cat": "<b>", "climb": "kletter", "roof": "7", '"ed"': '"te"'}
    for old, new in {"climbed": "kletterte", **words, "<|endoftext|>": "]"}.items():
        toy = toy.replace(old, new)
    assert other_faults(source, tomllib.loads(toy)) == []
    sources = load_sources(source)
    assert render(sources).broken == []
    assert '<code class="token spaced">␣7</code>' in (source / "site" / "6-output.html").read_text("utf-8")
