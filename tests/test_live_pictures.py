"""After an edit every picture is drawn from the new numbers: lengths, places, thickness, and how many there are."""

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from toys import load, shipped_data, shipped_runs

from sevensteps.engine.ops import most_likely_first
from sevensteps.engine.sampling import draw
from sevensteps.engine.steps import Trace
from sevensteps.web.scales import scaled

STATES: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "weights": {"set": {"W_U.0.7": 2, "W_V.1.1.0": -1, "W_pos.4.2": 1.5, "W_E.6.0": -1, "W_E.5.3": 1}},
    "four tokens": {"text": "the cat climbed"},
    "seven tokens": {"text": "the cat climbed the dog."},
    "one token": {"text": "the"},
    "mask off": {"off": ["mask_off"]},
}
#: Boxes in pixels. A pseudo-element has no box of its own: a bar is told by its computed left, width and borders.
MIDDLE = (
    "(elements) => elements.map((e) => e.getBoundingClientRect()).map((b) => [b.x + b.width / 2, b.y + b.height / 2])"
)
BARS = """(tracks) => tracks.map((track) => {
  const bar = getComputedStyle(track, "::before");
  const whole = track.clientWidth;
  return [parseFloat(bar.left) / whole, parseFloat(bar.width) / whole, 2 / whole];
})"""
#: Three places of --v, and pixels that are rounded to parts.
NEAR = 0.006

Draw = Callable[[str], Page]


@pytest.fixture(params=STATES.values(), ids=STATES.keys())
def state(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


@pytest.fixture
def traces(state: dict[str, Any], tmp_path: Path) -> dict[str, Trace]:
    """What Python's engine makes of the toy in this state."""
    data = shipped_data() | ({"text": state["text"]} if "text" in state else {})
    for ref, value in state.get("set", {}).items():
        name, *index = ref.split(".")
        entry = data["weights"][name]
        for i in index[:-1]:
            entry = entry[int(i)]
        entry[int(index[-1])] = value
    for run in state.get("off", []):
        data["patch"] = data["runs"][run]["patch"]
    return load(data, tmp_path).traces()


@pytest.fixture
def now(traces: dict[str, Trace]) -> Trace:
    return traces["main"]


@pytest.fixture
def drawn(new_page: Callable[..., Page], site: Path, state: dict[str, Any]) -> Draw:
    """Opens a page and brings the toy into the state."""

    def open_page(name: str) -> Page:
        page = new_page(viewport={"width": 1280, "height": 900})
        page.goto((site / f"{name}.html").as_uri())
        page.evaluate(f"change({json.dumps(state)})")
        return page

    return open_page


def middles(page: Page, selector: str) -> list[tuple[float, float]]:
    return [(x, y) for x, y in page.locator(selector).evaluate_all(MIDDLE)]


def assert_bars(page: Page, selector: str, expected: list[tuple[float, float]]) -> None:
    """Each bar begins and is as long as expected, as parts of its track. A bar is never shorter than its edge."""
    found = page.locator(f"{selector} .track[data-v]").evaluate_all(BARS)
    assert len(found) == len(expected)
    for (start, length, edge), (begins, long) in zip(found, expected, strict=True):
        assert (start, length) == pytest.approx((begins, max(long, edge)), abs=NEAR)


def style(page: Page, selector: str, name: str) -> list[str]:
    return page.locator(selector).evaluate_all(f"(all) => all.map((e) => getComputedStyle(e)[{json.dumps(name)}])")


def words(page: Page, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(selector).all_text_contents()]


def of_last_row(trace: Trace, name: str) -> list[float]:
    return [float(v) for v in trace[name][-1]]


# Bars


def test_the_bars_of_the_softmax_are_as_long_as_their_numbers(drawn: Draw, now: Trace) -> None:
    page = drawn("6-output")
    z, e, p = (of_last_row(now, name) for name in ("logits", "logits.exp", "probs"))
    low, high = min(0, *z), max(0, *z)
    order = [int(k) for k in most_likely_first(now["probs"][-1])]
    assert words(page, ".softmax-picture tbody th") == [now.vocabulary[k] for k in order]
    expected = [
        bar
        for k in order
        for bar in (
            ((min(0, z[k]) - low) / (high - low), abs(z[k]) / (high - low)),
            (0, e[k] / max(e)),
            (0, p[k] / max(p)),
        )
    ]
    assert_bars(page, ".softmax-picture", expected)


def test_every_row_of_the_text_has_a_bar_for_its_loss(drawn: Draw, now: Trace) -> None:
    page = drawn("6-output")
    losses, uniform = [float(v) for v in now["loss"]], float(now["loss.uniform"])
    longest = max(*losses, uniform)
    assert_bars(page, ".losses-picture", [(0, loss / longest) for loss in losses])
    targets = [now.vocabulary[int(i)] for i in now["targets"]]
    names = [f"{i} {token} → {target}" for i, (token, target) in enumerate(zip(now.tokens, targets, strict=True), 1)]
    assert words(page, ".losses-picture [data-each] .name") == names
    track = page.locator(".losses-picture .track").first.evaluate("(e) => e.clientWidth")
    line = "(row) => parseFloat(getComputedStyle(row, '::before').left)"
    mean = page.locator(".losses-picture .loss").first.evaluate(line)
    assert mean / track == pytest.approx(float(now["loss.mean"]) / longest, abs=NEAR)


def test_the_stretches_of_a_draw_fill_the_whole_and_the_arrow_stands_in_the_one_drawn(drawn: Draw, now: Trace) -> None:
    page = drawn("7-generation")
    p = now["probs"][-1]
    r = float(shipped_runs()["r"])
    widths = page.locator(".whole > span").evaluate_all("(all) => all.map((e) => e.getBoundingClientRect().width)")
    whole = page.locator(".whole").evaluate("(e) => e.clientWidth")
    assert [width / whole for width in widths] == pytest.approx(sorted(map(float, p), reverse=True), abs=NEAR)
    hit = now.vocabulary[draw(p, r)]
    assert words(page, ".whole .hit") == [hit]
    assert [text.split()[0] for text in words(page, ".shares .hit")] == [hit]
    box = page.locator(".whole .hit").bounding_box()
    ((middle, _),) = middles(page, ".marker span")
    assert box is not None
    assert box["x"] <= middle <= box["x"] + box["width"]


# Number lines


def test_the_balls_stand_at_their_values_on_the_number_lines(drawn: Draw, now: Trace) -> None:
    page = drawn("6-output")
    ((zero, _),) = middles(page, ".norm-picture .zero path")
    names = ("resid_post", "ln_final.centred", "ln_final.normalized")
    values = {name: of_last_row(now, name) for name in names}
    all_values = [0.0, *chain(*values.values())]
    low, high = min(all_values), max(all_values)
    line = page.locator(".norm-picture .line").first.bounding_box()
    assert line is not None
    unit = line["width"] / 420 * 360 / (high - low)  # the lines are 420 long, the values have 360 of them
    for k, name in enumerate(names):
        balls = f".norm-picture .entries >> nth={k} >>"
        order = [int(i) for i in most_likely_first(now[name][-1])]
        assert words(page, f"{balls} .dim") == [str(i + 1) for i in order]
        places = [x - zero for x, _ in middles(page, f"{balls} circle")]
        assert places == pytest.approx([values[name][i] * unit for i in order], abs=1)
        heights = [y for _, y in middles(page, f"{balls} circle")]
        assert all(upper < lower for lower, upper in zip(heights[::2], heights[1::2], strict=False))
    ((mean, _),) = middles(page, ".norm-picture .mean path")
    assert mean - zero == pytest.approx(float(now["ln_final.mean"][-1]) * unit, abs=1)


# Rows that look back


def test_an_arrow_goes_from_the_last_box_to_each_and_is_as_thick_as_the_weight(drawn: Draw, now: Trace) -> None:
    page = drawn("3-query-key-value")
    boxes = middles(page, ".head-picture rect")
    assert words(page, ".head-picture .token") == list(now.tokens)
    arrows = page.locator(".head-picture .to .look").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.right])"
    )
    ends = [(x, boxes[-1][0]) for x, _ in boxes[:-1]]
    assert arrows[:-1] == [pytest.approx(end, abs=1) for end in ends]
    one = (boxes[1][0] - boxes[0][0]) / 80 if len(boxes) > 1 else 0
    weights = [float(v) for v in now["attn.pattern.0"][-1]]
    thick = [float(width.removesuffix("px")) for width in style(page, ".head-picture .to .look", "strokeWidth")]
    assert thick[:-1] == pytest.approx([(1 + 9 * weight) * one for weight in weights[:-1]], abs=0.02)
    loops = page.locator(".head-picture .loop")
    assert [loops.nth(i).is_visible() for i in range(loops.count())] == [False] * (len(boxes) - 1) + [True]


def test_the_machine_has_a_column_for_each_token_and_curves_to_what_each_head_reads(drawn: Draw, now: Trace) -> None:
    page = drawn("index")
    count = len(now.tokens)
    for band in page.locator(".machine .band").all():
        assert band.locator(".column").count() == count
    assert words(page, ".machine .band code") == list(now.tokens)
    assert words(page, ".again .row code") == list(now.tokens)
    assert page.locator(".text-in").inner_text() == "".join(now.tokens).replace("␣", " ")
    columns = [x for x, _ in middles(page, ".machine .band:has(code) .column")]
    assert [x for x, _ in middles(page, ".ribbons i")] == pytest.approx(columns, abs=1)
    for head in (0, 1):
        weights = [float(v) for v in now[f"attn.pattern.{head}"][-1]]
        curves = f".looks svg > g:nth-child({head + 1}) path"
        thick = [float(width.removesuffix("px")) for width in style(page, curves, "strokeWidth")]
        assert thick == pytest.approx([1 + 9 * weight for weight in weights], abs=0.01)
        ends = page.locator(curves).evaluate_all(
            "(all) => all.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.right])"
        )
        assert ends[:-1] == [pytest.approx((x, columns[-1]), abs=1.5) for x in columns[:-1]]


def test_the_last_ribbon_of_the_machine_opens_into_the_probabilities(drawn: Draw, now: Trace) -> None:
    page = drawn("index")
    funnel = page.locator(".funnel").bounding_box()
    ribbon = page.locator(".ribbons i").last.bounding_box()
    assert funnel is not None
    assert ribbon is not None
    tip = page.locator(".funnel").evaluate("(e) => getComputedStyle(e).clipPath.match(/[\\d.]+(?=%)/)[0]")
    assert funnel["x"] + funnel["width"] * float(tip) / 100 == pytest.approx(ribbon["x"] + ribbon["width"] / 2, abs=1)
    p = of_last_row(now, "probs")
    order = [int(k) for k in most_likely_first(now["probs"][-1])][:5]
    assert words(page, ".top-tokens code") == [now.vocabulary[k] for k in order]
    assert_bars(page, ".top-tokens", [(0, p[k]) for k in order])


def test_the_dots_of_the_machine_and_the_bold_units_are_those_that_fire(drawn: Draw, now: Trace) -> None:
    fires = [bool(v > 0.0005) for row in now["mlp.post"] for v in row]
    dots = style(drawn("index"), ".fires i", "backgroundColor")
    assert [not dot.endswith("/ 0)") for dot in dots] == fires
    page = drawn("5-block")
    bold = [weight == "600" for weight in style(page, ".units-picture td data", "fontWeight")]
    units, rows = now["mlp.post"].shape[1], len(now.tokens)
    assert bold == [bool(now["mlp.post"][i, unit] > 0) for unit in range(units) for i in range(rows)]


def test_hatched_are_the_masked_weights_and_no_others(drawn: Draw, now: Trace) -> None:
    page = drawn("4-mask-and-heads")
    rows = range(len(now.tokens))
    for head in (0, 1):
        cells = f".patterns > div:nth-child({head + 1}) td"
        hatched = ["repeating" in image for image in style(page, cells, "backgroundImage")]
        assert hatched == [bool(now[f"attn.scores.{head}"][i, j] == float("-inf")) for i in rows for j in rows]


# Points and rows of a matrix


def test_the_points_of_the_map_lie_at_the_entries_of_their_rows(drawn: Draw, now: Trace) -> None:
    page = drawn("2-embeddings")
    ((axis, _),) = middles(page, ".map-picture .upright")
    ((_, level),) = middles(page, ".map-picture .level")
    width = page.locator(".map-picture .level").bounding_box()
    assert width is not None
    one = width["width"] / 424  # the axis is 424 long
    across, up = now["W_E"][:, 0], now["W_E"][:, 3]

    def scale(values: Any, length: float) -> float:
        return one * length / float(max(0, *values) - min(0, *values))

    points = [
        ((x - axis) / scale(across, 275), (level - y) / scale(up, 240)) for x, y in middles(page, ".map-picture circle")
    ]
    entries = [(float(x), float(y)) for x, y in zip(across, up, strict=True)]
    assert points == [pytest.approx(entry, abs=2 * NEAR) for entry in entries]


def test_lit_are_the_rows_of_the_last_token_and_of_the_last_position(drawn: Draw, now: Trace) -> None:
    page = drawn("2-embeddings")
    assert words(page, ".lookup .on") == [now.tokens[-1], str(len(now.tokens))]
    scale = max(abs(now["W_E"]).max(), abs(now["W_pos"]).max(), abs(now["resid_pre"][-1]).max())
    shade = "(all) => all.map((e) => Number(getComputedStyle(e).getPropertyValue('--v')))"
    x = page.locator(".lookup .sum .strip").last.locator(".cell").evaluate_all(shade)
    assert x == pytest.approx([float(v) / scale for v in now["resid_pre"][-1]], abs=0.001)


# The text goes on


def test_a_generation_has_a_row_for_each_turn_with_the_tokens_so_far(drawn: Draw, traces: dict[str, Trace]) -> None:
    page = drawn("7-generation")
    given, all_ = len(traces["main"].tokens), traces["generated"]
    turns = range(given, len(all_.tokens) + 1)
    so_far = [page.locator(".generation > li").nth(i).locator(".so-far code") for i in range(len(turns))]
    assert page.locator(".generation > li").count() == len(turns)
    assert [tokens.all_inner_texts() for tokens in so_far] == [list(all_.tokens[:end]) for end in turns]
    # Appended tokens have another tint than those given.
    tint = "(all) => all.map((e) => getComputedStyle(e).backgroundColor)"
    for tokens, end in zip(so_far, turns, strict=True):
        tints = tokens.evaluate_all(tint)
        assert [colour != tints[0] for colour in tints] == [i >= given for i in range(end)]
    chosen = [int(most_likely_first(all_["probs"][end - 1])[0]) for end in turns]
    assert words(page, ".generation .next b") == [all_.vocabulary[k] for k in chosen]
    lengths = [(0.0, float(all_["probs"][end - 1][k])) for end, k in zip(turns, chosen, strict=True)]
    assert_bars(page, ".generation", lengths)


# The rule itself, in Python


def test_elements_with_the_same_scale_share_it() -> None:
    runs = shipped_runs()
    html = '<i data-v="W_E.7.0"></i><i data-v="W_E.6.3"></i><i data-v="W_E.6.3" data-scale="one" style="--i:1"></i>'
    assert scaled(html, runs) == (
        '<i data-v="W_E.7.0" style="--v:1.000"></i><i data-v="W_E.6.3" style="--v:-0.667"></i>'
        '<i data-v="W_E.6.3" data-scale="one" style="--i:1;--v:-1.000"></i>'
    )


def test_a_span_holds_zero_even_where_all_values_are_above_it() -> None:
    html = '<i data-v="W_E.7.0" data-scale="span"></i><i data-v="W_E.9.0" data-scale="span"></i>'
    styles = [part.split('"')[0] for part in scaled(html, shipped_runs()).split('style="')[1:]]
    assert styles == ["--v:1.000;--zero:0.000", "--v:0.333;--zero:0.000"]
