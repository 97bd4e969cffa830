"""What a reader changes: one state in the address, bound to every control, undone and taken back."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_pages import (
    AS_SHIPPED,
    ENTRIES,
    TENTHS,
    VOCABULARY,
    change,
    fragment,
    notice,
    open_page,
    settled,
    state,
    states,
    until,
    values,
)
from pages import LAB, PAGES, STEPS
from playwright.sync_api import Page, expect
from toys import load, shipped, shipped_data, shipped_runs, shipped_traces

from sevensteps.engine.faults import InputError
from sevensteps.engine.tokenizer import NoTokenFits, tokenize

BROWSER = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def shown_tags(page: Page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('*')].map((e) => e.tagName)")


def type_into(page: Page, selector: str, text: str) -> None:
    """As a person does: into a field that has the focus, one key after the other."""
    page.locator(selector).fill("")
    page.locator(selector).press_sequentially(text)


@pytest.fixture
def output(page: Page, site: Path) -> Page:
    """Page 6, its panel open."""
    open_page(page, site, "6-output")
    page.click("text=Change the toy")
    return page


@pytest.mark.parametrize("name", shipped().weights)
def test_every_weight_can_be_edited_on_the_page_that_introduces_it(page: Page, site: Path, name: str) -> None:
    step = shipped_traces()["main"].steps[name]
    open_page(page, site, STEPS[step.page - 1])
    own = {".".join((name, *map(str, index))) for index in np.ndindex(shipped().weights[name].shape)}
    marks = page.locator("td [data-ref].editable")
    assert own <= set(marks.evaluate_all("marks => marks.map((mark) => mark.dataset.ref)"))


# The notice


def test_what_the_address_lost_is_told_even_where_numbers_leave_the_range(page: Page, site: Path) -> None:
    open_page(page, site, "6-output", "#W_E.0.0=1e200&junk=1")
    settled(page)
    assert notice(page) == "Left out of the address: junk=1"
    change(page, {"set": {"W_E.0.0": 1e201}})
    assert "cannot be calculated" in notice(page)
    change(page, {"set": {"W_E.0.0": 1}})
    assert notice(page) == ""


# The address


@settings(BROWSER, max_examples=12)
@given(edit=states(TENTHS))
def test_a_state_survives_a_reload(edit: dict[str, Any], page: Page, site: Path) -> None:
    open_page(page, site, "1-tokens")
    change(page, edit)
    before, numbers, address = state(page), values(page), page.evaluate("address()")
    expect(page).to_have_url(address)
    page.reload()
    assert state(page) == before
    assert values(page) == numbers


def test_the_address_holds_differences_only(output: Page) -> None:
    change(output, {"set": {"W_U.3.6": 0.7, "W_E.0.0": 0}, "text": "the cat climbed the", "off": ["mask_off"]})
    assert fragment(output) == "#W_U.3.6=0.7&off=mask_off"


def test_an_unchanged_toy_has_no_fragment(output: Page) -> None:
    change(output, {"set": {"W_U.3.6": 0.7}})
    change(output, {"set": {"W_U.3.6": None}})
    until(output, "!location.href.includes('#')")
    assert state(output) == AS_SHIPPED


def test_links_to_other_pages_carry_the_state_and_their_anchor(output: Page) -> None:
    change(output, {"set": {"W_U.3.6": 0.7}, "text": "the dog"})
    before = state(output)
    output.click("nav.path a >> nth=2")
    assert "3-query-key-value.html" in output.url
    assert state(output) == before
    output.click("main dfn a >> nth=0")
    assert re.search(r"glossary\.html#term-[\w-]+&W_U\.3\.6=0\.7&text=the%20dog$", output.url)
    assert state(output) == before
    until(output, "Math.abs(byId(location.hash.slice(1).split('&')[0]).getBoundingClientRect().top) < 100")


def test_an_anchor_of_the_same_page_keeps_the_state_and_jumps(page: Page, site: Path) -> None:
    open_page(page, site, "glossary", "#W_U.3.6=0.7")
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('afterbegin', '<a id=go href=\"#term-logit\">go</a>')"
    )
    page.click("#go")
    until(page, "location.hash === '#term-logit&W_U.3.6=0.7'")
    assert state(page)["set"] == {"W_U.3.6": 0.7}
    assert page.evaluate("scrollY") > 0


def test_another_address_in_the_same_tab_is_taken(output: Page) -> None:
    output.evaluate("location.hash = '#W_U.3.6=2'")
    until(output, "live.state.set['W_U.3.6'] === 2")
    output.evaluate("history.back()")
    until(output, "!('W_U.3.6' in live.state.set)")


def test_a_copied_link_opens_the_same_numbers(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    open_page(page, site, "6-output")
    change(page, {"set": {"W_out.1.2": -0.35}, "text": "the dog climbed the", "next": 7, "off": ["tied"]})
    page.click("[data-do=copy]")
    until(page, "document.getElementById('notice').textContent")
    assert notice(page) == "Link copied."
    other = new_page()
    other.goto(page.evaluate("navigator.clipboard.readText()"))
    assert state(other) == state(page)
    assert values(other) == values(page)


def test_where_no_clipboard_is_the_address_itself_is_the_link(output: Page) -> None:
    output.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    change(output, {"set": {"W_U.3.6": 0.7}})
    output.click("[data-do=copy]")
    assert notice(output) == "Copy the link from the address bar."
    until(output, "location.href === address() && location.hash")


HOSTILE = [
    "__proto__=1", "constructor=1", "__proto__.0.0=1", "toString=1", "W_U.__proto__=1", "off=constructor",
    "off=__proto__", "off=dog", "off=", "at=constructor/p", "at=__proto__", "at=W_U", "at=", "next=12", "next=-1",
    "next=1.0", "next=1,2", "next=01", "next=", "play=99", "play=1,2", "play=", "play=length", "?", "??", "+=1",
    "W_U=1", "W_U.3=1", "W_U.4.0=1",
    "W_U.3.12=1", "W_U.3.6.0=1", "W_U.03.6=1", "W_U.last.6=1", "W_U.-1.6=1", "main/W_U.3.6=1", "logits.4.6=1",
    "ids.0=3", "targets.0=1", "size.tokens=3", "size.d_model=9", "head.0=1", "layer_norm_eps=1", "W_U.3.6=",
    "W_U.3.6=NaN", "W_U.3.6=Infinity", "W_U.3.6=1e999", "W_U.3.6=0x10", "W_U.3.6=1/2", "W_U.3.6=1_0", "W_U.3.6=1=1",
    "W_U.3.6=%31%", "text=", "text=the%20mouse", "text=%20%20", "text=%E0%A4", "text=" + "the" * 9, "nowhere",
    "%", "%00", "=", "=1", "unknown=1", "text=%3Cimg%20src%3Dx%3E", "<img src=x onerror=alert(1)>",
    "W_U.3.6=<b>1</b>", "javascript:alert(1)", "W_U" + ".1" * 50_000 + "=1", "text=" + "the" * 100_000,
]  # fmt: skip


def test_a_hostile_address_does_nothing_but_show_a_notice(page: Page, site: Path) -> None:
    open_page(page, site, "6-output")
    tags, numbers = shown_tags(page), values(page)
    for part in HOSTILE:
        page.evaluate("(hash) => { say(''); history.replaceState(null, '', `#${hash}`); arrive(); }", part)
        assert state(page) == AS_SHIPPED, part[:50]
        assert notice(page).startswith("Left out of the address: "), part[:50]
        assert page.evaluate("Object.keys(Object.prototype)") == []
    assert shown_tags(page) == tags
    assert values(page) == numbers


@pytest.mark.parametrize("part", ["__proto__=1", "<img src=x onerror=alert(1)>", "%E0%A4%A", "text=the%20mouse"])
def test_a_hostile_address_from_the_start(part: str, page: Page, site: Path) -> None:
    open_page(page, site, "1-tokens")
    tags = shown_tags(page)
    open_page(page, site, "1-tokens", f"#{part}")
    assert state(page) == AS_SHIPPED
    assert shown_tags(page) == tags
    assert notice(page).startswith("Left out of the address: ")
    until(page, "!location.hash.includes('=')")


def test_the_good_parts_of_a_broken_address_are_kept(page: Page, site: Path) -> None:
    open_page(page, site, "6-output", "#W_U.3.6=0.7&nonsense=1&off=mask_off&text=the%20mouse&%E0%A4")
    assert state(page) == AS_SHIPPED | {"set": {"W_U.3.6": 0.7}, "off": ["mask_off"]}
    assert notice(page) == "Left out of the address: nonsense=1, text=the%20mouse, %E0%A4"
    assert fragment(page) == "#W_U.3.6=0.7&off=mask_off"


@pytest.mark.parametrize("broken", ["%%%<img src=x>", "text=the%20bird", "W_U.3.6=junk", "junk=1&&__proto__=2&"])
def test_a_broken_address_leaves_what_the_reader_changed(output: Page, broken: str) -> None:
    change(output, {"set": {"W_U.3.6": 0.7}, "off": ["mask_off"]})
    kept, address = state(output), fragment(output)
    output.evaluate("(hash) => { location.hash = hash; }", broken)
    expect(output.locator("#notice")).to_contain_text("Left out of the address: ")
    assert state(output) == kept
    assert fragment(output) == address


KEYS = st.sampled_from(["text", "next", "off", "play", "at", "__proto__", "constructor", "", *ENTRIES[:20], "W_U.9.9"])
PART = st.one_of(
    st.text(max_size=12),
    st.builds("{}={}".format, KEYS, st.text(max_size=8) | st.sampled_from(["1", "1e308", "-0,5", "mask_off", "3"])),
)


@BROWSER
@given(parts=st.lists(PART, max_size=6))
def test_any_address_gives_a_state_that_the_toy_has(parts: list[str], page: Page, site: Path) -> None:
    if "1-tokens" not in page.url:
        open_page(page, site, "1-tokens")
    page.evaluate("show('')")
    tags = shown_tags(page)
    page.evaluate("(hash) => { history.replaceState(null, '', `#${hash}`); arrive(); }", "&".join(parts))
    found = state(page)
    assert set(found) == set(AS_SHIPPED)
    assert set(found["set"]) <= set(ENTRIES)
    assert found["text"] is None or 0 < len(tokenize(found["text"], VOCABULARY)) <= 8
    assert shown_tags(page) == tags
    assert page.evaluate("show(stateHash().slice(1))") == []
    assert state(page) == found


# Controls


def test_every_control_of_every_page_is_bound(page: Page, site: Path) -> None:
    """A control whose ref no state takes would do nothing."""
    for name in PAGES[:-1]:
        open_page(page, site, name)
        script = "[...document.querySelectorAll('[data-edit]')].map((c) => c.dataset.edit)"
        for ref in page.evaluate(script):
            assert ref in ("text", "next") or page.evaluate("isEditable", ref), (name, ref)
        switches = page.evaluate("[...document.querySelectorAll('[data-switch]')].map((c) => c.dataset.switch)")
        assert set(switches) <= set(page.evaluate("data.switches"))


def test_controls_of_one_value_stay_together(output: Page) -> None:
    for _ in range(2):
        output.evaluate("document.body.append(make('input', { 'data-edit': 'W_U.3.6', class: 'twin' }))")
    output.evaluate("document.body.append(make('input', { 'data-edit': 'text', class: 'text-twin' }))")
    type_into(output, ".twin >> nth=0", "−2,5")
    assert state(output)["set"] == {"W_U.3.6": -2.5}
    assert output.input_value(".twin >> nth=1") == "-2.5"
    assert output.input_value(".twin >> nth=0") == "−2,5"  # what is being typed stays
    type_into(output, "#change-text", "the dog")
    assert output.input_value(".text-twin") == "the dog"
    output.select_option("#change-next", label="␣wall")
    assert state(output)["next"] == VOCABULARY.index("␣wall")
    change(output, {"next": None, "set": {"W_U.3.6": None}})
    assert output.input_value("#change-next") == str(VOCABULARY.index("␣roof"))
    assert output.input_value(".twin >> nth=1") == "1"


def test_a_switch_patches_every_run(output: Page) -> None:
    output.check("[data-switch=attention_off]")
    assert state(output)["off"] == ["attention_off"]
    assert values(output) == values(output, "attention_off", "shipped")
    output.uncheck("[data-switch=attention_off]")
    assert values(output) == values(output, "main", "shipped")


@pytest.mark.parametrize(
    ("key", "start", "result"),
    [("ArrowUp", "0.2", 0.3), ("ArrowDown", "0", -0.1), ("Shift+ArrowUp", "−1", 0), ("Shift+ArrowDown", "0,5", -0.5)],
)
def test_arrows_step_a_number_by_a_tenth_and_with_shift_by_one(
    output: Page, key: str, start: str, result: float
) -> None:
    output.evaluate("document.body.append(make('input', { 'data-edit': 'W_U.0.0', class: 'field' }))")
    output.fill(".field", start)
    output.press(".field", key)
    assert output.evaluate("live.given.W_U.data[0]") == result


@pytest.mark.parametrize("typed", ["", "-", "one", "1e999", "NaN", "1/2", "1,000.5", "0x10"])
def test_what_is_no_number_is_said_beside_the_field_and_changes_nothing(output: Page, typed: str) -> None:
    output.evaluate("document.body.append(make('input', { 'data-edit': 'W_U.0.1', class: 'field' }))")
    output.evaluate("document.body.append(make('i', { 'data-fault': 'W_U.0.1' }))")
    output.fill(".field", "2")
    output.fill(".field", typed)
    assert output.inner_text("i[data-fault]") == "not a number"
    assert output.get_attribute(".field", "aria-invalid") == "true"
    assert state(output)["set"] == {"W_U.0.1": 2}
    output.fill(".field", "3")
    assert output.inner_text("i[data-fault]") == ""
    assert output.get_attribute(".field", "aria-invalid") == "false"


@BROWSER
@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20)
    | st.lists(st.sampled_from([*VOCABULARY, "x", "'", " "])).map("".join)
)
def test_a_text_that_cannot_be_cut_gets_the_tokenizers_own_message(text: str, page: Page, site: Path) -> None:
    if "1-tokens" not in page.url:
        open_page(page, site, "1-tokens")
    fault = page.evaluate("textFault", text)
    assert fault == said_by_python(text) or "no token fits" not in fault + said_by_python(text)


def said_by_python(text: str) -> str:
    try:
        tokenize(text, VOCABULARY)
    except NoTokenFits as error:
        return str(error)
    return ""


def test_a_text_that_does_not_fit_leaves_the_last_good_one(output: Page) -> None:
    type_into(output, "#change-text", "the dogs")
    assert state(output)["text"] == "the dog"
    assert output.inner_text("#change-fault") == "no token fits at character 8 of 'the␣dogs': 's'"
    output.fill("#change-text", "")
    assert output.inner_text("#change-fault") == "0 tokens: a text has 1 to 8"
    output.fill("#change-text", "the" * 9)
    assert output.inner_text("#change-fault") == "9 tokens: a text has 1 to 8"
    assert state(output)["text"] == "the dog"
    output.fill("#change-text", "the" * 8)
    assert output.inner_text("#change-fault") == ""


def test_a_new_text_begins_without_the_tokens_drawn_for_the_old_one(output: Page) -> None:
    change(output, {"play": [6, 10]})
    assert output.evaluate("live.trace('play').tokens.slice(-2)") == ["␣roof", "."]
    output.fill("#change-text", "the dog")
    assert state(output)["play"] == []


# Undo, redo, reset


def test_every_change_can_be_undone_and_redone(output: Page) -> None:
    edits = [{"set": {"W_U.3.6": 0.7}}, {"text": "the dog"}, {"off": ["mask_off"]}, {"set": {"W_U.3.6": 1.5}}]
    seen = [state(output)]
    for edit in edits:
        change(output, edit)
        seen.append(state(output))
    for expected in reversed(seen[:-1]):
        output.click("[data-do=undo]")
        assert state(output) == expected
    assert output.is_disabled("[data-do=undo]")
    for expected in seen[1:]:
        output.keyboard.press("Control+Shift+Z")
        assert state(output) == expected
    output.keyboard.press("Control+z")
    assert state(output) == seen[-2]
    change(output, {"next": 1})
    assert output.is_disabled("[data-do=redo]")


def test_typing_in_one_field_is_one_step(output: Page) -> None:
    type_into(output, "#change-text", "the dog climbed")
    output.press("#change-text", "Tab")
    type_into(output, "#change-text", "the cat")
    output.click("[data-do=undo]")
    assert output.input_value("#change-text") == "the dog climbed"
    output.click("[data-do=undo]")
    assert state(output) == AS_SHIPPED


def test_undo_in_a_text_field_is_the_fields_own(output: Page) -> None:
    change(output, {"set": {"W_U.3.6": 0.7}})
    output.focus("#change-text")
    output.keyboard.press("Control+z")
    assert state(output)["set"] == {"W_U.3.6": 0.7}


def test_undo_in_a_weights_field_takes_its_steps_back(output: Page) -> None:
    output.locator("td [data-ref='W_U.3.6']").first.click()
    field = output.locator(".ask input")
    for _ in range(2):
        field.press("ArrowUp")
    assert state(output)["set"] == {"W_U.3.6": pytest.approx(1.2)}
    field.press("Control+z")
    assert state(output)["set"] == {}
    expect(field).to_have_value("1")


def test_what_a_number_of_a_table_was_is_seen_at_the_pointer_and_at_the_focus(output: Page) -> None:
    change(output, {"set": {"W_U.3.6": 0.7}})
    number = output.locator("td [data-ref='logits.4.6']").first
    # A label belongs to its number: what lies above the number is the number then.
    has_label = """number => {
      const { right, top } = number.getBoundingClientRect();
      return document.elementFromPoint(right - 8, top - 8) === number;
    }"""
    number.hover()
    assert number.evaluate(has_label)
    output.mouse.move(0, 0)
    assert not number.evaluate(has_label)
    output.keyboard.press("Tab")
    number.focus()
    assert number.evaluate(has_label)


def test_reset_takes_everything_back_and_can_be_undone(output: Page) -> None:
    output.evaluate(
        "change({ set: { 'W_U.3.6': 0.7, 'W_E.1.1': 5 }, text: 'the dog', next: 0, off: ['tied'], play: [1] })"
    )
    before = state(output)
    output.click("[data-do=reset]")
    assert state(output) == AS_SHIPPED
    output.click("[data-do=undo]")
    assert state(output) == before


def test_the_bar_is_there_while_something_can_be_undone_or_taken_back(output: Page) -> None:
    assert not output.is_visible("#bar")
    change(output, {"off": ["mask_off"]})
    assert output.is_visible("#bar")
    output.click("[data-do=reset]")
    assert output.is_disabled("[data-do=reset]")
    assert output.evaluate("document.activeElement.id") == "bar"


def test_dragging_does_not_flood_the_address(page: Page, site: Path) -> None:
    """Chromium warns on the console above 200 in ten seconds, and the fixture would hear it."""
    open_page(page, site, "glossary")
    page.evaluate("for (let n = 1; n <= 500; n++) change({ set: { 'W_U.3.6': n + 1 } }, false)")
    until(page, "location.hash === '#W_U.3.6=501'")


# Numbers beyond float64


@pytest.mark.parametrize("name", ["index", "4-mask-and-heads", "6-output", "7-generation"])
def test_any_weight_may_be_huge_and_all_may_be_nothing(page: Page, site: Path, name: str) -> None:
    open_page(page, site, name)
    for value in (1e308, -1e308, 0):
        edits = [dict.fromkeys(ENTRIES, value), *({ref: value} for ref in ENTRIES[::60])]
        for edit in edits:
            page.evaluate("(set) => { show(''); change({ set }); }", edit)
            assert page.evaluate("(set) => Object.keys(set).every((ref) => current(ref) === set[ref])", edit)


def test_a_notice_says_when_numbers_are_no_longer_finite(output: Page) -> None:
    change(output, {"set": {"W_U.0.0": 1e308, "W_U.1.0": 1e308, "W_U.2.0": 1e308}})
    assert notice(output) == "Some numbers cannot be calculated now: ∞ or undefined."
    output.click("[data-do=undo]")
    settled(output)
    assert notice(output) == ""


def test_the_mask_alone_is_no_reason_for_a_notice(page: Page, site: Path) -> None:
    open_page(page, site, "4-mask-and-heads")
    change(page, {"text": "the dog climbed the"})
    assert notice(page) == ""


# What the page carries


@pytest.mark.parametrize("name", [name for name in PAGES if name != "404"])
def test_a_page_carries_its_steps_as_json_that_closes_no_script(site: Path, name: str) -> None:
    html = (site / f"{name}.html").read_text(encoding="utf-8")
    inside = re.search(r'id="toy">(.*?)</script>', html, re.DOTALL)[1]
    assert "<" not in inside
    assert set(json.loads(inside)) == {"derived", "given"} | ({"recorded"} if name in LAB else set())
    assert f'<script defer src="{"../" * name.count("/")}static/toy.js">' in html


def test_all_pages_share_one_script_with_the_toy_itself(site: Path) -> None:
    script = (site / "static/toy.js").read_text(encoding="utf-8")
    assert "<" not in script
    shared = json.loads(script.removeprefix("const TOY = ").removesuffix(";\n"))
    assert shared["vocabulary"] == list(VOCABULARY)
    assert shared["given"]["W_E"] == shipped_data()["weights"]["W_E"]


def test_the_error_page_has_neither_toy_nor_panel(site: Path) -> None:
    html = (site / "404.html").read_text(encoding="utf-8")
    assert 'id="toy"' not in html
    assert 'id="change"' not in html


def test_a_step_arrives_with_every_field(page: Page, site: Path) -> None:
    open_page(page, site, "6-output")
    steps = shipped_runs().traces["main"].steps
    fields = ("op", "symbol", "title", "page", "axes", "via")
    arrived = page.evaluate("live.trace('main').steps")
    assert len(arrived) > len(shipped_traces()["main"].steps)
    for name, step in arrived.items():
        assert [step[field] for field in fields] == [
            list(value) if isinstance(value := getattr(steps[name], field), tuple) else value for field in fields
        ], name


def test_the_shipped_runs_are_those_of_the_engine(page: Page, site: Path) -> None:
    open_page(page, site, "1-tokens")
    for run in shipped_traces():
        mine = page.evaluate("(run) => live.trace(run).tokens", run)
        assert mine == list(shipped_traces()[run].tokens), run


def test_a_patch_at_the_top_of_the_file_holds_in_every_run(tmp_path: Path) -> None:
    traces = load(shipped_data() | {"patch": {"attn_out": 0}}, tmp_path).traces()
    assert all(not trace.values["attn_out"].any() for trace in traces.values())


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"nothing": 0}, "toy.toml: patch.nothing: found 'nothing', expected the name of a weight or"),
        ({"attn_out": "resid_post"}, "toy.toml: patch.attn_out: found 'resid_post', expected a number, or the name"),
        ({"attn_out": True}, "toy.toml: patch.attn_out: found true, expected a finite number"),
        (0, "toy.toml: patch: found 0, expected a table"),
    ],
)
def test_a_faulty_patch_at_the_top_is_named_by_its_key(patch: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        load(shipped_data() | {"patch": patch}, tmp_path)
