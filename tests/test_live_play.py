"""The controls of pages 1, 4, 6 and 7: what a reader plays with shows what Python's engine gives."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_pages import change, fragment, notice, open_page, settled
from playwright.sync_api import Locator, Page, expect
from toys import shipped, shipped_traces

from sevensteps.engine.ops import most_likely_first
from sevensteps.engine.sampling import draw, generate, next_probs
from sevensteps.engine.tokenizer import Cut, NoTokenFits, cuts, visible
from sevensteps.engine.toy import END
from sevensteps.printing import shown

TOY = shipped()
MAIN = shipped_traces()["main"]
IDS = [int(i) for i in MAIN["ids"]]
POSITIONS = len(MAIN["W_pos"])
Open = Callable[..., Page]


@pytest.fixture
def opened(page: Page, site: Path) -> Open:
    """Opens a page of the site by its name, with the state that an address carries."""

    def open_with(name: str, state: str = "") -> Page:
        open_page(page, site, name, state)
        return page

    return open_with


def column(page: Page, row: str, within: str = "main table") -> dict[int, float]:
    """The numbers that a part of the page marks as entries of a row, by token or place."""
    settled(page)
    script = "(marks) => marks.map((mark) => [mark.dataset.ref, mark.getAttribute('value')])"
    marks = page.locator(f"{within} data[data-ref^='{row}.']").evaluate_all(script)
    return {int(ref.rpartition(".")[2]): float(value) for ref, value in marks}


def texts(rows: Locator) -> list[str]:
    settled(rows.page)
    return [" ".join(text.split()) for text in rows.all_inner_texts()]


def press(control: Locator, *keys: str) -> None:
    control.focus()
    for key in keys:
        control.press(key)
    settled(control.page)


# Page 1: typing a text


def taken(text: str) -> tuple[list[Cut], NoTokenFits | None]:
    """The cuts of a text as far as they go, and what the tokenizer says then."""
    found: list[Cut] = []
    try:
        for cut in cuts(text, TOY.vocabulary):
            found.append(cut)
    except NoTokenFits as stop:
        return found, stop
    return found, None


def assert_cut(page: Page, text: str) -> None:
    found, stop = taken(text)
    seen = visible(text)
    ids = [TOY.vocabulary.index(cut.fits[0]) for cut in found]
    rows = [
        [str(i + 1), seen[cut.start :], " ".join(cut.fits), cut.fits[0], str(ids[i])] for i, cut in enumerate(found)
    ]
    if stop:
        rows.append([str(len(found) + 1), seen[stop.place :], "", "no token fits", "–"])
    table = page.locator("table:has(#cuts-table) tbody tr")
    assert [[" ".join(cell.split()) for cell in row.split("\t")] for row in table.all_inner_texts()] == rows
    marked = page.locator("ol.cuts mark").all_text_contents()
    assert marked == [cut.fits[0] for cut in found] + ([seen[stop.place]] if stop else [])
    assert page.locator("ol.cuts code.text").all_text_contents() == [seen] * len(rows)


PIECE = st.sampled_from([token.replace("␣", " ") for token in TOY.vocabulary] * 3 + [" ", "a", "é", "🙂", "<"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(PIECE, min_size=1, max_size=10).map("".join))
def test_a_typed_text_is_cut_as_the_tokenizer_cuts_it_or_up_to_where_it_stops(opened: Open, text: str) -> None:
    page = opened("1-tokens")
    page.get_by_label("Type another text").fill(text)
    assert_cut(page, text)
    found, stop = taken(text)
    fault = page.locator(".typed [role=status]")
    expect(fault).to_have_text(str(stop) if stop else fault.inner_text() if len(found) > POSITIONS else "")
    assert bool(fault.inner_text()) == (stop is not None or len(found) > POSITIONS)


def test_the_cuts_follow_the_text_wherever_it_is_changed_and_its_ids_can_be_asked(opened: Open) -> None:
    page = opened("1-tokens", "#text=the%20dog.")
    assert_cut(page, "the dog.")
    assert column(page, "ids", "[data-cuts]") == {0: 0, 1: 3, 2: 10}


# Page 4: the switches


@pytest.mark.parametrize("run", ["mask_off", "head_1_off", "head_2_off"])
def test_a_switch_shows_the_patterns_and_the_rows_of_its_run(opened: Open, run: str) -> None:
    page = opened("4-mask-and-heads")
    switch = page.locator(f"main [data-switch={run}]")
    for expected in (run, "main"):
        press(switch, "Space")
        trace = shipped_traces()[expected]
        for name in ("attn.pattern.0.2", "attn.pattern.1.2", "resid_mid.4"):
            assert list(column(page, name).values())[: len(trace[name])] == pytest.approx(trace[name], abs=1e-12)


# Page 6


def order_shown(page: Page, table: str) -> list[str]:
    return texts(page.locator(f"{table} tbody th"))


def test_the_softmax_stands_in_the_order_of_p_or_of_the_ids(opened: Open) -> None:
    page = opened("6-output")
    by_p = [TOY.vocabulary[i] for i in most_likely_first(MAIN["probs.4"])]
    assert order_shown(page, ".softmax-picture") == by_p
    press(page.get_by_label("most likely first"), "ArrowRight")
    assert order_shown(page, ".softmax-picture") == list(TOY.vocabulary)
    bars = page.locator(".softmax-picture tbody [data-ref^='probs.4.']")
    assert bars.evaluate_all("(all) => all.map((one) => one.dataset.ref)") == [f"probs.4.{i}" for i in range(12)]
    press(page.get_by_label("by id"), "ArrowLeft")
    assert order_shown(page, ".softmax-picture") == by_p


def test_the_order_of_p_follows_a_changed_weight_and_that_of_the_ids_does_not(opened: Open) -> None:
    page = opened("6-output")
    change(page, {"set": {"W_U.0.3": 9}})
    assert order_shown(page, ".softmax-picture")[-1] != "." or order_shown(page, ".softmax-picture")[0] != "␣roof"
    page.get_by_label("by id").check()
    change(page, {"set": {"W_U.0.3": 8}})
    assert order_shown(page, ".softmax-picture") == list(TOY.vocabulary)


@pytest.mark.parametrize("a", [-5.0, -0.7, 3.3])
def test_a_constant_on_every_logit_changes_every_power_and_no_probability(opened: Open, a: float) -> None:
    page = opened("6-output")
    page.get_by_role("spinbutton", name="a", exact=True).fill(str(a))
    expect(page.get_by_role("slider", name="a", exact=True)).to_have_value(str(a).removesuffix(".0"))
    shifted, p = column(page, "shifted_z"), column(page, "shifted_p")
    assert len(p) >= 4
    for i in p:
        assert shifted[i] == pytest.approx(MAIN["logits.4"][i] + a, abs=1e-12)
        assert p[i] == pytest.approx(MAIN["probs.4"][i], abs=1e-12)


def test_the_odds_of_any_two_tokens_are_read_both_ways(opened: Open) -> None:
    page = opened("6-output")
    z, p = MAIN["logits.4"], MAIN["probs.4"]
    for i, j in pairwise([0, 10, 6, 11, 5, 8, 8, 1, 2, 3, 4, 7, 9]):
        page.get_by_label("this one").select_option(TOY.vocabulary[i])
        page.get_by_label("against").select_option(TOY.vocabulary[j])
        for ref, value in (("odds_gap", z[i] - z[j]), ("odds", np.exp(z[i] - z[j])), ("odds_ratio", p[i] / p[j])):
            result = page.locator(f"main .worked[data-worked={ref}] data").last
            expect(result).to_have_text(shown(float(value)))
            assert float(result.get_attribute("value") or "") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("label", "run"), [("at x", "block_off"), ("at h", "mlp_off"), ("at y", "main")])
def test_the_lens_lists_the_tokens_that_lead_where_the_stream_is_read(opened: Open, label: str, run: str) -> None:
    page = opened("6-output")
    page.get_by_label(label).check()
    p = shipped_traces()[run]["probs.4"]
    lead = most_likely_first(p)[:6]
    table = "#lens ~ .ordered"
    assert order_shown(page, table) == [TOY.vocabulary[i] for i in lead]
    rows = texts(page.locator(f"{table} tbody tr"))
    readings = [shipped_traces()[name]["probs.4"] for name in ("block_off", "mlp_off", "main")]
    assert rows == [" ".join([TOY.vocabulary[i], *(shown(float(q[i])) for q in readings)]) for i in lead]


# Page 7: the player

DIALS = {"temperature": "temperature τ", "k": "top-k: keep k", "limit": "top-p: reach", "r": "random r"}


def turn(page: Page, **dials: float) -> None:
    for name, value in dials.items():
        page.get_by_role("spinbutton", name=DIALS[name]).fill(f"{value:g}")
    settled(page)


def appended(page: Page) -> list[str]:
    settled(page)
    return page.locator(".player .so-far code").all_text_contents()[len(IDS) :]


def button(page: Page, name: str) -> None:
    press(page.get_by_role("button", name=name), "Enter")


def next_token(page: Page) -> str:
    settled(page)
    return page.locator(".player [data-token='id play/play_drawn']").inner_text()


def test_any_dials_keep_and_draw_what_the_engine_does(opened: Open) -> None:
    page = opened("7-generation")
    chance = random.Random(7)
    for _ in range(30):
        temperature, k = chance.choice([0, 0.05, 0.3, 0.75, 1, 1.4, 2]), chance.randint(1, 12)
        limit, r = chance.randint(1, 19) / 20, chance.randint(0, 999) / 1000
        turn(page, temperature=temperature, k=k, limit=limit, r=r)
        p = next_probs(MAIN["logits.4"], temperature, k, limit)
        found = column(page, "play/play_p")
        assert {i for i, v in found.items() if v} == set(np.flatnonzero(p))
        assert [found[i] for i in range(12)] == pytest.approx(p, abs=1e-12)
        true = column(page, "play/probs.4")
        assert [true[i] for i in range(12)] == pytest.approx(MAIN["probs.4"], abs=1e-12)
        drawn = TOY.vocabulary[draw(p, r)]
        assert next_token(page) == drawn
        assert texts(page.locator(".player tr.marked th")) == [drawn]


def greedy() -> list[str]:
    end = TOY.vocabulary.index(END)
    return [TOY.vocabulary[i] for i in generate(TOY.logits_after, IDS, lambda z: int(z.argmax()), POSITIONS, end)]


def test_greedy_runs_to_the_end_token_says_so_and_restarts(opened: Open) -> None:
    page = opened("7-generation")
    turn(page, temperature=0)
    button(page, "Run to the end")
    assert appended(page) == greedy()
    assert appended(page)[-1] == END
    expect(page.locator(".player [role=status]")).to_have_text("The text ends with the end token: it is over.")
    expect(page.locator(".player-text > [data-token]")).to_be_hidden()
    expect(page.get_by_role("button", name="New seed")).to_be_disabled()
    button(page, "Append it")
    assert appended(page) == greedy()
    button(page, "Restart")
    expect(page.locator(".player-text > [data-token]")).to_be_visible()
    assert appended(page) == []
    expect(page.locator(".player [role=status]")).to_have_text("")
    assert next_token(page) == greedy()[0]


def test_each_appended_token_keeps_its_row_with_the_dials_of_its_moment(opened: Open) -> None:
    page = opened("7-generation")
    ids, rows = list(IDS), []
    for temperature, k, limit, r in ((1, 12, 1, 0.6), (0.5, 4, 0.9, 0.8), (2, 6, 0.75, 0.3)):
        turn(page, temperature=temperature, k=k, limit=limit, r=r)
        logits = TOY.logits_after(ids)
        p = next_probs(logits, temperature, k, limit)
        ids.append(draw(p, r))
        true = next_probs(logits)[ids[-1]]
        rows.append([TOY.vocabulary[ids[-1]], *map(shown, map(float, (true, p[ids[-1]], r, temperature, k, limit)))])
        button(page, "Append it")
        assert texts(page.locator("[data-picks] tr")) == [" ".join(row) for row in rows]
    assert appended(page) == [TOY.vocabulary[i] for i in ids[len(IDS) :]]
    if ids[-1] != TOY.vocabulary.index(END):
        expect(page.locator(".player [role=status]")).to_have_text("No position is left: the text is over.")
    assert list(column(page, "play/probs.5").values()) == pytest.approx([next_probs(TOY.logits_after(ids[:6]))[ids[6]]])


def test_a_reload_keeps_how_the_appended_tokens_were_drawn_and_a_link_leaves_it_out(
    opened: Open, new_page: Callable[..., Page]
) -> None:
    page = opened("7-generation")
    turn(page, r=0)
    button(page, "Append it")
    turn(page, r=0.9)
    button(page, "Append it")
    rows = texts(page.locator("[data-picks] tr"))
    tokens = appended(page)
    assert "play=" in fragment(page)
    page.reload()
    assert appended(page) == tokens
    assert texts(page.locator("[data-picks] tr")) == rows
    other = new_page()
    other.goto(page.url)
    assert appended(other) == tokens
    assert texts(other.locator("[data-picks] tr")) == [" ".join([*row.split()[:2], *"–––––"]) for row in rows]


def test_a_text_that_ends_with_the_end_token_is_over(opened: Open) -> None:
    page = opened("7-generation", "#text=the%20cat%3C%7Cendoftext%7C%3E")
    expect(page.locator(".player [role=status]")).to_have_text("The text ends with the end token: it is over.")
    expect(page.get_by_role("button", name="Append it")).to_be_disabled()


def mulberry32(seed: int, n: int) -> float:
    """The n-th number, from the reference code by Tommy Ettinger, with three decimals."""
    z = (seed + n * 0x6D2B79F5) % 2**32
    z = (z ^ z >> 15) * (z | 1) % 2**32
    z ^= (z + (z ^ z >> 7) * (z | 61)) % 2**32
    return (z ^ z >> 14) * 1000 // 2**32 / 1000


@pytest.mark.parametrize("seed", [1, 7, 2026])
def test_the_same_seed_gives_the_same_text_and_its_numbers_can_be_recomputed(opened: Open, seed: int) -> None:
    page = opened("7-generation")
    page.get_by_role("spinbutton", name="seed").fill(str(seed))
    turns = iter(range(1, POSITIONS))
    end = TOY.vocabulary.index(END)
    expected = list(
        generate(TOY.logits_after, IDS, lambda z: draw(next_probs(z), mulberry32(seed, next(turns))), POSITIONS, end)
    )
    button(page, "Run to the end")
    first = appended(page)
    assert first == [TOY.vocabulary[i] for i in expected]
    button(page, "Restart")
    for _ in first:
        button(page, "Append it")
    assert appended(page) == first


def test_with_a_seed_the_dial_r_turns_by_itself(opened: Open) -> None:
    page = opened("7-generation")
    r = page.get_by_role("slider", name=DIALS["r"])
    expect(r).to_be_enabled()
    button(page, "New seed")
    seed = int(page.get_by_role("spinbutton", name="seed").input_value())
    assert seed > 0
    expect(r).to_be_disabled()
    for n in (1, 2):
        assert float(r.input_value()) == mulberry32(seed, n)
        button(page, "Append it")
    page.get_by_role("spinbutton", name="seed").fill("0")
    expect(r).to_be_enabled()


@pytest.mark.parametrize("name", DIALS)
def test_a_slider_and_its_field_are_one_dial_by_keyboard(opened: Open, name: str) -> None:
    page = opened("7-generation")
    slider = page.get_by_role("slider", name=DIALS[name])
    field = page.get_by_role("spinbutton", name=DIALS[name])
    press(slider, "ArrowLeft")
    assert slider.input_value() == field.input_value()
    press(slider, "Home")
    assert field.input_value() == slider.get_attribute("min")
    press(field, "ArrowUp")
    assert slider.input_value() == field.input_value()
    assert float(field.input_value()) > float(field.get_attribute("min") or 0)


@pytest.mark.parametrize(("name", "beyond"), [("temperature", "-1"), ("k", "0"), ("limit", "0"), ("r", "1")])
def test_a_number_beyond_its_dial_changes_nothing_and_is_marked(opened: Open, name: str, beyond: str) -> None:
    page = opened("7-generation")
    before = column(page, "play/play_p")
    field = page.get_by_role("spinbutton", name=DIALS[name])
    was = field.input_value()
    field.fill(beyond)
    expect(field).to_have_attribute("aria-invalid", "true")
    assert column(page, "play/play_p") == before
    assert notice(page).startswith("This was left as it was")
    field.fill(was)
    expect(field).to_have_attribute("aria-invalid", "false")
    assert notice(page) == ""


def test_undo_takes_an_appended_token_back(opened: Open) -> None:
    page = opened("7-generation")
    page.get_by_role("spinbutton", name="seed").fill("7")
    button(page, "Append it")
    drawn = next_token(page)
    button(page, "Append it")
    page.keyboard.press("Control+z")
    assert len(appended(page)) == 1
    assert next_token(page) == drawn


def test_the_player_plays_with_a_changed_text_and_changed_weights(opened: Open) -> None:
    page = opened("7-generation", "#text=the%20dog&W_U.3.9=5&play_temperature=0")
    weights = {**TOY.weights, "W_U": TOY.weights["W_U"].copy()}
    weights["W_U"][3, 9] = 5
    changed = replace(TOY, weights=weights)
    end = TOY.vocabulary.index(END)
    ids = generate(changed.logits_after, [0, 3], lambda z: int(z.argmax()), POSITIONS, end)
    button(page, "Run to the end")
    assert page.locator(".player .so-far code").all_text_contents() == [
        "the",
        "␣dog",
        *(TOY.vocabulary[i] for i in ids),
    ]
