"""Any number can be asked, by mouse, keyboard and touch: how it was made, what uses it; a weight is changed there."""

import random
import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import watch
from live_pages import change
from playwright.sync_api import Browser, Locator, Page, expect
from toys import shipped_runs

from sevensteps.explain import explain
from sevensteps.expression import numbers
from sevensteps.refs import run_of
from sevensteps.web.marks import Marks

STEPS = (
    "1-tokens", "2-embeddings", "3-query-key-value", "4-mask-and-heads", "5-block", "6-output", "7-generation",
)  # fmt: skip
PAGES = ("index", *STEPS, "glossary")
NUMBERS = "main :is(data, tspan)[data-ref]"
PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
ROOF = "logits.4.6"


def visit(page: Page, site: Path, name: str, after: str = "") -> None:
    page.goto((site / f"{name}.html").as_uri() + after)


def note(page: Page) -> Locator:
    return page.get_by_role("dialog")


def title(page: Page) -> Locator:
    return note(page).get_by_role("heading")


def mark(page: Page, ref: str, inside: str = "main") -> Locator:
    """The first mark of a number that can be seen."""
    return page.locator(f'{inside} [data-ref="{ref}"]').locator("visible=true").first


def operand(page: Page, ref: str) -> Locator:
    return note(page).locator(f'.working [data-ref="{ref}"], .refs [data-ref="{ref}"]').first


def focused(page: Page) -> str | None:
    """The ref of the number that has the focus."""
    return page.evaluate("document.activeElement.dataset.ref ?? null")


def users(page: Page) -> list[str]:
    line = note(page).locator(".refs", has_text="Used by").locator("[data-ref]")
    return [button.get_attribute("data-ref") for button in line.all()]


def plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


def says(ref: str) -> tuple[str, str]:
    """What Python says about a number: its worked line and its sentence."""
    marks = Marks(shipped_runs(), lambda: "")
    return plain(marks.worked(ref)), plain(marks.sentence(ref))


# What is told


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_page_tells_what_python_tells(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    told = page.evaluate(
        """numbers => Object.fromEntries([...document.querySelectorAll(numbers)].map(mark => {
          mark.dispatchEvent(new MouseEvent("click", {bubbles: true}));
          const [line, words] = document.querySelectorAll(".ask .working, .ask .working + p");
          return [mark.dataset.ref, [line.textContent, words.textContent]];
        }))""",
        NUMBERS,
    )
    assert told == {ref: list(says(ref)) for ref in told}
    assert len(told) > 5


@cache
def _used_in(run: str) -> dict[str, set[str]]:
    """ref -> all refs of the run whose explanation names it, found by explaining every number."""
    trace = shipped_runs().traces[run]
    prefix = "" if run == "main" else f"{run}/"
    used = defaultdict(set)
    for ref in trace.refs():
        name, index = trace.split(ref)
        step, worked = trace.steps[name], explain(trace, name, index)
        made_from = {number.ref for number in numbers(worked.expression)} if worked.expression else set()
        if step.op in ("rows", "pick") and name not in trace.patch:
            chooser, first = trace.split(step.inputs[1])
            made_from.add(".".join(map(str, (chooser, *first, *(index[:-1] if step.op == "rows" else index)))))
        if step.symbol:
            for source in made_from:
                used[prefix + source].add(prefix + ref)
    return used


@pytest.mark.parametrize("name", STEPS)
def test_used_by_lists_every_number_that_is_made_from_it(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    there = set(page.evaluate("[FORWARD, ...Object.values(DERIVED)].flat().map((step) => step.name)"))
    refs = sorted(set(page.evaluate("q => [...document.querySelectorAll(q)].map(mark => mark.dataset.ref)", NUMBERS)))
    found = 0
    for ref in random.Random(name).sample(refs, min(25, len(refs))):
        run = run_of(ref).rstrip("/") or "main"
        trace = shipped_runs().traces[run]
        expected = {user for user in _used_in(run)[ref] if trace.split(user.rpartition("/")[2])[0] in there}
        page.evaluate("ref => ask(ref)", ref)
        expect(title(page)).to_have_text(re.compile(re.escape(plain(Marks(shipped_runs(), str).label(ref)))))
        listed = users(page)
        found += len(listed)
        assert len(set(listed)) == len(listed)
        if "and more" in note(page).text_content():
            assert set(listed) < expected, ref
        else:
            assert set(listed) == expected, ref
    assert found > 10 or name == "1-tokens"


def test_a_long_list_of_users_says_that_there_are_more(page: Page, site: Path) -> None:
    visit(page, site, "2-embeddings")
    page.evaluate("ask('W_E.1.0')")
    assert 5 < len(users(page)) <= 24
    expect(note(page)).to_contain_text("and more")


def test_the_number_and_its_operands_are_marked_where_they_stand(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    mark(page, ROOF, "td").click()
    operands = {f"ln_final.normalized.4.{k}" for k in range(4)} | {f"W_U.{k}.6" for k in range(4)}
    for css, refs in (("asked", {ROOF}), ("lit", operands)):
        marked = page.locator(f"main .{css}")
        assert {one.get_attribute("data-ref") for one in marked.all()} == refs
        assert marked.count() == sum(page.locator(f'main [data-ref="{ref}"]').count() for ref in refs)
        style = "[...document.querySelectorAll(q)].every(one => getComputedStyle(one).outlineStyle === s)"
        assert page.evaluate(f"([q, s]) => {style}", [f"main .{css}", "solid" if css == "asked" else "dashed"])
    page.keyboard.press("Escape")
    expect(page.locator("main :is(.asked, .lit)")).to_have_count(0)


def test_users_of_one_symbol_are_told_apart_by_their_titles(page: Page, site: Path) -> None:
    visit(page, site, "7-generation")
    page.evaluate("ask('probs.4.6')")
    buttons = note(page).locator(".refs", has_text="Used by").locator("button").all_inner_texts()
    assert len(set(buttons)) == len(buttons)
    assert sum("keeps" in text for text in buttons) > 1


def test_facts_are_not_asked(page: Page, site: Path) -> None:
    visit(page, site, "1-tokens")
    page.locator("main [data-fact]").first.click()
    expect(note(page)).to_have_count(0)
    assert page.locator("[data-fact][role], [data-fact][tabindex]").count() == 0


# The trail


def test_a_trail_leads_from_a_logit_back_to_an_id_and_to_a_weight(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    way = [
        "ln_final.normalized.4.0", "ln_final.centred.4.0", "resid_post.4.0", "resid_mid.4.0", "resid_pre.4.0",
        "embed.4.0", "ids.4",
    ]  # fmt: skip
    mark(page, ROOF, "td").click()
    for ref in way:
        operand(page, ref).click()
    expect(title(page)).to_contain_text("token ids")
    crumbs = note(page).locator(".refs").first.locator("[data-ref]")
    assert [crumb.get_attribute("data-ref") for crumb in crumbs.all()] == [ROOF, *way[:-1]]
    crumbs.last.click()
    operand(page, "W_E.1.0").click()
    expect(title(page)).to_contain_text("token embeddings")
    crumbs.first.click()
    expect(title(page)).to_contain_text("logit")
    expect(note(page).locator(".refs", has_text="←")).to_have_count(0)


def test_a_number_says_in_turn_what_uses_it(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    mark(page, "W_U.1.6", "td").click()
    operand(page, ROOF).click()
    operand(page, "logits.exp.4.6").click()
    expect(title(page)).to_contain_text("e to the logit")


def test_the_link_leads_to_the_page_and_row_where_the_number_is_made(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    mark(page, "resid_post.4.0").click()
    note(page).get_by_role("link", name="Step 5").click()
    expect(page).to_have_url(re.compile(r"/5-block\.html"))
    expect(title(page)).to_contain_text("the stream after the block")
    expect(page.locator("td > .asked").first).to_be_in_viewport()


def test_the_link_leads_to_the_line_on_the_same_page(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    page.locator("td [data-ref='probs.4.6']").last.click()
    note(page).get_by_role("link", name="Step 6").click()
    line = page.locator(".worked[data-worked='probs.4.6']").locator("visible=true").first
    expect(line).to_be_in_viewport()
    expect(title(page)).to_contain_text("probability")


@pytest.mark.parametrize("ref", ["logits.4.6", "resid_pre.4.1", "attn.q.0.4.1", "W_in.0.0"])
def test_an_address_asks_its_number_on_every_page(page: Page, site: Path, ref: str) -> None:
    for name in ("6-output", "glossary", "1-tokens"):
        visit(page, site, name, f"#at={ref}")
        expect(title(page)).to_contain_text(plain(Marks(shipped_runs(), str).label(ref)))
        expect(note(page)).to_be_in_viewport()


# Mouse, keyboard, touch


@pytest.mark.parametrize("way", ["Escape", "Close", "outside"])
def test_the_note_is_closed_and_by_keyboard_or_button_gives_the_focus_back(page: Page, site: Path, way: str) -> None:
    visit(page, site, "6-output")
    mark(page, ROOF, "td").click()
    expect(note(page)).to_be_focused()
    if way == "Escape":
        page.keyboard.press("Escape")
    elif way == "Close":
        note(page).get_by_role("button", name="Close").click()
    else:
        page.mouse.click(5, 400)
    expect(note(page)).to_have_count(0)
    assert focused(page) == (None if way == "outside" else ROOF)


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_tab_leaves_the_note_at_either_end_and_goes_on_from_the_number(page: Page, site: Path, key: str) -> None:
    visit(page, site, "6-output")
    number = mark(page, ROOF, "td")
    number.focus()
    page.keyboard.press(key)
    beside = page.evaluate_handle("document.activeElement").as_element()
    number.click()
    for _ in range(40):
        page.keyboard.press(key)
        if note(page).count() == 0:
            break
    expect(note(page)).to_have_count(0)
    assert beside.evaluate("(beside) => beside === document.activeElement")


def test_another_control_keeps_the_focus_when_a_click_on_it_closes_the_note(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    mark(page, ROOF, "td").click()
    summary = page.locator("main summary").locator("visible=true").last
    summary.click()
    expect(note(page)).to_have_count(0)
    expect(summary).to_be_focused()


def test_the_keyboard_alone_asks_goes_back_on_the_trail_and_closes(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    for _ in range(60):
        page.keyboard.press("Tab")
        if focused(page):
            break
    first = focused(page)
    page.keyboard.press("ArrowRight")
    second = focused(page)
    assert first != second
    page.keyboard.press("Enter")
    expect(note(page)).to_be_focused()
    page.keyboard.press("Escape")
    assert focused(page) == second
    page.locator("td [tabindex='0'][data-ref]").nth(2).focus()
    page.keyboard.press(" ")
    expect(note(page)).to_be_focused()
    heading = title(page).text_content()
    while not page.evaluate("document.activeElement.matches('.ask .working [data-ref]')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(title(page)).not_to_have_text(heading)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(title(page)).to_have_text(heading)


def test_arrows_lead_through_a_table(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    table = page.locator("table", has=page.locator('td [data-ref="W_U.3.11"]'))
    table.locator("[data-ref][tabindex='0']").focus()
    walk = [
        ("Home", "W_U.0.0"), ("ArrowRight", "W_U.0.1"), ("ArrowDown", "W_U.1.1"), ("ArrowDown", "W_U.2.1"),
        ("ArrowLeft", "W_U.2.0"), ("ArrowUp", "W_U.1.0"), ("ArrowLeft", "W_U.0.11"), ("End", "W_U.3.11"),
        ("ArrowDown", "W_U.3.11"), ("ArrowRight", "W_U.3.11"),
    ]  # fmt: skip
    for key, ref in walk:
        page.keyboard.press(key)
        assert focused(page) == ref, key
    expect(table.locator("[data-ref][tabindex='0']")).to_have_count(1)


@pytest.mark.parametrize("name", PAGES)
def test_numbers_add_few_tab_stops_and_every_number_is_reached_from_one(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    assert 0 < page.locator(f"{NUMBERS}[tabindex='0']").count() <= 60
    unreached = page.evaluate(
        """numbers => {
          const reached = new Set();
          for (const stop of document.querySelectorAll(numbers + "[tabindex='0']")) {
            stop.closest("details")?.setAttribute("open", "");
            stop.focus();
            const press = key =>
              document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
            press("Home");
            for (let at; at !== document.activeElement; press("ArrowRight")) reached.add(at = document.activeElement);
          }
          return [...document.querySelectorAll(numbers)].filter(mark => !reached.has(mark)).map(mark => mark.outerHTML);
        }""",
        NUMBERS,
    )
    assert unreached == []


def test_a_number_is_announced_as_a_button_and_its_note_by_its_name(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    marks = page.locator(NUMBERS)
    assert marks.count() == page.locator(f"{NUMBERS}[role=button][tabindex]").count()
    mark(page, ROOF, "td").click()
    expect(note(page)).to_have_accessible_name("z[5, space ␣roof] logit")


def test_touch_on_a_phone_asks_and_follows_the_trail(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(**PHONE)
    visit(page, site, "6-output")
    cell = mark(page, ROOF, "td")
    cell.tap()
    expect(title(page)).to_contain_text("logit")
    operand(page, "W_U.0.6").tap()
    expect(title(page)).to_contain_text("unembedding")
    small = page.evaluate(
        """[...document.querySelectorAll(".ask :is(button, input, a, [data-ref])")]
          .map(target => [target.textContent, target.getBoundingClientRect()])
          .filter(([, box]) => box.width < 24 || box.height < 24)"""
    )
    assert small == []
    note(page).get_by_role("button", name="Close").tap()
    expect(note(page)).to_have_count(0)


@pytest.mark.parametrize("options", [{"viewport": {"width": 1280, "height": 700}}, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", ["2-embeddings", "6-output", "glossary"])
def test_the_note_never_covers_its_number(
    new_page: Callable[..., Page], site: Path, name: str, options: dict[str, Any]
) -> None:
    page = new_page(reduced_motion="reduce", **options)
    visit(page, site, name)
    marks = page.locator(NUMBERS).locator("visible=true").all()
    for one in [marks[0], marks[len(marks) // 3], marks[len(marks) // 2], marks[-1]]:
        one.scroll_into_view_if_needed()
        one.tap() if "has_touch" in options else one.click()
        box, own = note(page).bounding_box(), one.bounding_box()
        assert box["y"] >= own["y"] + own["height"] or box["y"] + box["height"] <= own["y"]
        assert 0 <= own["y"] <= options["viewport"]["height"] - own["height"]
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= options["viewport"]["width"]
        assert box["y"] + box["height"] <= options["viewport"]["height"] + 1
        page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_with_the_note_open(
    new_page: Callable[..., Page], site: Path, width: int, scheme: str
) -> None:
    page = new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    for name, ref in (("6-output", ROOF), ("6-output", "W_U.1.6"), ("3-query-key-value", "attn.q.0.4.0")):
        visit(page, site, name)
        mark(page, ref).click()
        expect(note(page)).to_be_visible()
        results = Axe().run(page, options={"preload": False})
        assert results.violations_count == 0, results.generate_report()


# Changing a weight


def test_typing_on_a_weight_changes_it_and_the_page_follows(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    weight, logit = mark(page, "W_U.1.6", "td"), mark(page, ROOF, "td")
    before = logit.text_content()
    weight.focus()
    page.keyboard.type("0.7")
    expect(note(page).get_by_role("textbox")).to_have_value("0.7")
    expect(weight).to_have_text("0.7")
    expect(logit).not_to_have_text(before)
    expect(note(page).locator(".working")).to_have_text("WU[2, ␣roof] = 0.7")
    page.keyboard.press("Escape")
    assert focused(page) == "W_U.1.6"
    expect(weight).to_have_text("0.7")


@pytest.mark.parametrize(("typed", "printed"), [("0,5", "0.5"), (".25", "0.25"), ("−2", "−2"), ("-0.5", "−0.5")])
def test_a_number_may_be_typed_as_people_type_it(page: Page, site: Path, typed: str, printed: str) -> None:
    visit(page, site, "6-output")
    mark(page, "W_U.1.6", "td").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(typed)
    expect(mark(page, "W_U.1.6", "td")).to_have_text(printed)


def test_arrows_in_the_field_add_a_tenth_and_with_shift_one(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    mark(page, "W_U.1.6", "td").click()
    for key, printed in (("ArrowUp", "1.1"), ("ArrowUp", "1.2"), ("Shift+ArrowDown", "0.2"), ("ArrowDown", "0.1")):
        page.keyboard.press(key)
        expect(mark(page, "W_U.1.6", "td")).to_have_text(printed)


def test_a_weight_is_changed_by_touch(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(**PHONE)
    visit(page, site, "6-output")
    mark(page, "W_U.1.6", "td").tap()
    expect(note(page)).to_be_focused()
    note(page).get_by_role("textbox").tap()
    note(page).get_by_role("textbox").fill("0.9")
    expect(mark(page, "W_U.1.6", "td")).to_have_text("0.9")


def test_a_wrong_entry_says_so_and_changes_nothing(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    mark(page, "W_U.1.6", "td").click()
    field = note(page).get_by_role("textbox")
    for wrong in ("abc", "", "1/0", "--1"):
        field.fill(wrong)
        expect(note(page).locator(".fault")).to_have_text(re.compile(r"\w"))
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(mark(page, "W_U.1.6", "td")).to_have_text("1")
    field.fill("2")
    expect(note(page).locator(".fault")).to_have_text("")
    expect(mark(page, "W_U.1.6", "td")).to_have_text("2")


def test_only_weights_have_a_field(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    for ref in (ROOF, "ids.4", "probs.4.6"):
        page.evaluate("ref => ask(ref)", ref)
        expect(note(page)).to_be_visible()
        expect(note(page).get_by_role("textbox")).to_have_count(0)


def test_an_open_note_follows_a_change_and_keeps_the_focus(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    mark(page, ROOF, "td").click()
    shipped = note(page).locator(".working").text_content()
    operand(page, "W_U.1.6").focus()
    change(page, {"set": {"W_U.1.6": 3}})
    expect(note(page).locator(".working")).not_to_have_text(shipped)
    expect(note(page)).to_contain_text("It was 2.491.")
    assert page.evaluate("document.activeElement.matches('.ask [data-ref]')")
    assert focused(page) == "W_U.1.6"


def test_a_number_that_is_gone_closes_its_note(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    page.evaluate("ask('logits.3.6')")
    change(page, {"text": "the cat"})
    expect(note(page)).to_have_count(0)


def test_without_scripts_numbers_are_plain_text(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    seen = watch(page, site)
    visit(page, site, "6-output")
    expect(page.locator("[data-ref][role], .ask")).to_have_count(0)
    context.close()
    assert seen == []


def test_the_keys_beside_the_field_change_a_weight_by_touch(new_page: Callable[..., Page], site: Path) -> None:
    phone = new_page(**PHONE)
    visit(phone, site, "6-output")
    mark(phone, "W_U.1.6", "td").tap()
    for name, text in (("+0.1", "1.1"), ("−0.1", "1"), ("−0.1", "0.9")):
        note(phone).get_by_role("button", name=name).tap()
        expect(mark(phone, "W_U.1.6", "td")).to_have_text(text)


def test_a_link_leads_to_a_like_row_where_the_page_of_the_step_does_not_show_the_number(page: Page, site: Path) -> None:
    visit(page, site, "4-mask-and-heads")
    page.evaluate("ask('attn.pattern.0.3.0')")
    note(page).get_by_role("link", name="Step 3").click()
    expect(page).to_have_url(re.compile("3-query-key-value"))
    assert page.evaluate("askedAt.dataset.ref").startswith("attn.pattern.")
    expect(note(page)).to_contain_text("This page does not show it, perhaps one like it.")


def test_a_link_of_the_second_head_leads_to_the_page_that_works_it(page: Page, site: Path) -> None:
    visit(page, site, "3-query-key-value")
    page.evaluate("ask('attn.q.1.3.0')")
    note(page).get_by_role("link", name="Step 4").click()
    expect(page).to_have_url(re.compile("4-mask-and-heads"))
    assert page.evaluate("askedAt.dataset.ref") == "attn.q.1.3.0"
