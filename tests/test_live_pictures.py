"""After an edit every picture is drawn from the new numbers: lengths, places, thickness, and how many there are."""

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_pages import change
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
        change(page, state)
        return page

    return open_page


def middles(page: Page, selector: str) -> list[tuple[float, float]]:
    return [(x, y) for x, y in page.locator(selector).evaluate_all(MIDDLE)]


def sizes(page: Page, selector: str) -> list[tuple[float, float]]:
    """Width and height of what is drawn, without its stroke."""
    boxes = "(all) => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
    return [(width, height) for width, height in page.locator(selector).evaluate_all(boxes)]


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


def test_the_stretches_of_a_draw_fill_the_whole_and_the_line_stands_in_the_one_drawn(drawn: Draw, now: Trace) -> None:
    page = drawn("7-generation")
    change(page, {"set": {"r": 0.3}})
    p = now["probs"][-1]
    order = [int(k) for k in most_likely_first(p)]
    widths = page.locator(".whole > span").evaluate_all("(all) => all.map((e) => e.getBoundingClientRect().width)")
    whole = page.locator(".whole").evaluate("(e) => e.clientWidth")
    assert [width / whole for width in widths] == pytest.approx([float(p[k]) for k in order], abs=NEAR)
    hit = now.vocabulary[draw(p, 0.3)]
    assert words(page, ".whole .marked") == [hit]
    assert words(page, ".draw-picture tr.marked th") == [hit]
    # Below, one row for each: its own stretch ends at the running sum. A dashed line goes through all of them.
    rows = page.locator(".draw-picture td .track").evaluate_all(
        """(tracks) => tracks.map((track) => {
          const [all, own] = [track, track.firstChild].map((e) => e.getBoundingClientRect());
          const line = parseFloat(getComputedStyle(track, "::after").left) + 1;
          return [own.left - all.left, own.right - all.left, line].map((x) => x / all.width);
        })"""
    )
    ends = [float(v) for v in p[order].cumsum()]
    due = [(end - float(p[k]), end, 0.3) for k, end in zip(order, ends, strict=True)]
    assert [tuple(row) for row in rows[:6]] == [pytest.approx(one, abs=2 * NEAR) for one in due[:6]]


def test_the_dial_of_the_draw_stands_over_its_line(drawn: Draw) -> None:
    page = drawn("7-generation")
    dial = page.locator(".draw-picture input")
    dial.fill("0.75")
    box, track = dial.bounding_box(), page.locator(".draw-picture td .track").first.bounding_box()
    assert box is not None
    assert track is not None
    thumb = 1.5 * page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")
    middle = box["x"] + thumb / 2 + (box["width"] - thumb) * 0.75 / 0.999
    assert middle == pytest.approx(track["x"] + track["width"] * 0.75, abs=1.5)
    ((marker, _),) = middles(page, ".marker span")
    assert marker == pytest.approx(track["x"] + track["width"] * 0.75, abs=1.5)


def test_attention_off_and_on_stand_back_to_back_in_one_scale(drawn: Draw, traces: dict[str, Trace]) -> None:
    page = drawn("5-block")
    off, on = (of_last_row(traces[run], "probs") for run in ("attention_off", "main"))
    order = [int(k) for k in most_likely_first(traces["main"]["probs"][-1])]
    assert words(page, ".versus tbody th") == [traces["main"].vocabulary[k] for k in order]
    longest = max(*off, *on)
    assert_bars(page, ".versus", [(0, row[k] / longest) for k in order for row in (off, on)])
    # Those of the left column are mirrored: they grow away from the tokens.
    mirrored = style(page, ".versus .track", "transform")
    assert [matrix != "none" for matrix in mirrored] == [True, False] * len(order)


def test_under_a_sum_a_bar_goes_to_what_was_there_and_on_to_the_sum(drawn: Draw, now: Trace) -> None:
    page = drawn("5-block")
    x, h, y = (of_last_row(now, name) for name in ("resid_pre", "resid_mid", "resid_post"))
    low, high = min(0, *x, *h, *y), max(0, *x, *h, *y)
    found = page.locator(".was").evaluate_all(
        """(bars) => bars.map((bar) => [bar, bar.firstChild].flatMap((e) => {
          const { left, width } = getComputedStyle(e, "::before");
          return [parseFloat(left), parseFloat(left) + parseFloat(width)].map((x) => x / bar.clientWidth);
        }))"""
    )
    pairs = [*zip(x, h, strict=True), *zip(h, y, strict=True)]
    due = [[*sorted((0.0, before)), *sorted((before, after))] for before, after in pairs]
    parts = [[(v - low) / (high - low) for v in bar] for bar in due]
    assert found == [pytest.approx(bar, abs=2 * NEAR) for bar in parts]


def test_the_arrows_of_the_needle_have_their_length_and_rise_with_their_logit(drawn: Draw, now: Trace) -> None:
    page = drawn("6-output")
    f, columns = now["ln_final.normalized"][-1], now["W_U"]
    lengths, z = np.sqrt((columns**2).sum(axis=0)), now["logits"][-1]
    needle = float(np.sqrt((f**2).sum()))
    longest = max(needle, *map(float, lengths))
    boxes = sizes(page, ".rays path:not(.foot)")
    ((_, high),) = sizes(page, ".rays-picture .needle path")
    unit = high / (needle / longest)
    order = [int(k) for k in most_likely_first(now["probs"][-1])]
    assert words(page, ".rays .token") == [now.vocabulary[k] for k in order]
    for k, (wide, high) in zip(order, boxes, strict=True):
        rise = float(z[k]) / needle
        assert high / unit == pytest.approx(abs(rise) / longest, abs=0.012)
        assert np.hypot(wide, high) / unit == pytest.approx(float(lengths[k]) / longest, abs=0.02)
    heights = [y for _, y in middles(page, ".rays .token")]
    assert heights == sorted(heights)


# Number lines


def test_the_balls_stand_at_their_values_on_the_number_lines(drawn: Draw, now: Trace) -> None:
    page = drawn("6-output")
    ((zero, _),) = middles(page, ".norm-picture .zero path")
    names = ("resid_post", "ln_final.centred", "ln_final.normalized")
    values = {name: of_last_row(now, name) for name in names}
    all_values = [0.0, 1.0, float(now["ln_final.scale"][-1]), *chain(*values.values())]
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
    spreads = page.locator(".norm-picture .spread").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect().width)"
    )
    assert spreads == pytest.approx([2 * float(now["ln_final.scale"][-1]) * unit, 2 * unit], abs=1)
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


def test_no_label_of_the_map_covers_another_and_each_stays_below_its_point(drawn: Draw) -> None:
    page = drawn("2-embeddings")
    change(page, {"set": {"W_E.7.0": 1, "W_E.9.0": 1, "W_E.8.3": -0.95}})
    boxes = page.locator(".map-picture .across text").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.top + 3, b.right, b.bottom - 3])"
    )
    for k, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:k]:
            assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top
    points = [x for x, _ in middles(page, ".map-picture circle")]
    assert [(left + right) / 2 for left, _, right, _ in boxes] == pytest.approx(points, abs=1)


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
