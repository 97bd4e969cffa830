"""How the pages look, as the browser measures it: contrast at every shade, lines, figures, theme, and nothing jumps."""

from collections.abc import Callable
from pathlib import Path

import pytest
from looks import EYES, PAINT, SWEEP, TEXTS, Rgb, contrast, nearest, painted
from pages import PAGES, STEPS
from playwright.sync_api import Page, expect

SCHEMES = ("light", "dark")
OPEN_ALL_DETAILS = "document.querySelectorAll('details').forEach(details => { details.open = true })"


def visit(page: Page, site: Path, name: str, fragment: str = "") -> None:
    page.goto((site / f"{name}.html").as_uri() + fragment)


def faint(pairs: list[tuple[Rgb, Rgb, str]], least: float) -> list[tuple[float, Rgb, Rgb, str]]:
    """The pairs of colours with too little contrast."""
    return sorted((round(contrast(a, b), 2), a, b, what) for a, b, what in pairs if contrast(a, b) < least)


# Colours.


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", PAGES)
def test_all_text_can_be_read(new_page: Callable[..., Page], site: Path, name: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, site, name)
    page.evaluate(OPEN_ALL_DETAILS)
    pairs = painted(page, TEXTS)
    assert len(pairs) >= 5
    assert faint(pairs, 4.5) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*STEPS[1:], "workbench"])
def test_text_can_be_read_at_every_shade_of_a_cell(
    new_page: Callable[..., Page], site: Path, name: str, scheme: str
) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, site, name)
    page.evaluate(OPEN_ALL_DETAILS)
    pairs = painted(page, SWEEP)
    assert len(pairs) > 40  # −1 to 1 in steps of 0.05, at least once.
    assert faint(pairs, 4.5) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_note_a_change_and_a_verdict_can_be_read(new_page: Callable[..., Page], site: Path, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, site, "6-output", "#W_U.3.6=0.7")
    page.locator("#check-1 input").fill("7")
    page.locator("#check-1 form button").click()
    page.locator("td [data-ref='logits.4.6']").first.click()
    expect(page.locator(".ask")).to_be_visible()
    assert page.locator(".claim.broken").count() > 0
    assert faint(painted(page, TEXTS), 4.5) == []


#: Marks that carry meaning: where, their pseudo-element, the property with their colour.
MARKS = [
    ("index", ".theme select", "", "borderTopColor"),
    ("index", ".looks path", "", "stroke"),
    ("1-tokens", ".typed input", "", "borderTopColor"),
    ("3-query-key-value", ".head-picture .look", "", "stroke"),
    ("3-query-key-value", ".working.q-query", "", "borderLeftColor"),
    ("3-query-key-value", ".working:not([class*='q-'])", "", "borderLeftColor"),
    ("3-query-key-value", "#check-1 input", "", "borderTopColor"),
    ("3-query-key-value", "td .editable", "", "textDecorationColor"),
    ("4-mask-and-heads", "tr.marked th", "", "borderTopColor"),
    ("5-block", ".spine", "::before", "backgroundColor"),
    ("5-block", ".branch.q-weight", "", "borderTopColor"),
    ("5-block", ".branch.q-unit", "", "borderTopColor"),
    ("6-output", ".bars .q-logit .track[data-v]", "::before", "borderRightColor"),
    ("6-output", ".bars .q-prob .track[data-v]", "::before", "borderRightColor"),
    ("6-output", ".q-loss .track[data-v]", "::before", "borderRightColor"),
    ("7-generation", ".player button:first-child", "", "backgroundColor"),
]
MARK = (
    PAINT
    + """
  const element = document.querySelector(selector);
  const colour = getComputedStyle(element, where)[property];
  for (const ground of grounds(element.parentElement)) note(colour, ground, element, selector);
  return [...pairs.values()];
"""
)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("name", "selector", "where", "property"), MARKS)
def test_what_is_drawn_stands_out(
    new_page: Callable[..., Page], site: Path, scheme: str, name: str, selector: str, where: str, property: str
) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, site, name)
    pairs = page.evaluate(f"([selector, where, property]) => {{{MARK}}}", [selector, where, property])
    assert pairs
    assert faint(pairs, 3) == []


#: Quantities that stand side by side in a picture or on a page.
BESIDE = [
    ("query", "key", "value", "weight"), ("stream", "weight", "unit", "prob"), ("stream", "query", "key", "value"),
    ("stream", "logit"), ("logit", "prob"), ("prob", "loss"),
]  # fmt: skip
#: The least distance in OKLab. In a tint stands the symbol; a mark says by its colour alone what it belongs to.
APART = {"tint": 0.022, "strong": 0.06}


def colours(page: Page, css: list[str], given: str) -> dict[str, Rgb]:
    """A colour of the stylesheet as elements with these classes have it."""
    script = f"""(names) => {{{PAINT}
      return names.map((name) => {{
        const probe = document.createElement("i");
        probe.className = name;
        probe.style.color = {given!r};
        document.body.append(probe);
        return rgba(getComputedStyle(probe).color).slice(0, 3);
      }});
    }}"""
    return dict(zip(css, map(tuple, page.evaluate(script, css)), strict=True))


@pytest.mark.parametrize("use", APART)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kinds", BESIDE)
def test_quantities_side_by_side_stay_apart_to_every_eye(
    new_page: Callable[..., Page], site: Path, kinds: tuple[str, ...], scheme: str, use: str
) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, site, "404")
    least, between = nearest(colours(page, [f"q-{kind}" for kind in kinds], f"var(--{use})"))
    assert least >= APART[use], between


@pytest.mark.parametrize("scheme", SCHEMES)
def test_above_and_below_zero_stay_apart_to_every_eye(new_page: Callable[..., Page], site: Path, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, site, "2-embeddings")
    cell = "td[style*='--v']"
    for v in (0.25, 0.5, 1):
        shades = {}
        for name, shade in {"below": -v, "none": 0, "above": v}.items():
            page.locator(cell).first.evaluate("(cell, v) => cell.style.setProperty('--v', v)", shade)
            shades[name] = page.locator(cell).first.evaluate(f"(cell) => {{{PAINT} return grounds(cell)[0]}}")
        least, between = nearest(shades)
        assert least >= 0.02, between


def test_every_eye_but_the_full_one_takes_something_away() -> None:
    red, green = (200, 60, 60), (60, 140, 60)
    full = nearest({"red": red, "green": green})
    assert set(EYES) - {"full"} == {"protanopia", "deuteranopia", "tritanopia"}
    assert full[1].endswith("deuteranopia")


# Lines and figures.

# For each paragraph without formulas, how many characters stand on each of its full lines.
LINES = """() => [...document.querySelectorAll("main > p:not(.working), main > * > li")].flatMap((block) => {
  if (block.querySelector("math, .live") || block.closest(".live")) return [];
  const lines = new Map();
  const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    for (let i = 0; i < text.length; i++) {
      range.setStart(text, i);
      range.setEnd(text, i + 1);
      const { bottom, width } = range.getBoundingClientRect();
      const line = Math.round(bottom / 12);
      if (width) lines.set(line, (lines.get(line) || 0) + 1);
    }
  }
  return [...lines.values()].slice(0, -1).filter((length) => length > 20);
})"""


@pytest.mark.parametrize("name", ["index", *STEPS])
def test_a_line_holds_60_to_75_characters(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    lines = page.evaluate(LINES)
    assert len(lines) > 10
    assert 60 <= sum(lines) / len(lines) <= 75


# Where the decimal point of each number of a column stands: behind the last digit of its integer part.
POINTS = """() => [...document.querySelectorAll("main table:not(.words)")].flatMap((table) => {
  const columns = {};
  for (const number of table.querySelectorAll("td > data:last-child:not(.fact)")) {
    const cell = number.parentElement;
    const digits = number.textContent.split(".")[0];
    if (!/^[−<]?\\d+$/.test(digits) || !cell.checkVisibility()) continue;
    const range = document.createRange();
    range.setStart(number.firstChild, 0);
    range.setEnd(number.firstChild, digits.length);
    (columns[cell.cellIndex] ||= []).push(range.getBoundingClientRect().right - cell.getBoundingClientRect().right);
  }
  const spread = (points) => Math.max(...points) - Math.min(...points);
  return Object.values(columns).filter((points) => points.length > 1).map(spread);
})"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", [*STEPS[1:], "workbench", "needle-and-dial", "odds"])
def test_numbers_align_on_the_decimal_point(page: Page, site: Path, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    visit(page, site, name)
    page.evaluate(OPEN_ALL_DETAILS)
    columns = page.evaluate(POINTS)
    assert columns
    assert max(columns) < 0.6


WIDTHS = """(element) => [...`0123456789`].map((digit) => {
  const probe = document.createElement("span");
  probe.textContent = digit.repeat(20);
  element.append(probe);
  const { width } = probe.getBoundingClientRect();
  probe.remove();
  return width;
})"""


@pytest.mark.parametrize("where", ["main > p", ".working", "td", "th", ".note", "h1", "code"])
def test_all_digits_are_of_one_width(page: Page, site: Path, where: str) -> None:
    visit(page, site, "6-output")
    widths = page.locator(where).filter(visible=True).first.evaluate(WIDTHS)
    assert max(widths) - min(widths) < 0.1


def test_a_token_looks_the_same_everywhere(page: Page, site: Path) -> None:
    looks = set()
    for name in ("1-tokens", "4-mask-and-heads", "6-output"):
        visit(page, site, name)
        page.evaluate(OPEN_ALL_DETAILS)
        look = "(all) => all.map((one) => getComputedStyle(one)).map((css) => `${css.fontFamily}, ${css.fontStyle}`)"
        looks |= set(page.locator("code.token, svg .token, main code").evaluate_all(look))
    assert len(looks) == 1


def test_the_sign_for_a_space_is_drawn_and_is_no_underscore(page: Page, site: Path) -> None:
    visit(page, site, "1-tokens")
    ink = """(token) => ["␣", "_", "\\u{10FFFF}"].map((sign) => {
      const canvas = new OffscreenCanvas(100, 100).getContext("2d");
      canvas.font = `60px ${getComputedStyle(token).fontFamily}`;
      canvas.fillText(sign, 20, 60);
      const { data } = canvas.getImageData(0, 0, 100, 100);
      const rows = Array.from({ length: 100 }, (_, y) => data.slice(y * 400, y * 400 + 400).some((v) => v > 100));
      return [rows.filter(Boolean).length, rows.lastIndexOf(true), String(data)];
    })"""
    (space, low, drawn), (underscore, _, line), (*_, missing) = page.locator("code.token").first.evaluate(ink)
    assert drawn not in (line, missing)
    assert space >= 1.5 * underscore
    assert low > 60  # It hangs below the letters' feet, as a space has nothing on the line.


# The theme.

PAPER = "getComputedStyle(document.body).backgroundColor"
COLOURS = {"light": "rgb(253, 252, 248)", "dark": "rgb(20, 23, 28)"}
#: The theme at the moment when the page gets a body: what is painted first.
# What the first frame that paints the page is painted in: the browser waits for the stylesheet.
FIRST = """requestAnimationFrame(function look() {
  if (document.body) window.first = getComputedStyle(document.documentElement).colorScheme;
  else requestAnimationFrame(look);
})"""


def choose(page: Page, theme: str) -> None:
    page.get_by_label("Theme").select_option(theme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_theme_follows_the_system_and_its_changes(new_page: Callable[..., Page], site: Path, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, site, "index")
    assert page.evaluate(PAPER) == COLOURS[scheme]
    expect(page.get_by_label("Theme")).to_have_value("system")
    other = SCHEMES[1 - SCHEMES.index(scheme)]
    page.emulate_media(color_scheme=other)
    assert page.evaluate(PAPER) == COLOURS[other]


NO_STORAGE = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })"


@pytest.mark.parametrize("blocked", ["", NO_STORAGE])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_theme_once_chosen_stays_and_is_there_before_anything_is_painted(
    new_page: Callable[..., Page], site: Path, scheme: str, blocked: str
) -> None:
    other = SCHEMES[1 - SCHEMES.index(scheme)]
    page = new_page(color_scheme=scheme)
    page.add_init_script(f"{FIRST}; {blocked}")
    visit(page, site, "index")
    assert page.evaluate("first") == "light dark"
    choose(page, other)
    assert page.evaluate(PAPER) == COLOURS[other]
    page.locator("nav.path a").nth(2).click()
    expect(page.locator("h1")).to_have_text("Query, key, value")
    assert (page.evaluate("first"), page.evaluate(PAPER)) == (other, COLOURS[other])
    expect(page.get_by_label("Theme")).to_have_value(other)
    page.reload()
    assert (page.evaluate("first"), page.evaluate(PAPER)) == (other, COLOURS[other])
    choose(page, "system")
    page.locator("nav.pager a[rel=next]").click()
    expect(page.locator("h1")).to_have_text("Mask and heads")
    assert page.evaluate(PAPER) == COLOURS[scheme]


def test_a_theme_goes_along_with_a_changed_toy_and_with_an_anchor(page: Page, site: Path) -> None:
    page.add_init_script(NO_STORAGE)
    visit(page, site, "6-output", "#W_U.3.6=0.7")
    choose(page, "dark")
    page.locator("a[href^='3-query-key-value.html#']").last.click()
    expect(page.locator("#count")).to_have_text("1 change")
    assert page.evaluate(PAPER) == COLOURS["dark"]
    assert page.locator("#notice").inner_text() == ""


@pytest.mark.parametrize("rubbish", ["", "null", "{}", "Dark", "x" * 999])
def test_a_stored_theme_that_is_none_is_left_aside(page: Page, site: Path, rubbish: str) -> None:
    page.add_init_script(f"localStorage.theme = {rubbish!r}")
    visit(page, site, "index")
    assert page.evaluate(PAPER) == COLOURS["light"]
    expect(page.get_by_label("Theme")).to_have_value("system")


@pytest.mark.parametrize("theme", [*SCHEMES, "system"])
def test_the_browser_around_the_page_has_its_colour(page: Page, site: Path, theme: str) -> None:
    visit(page, site, "index")
    choose(page, theme)
    said = """() => [...document.querySelectorAll("meta[name=theme-color]")]
      .filter(meta => matchMedia(meta.media).matches).map(meta => {
        const probe = document.createElement("i");
        probe.style.color = meta.content;
        return probe.style.color;
      })"""
    assert page.evaluate(said) == [page.evaluate(PAPER)]


def test_the_theme_is_chosen_by_keyboard_in_a_target_of_24_pixels(page: Page, site: Path) -> None:
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        visit(page, site, "index")
        control = page.get_by_role("combobox", name="Theme")
        box = control.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 24
        control.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert page.evaluate(PAPER) == COLOURS["dark"]
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        assert page.evaluate(PAPER) == COLOURS["light"]


def test_without_scripts_no_theme_is_offered_and_the_system_decides(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(java_script_enabled=False, color_scheme="dark")
    visit(page, site, "index")
    expect(page.locator(".theme")).to_be_hidden()
    assert page.locator("body").evaluate("(body) => getComputedStyle(body).backgroundColor") == COLOURS["dark"]


def test_in_forced_colours_bars_and_this_steps_box_have_lines_and_the_focus_is_seen(
    new_page: Callable[..., Page], site: Path
) -> None:
    page = new_page(forced_colors="active")
    visit(page, site, "6-output")
    drawn = """(all, [where, ...sides]) => all.map((one) =>
      Math.max(...sides.map((side) => parseFloat(getComputedStyle(one, where)[`border${side}Width`]))))"""
    # The edge of a bar is at its value: on the left of zero, its left one.
    bars = page.locator(".bars .track[data-v]").evaluate_all(drawn, ["::before", "Left", "Right"])
    assert len(bars) > 10
    assert min(bars) >= 1
    here, *others = (
        set(page.locator(f".path a{which}").evaluate_all(drawn, ["", "Top"]))
        for which in ("[aria-current]", ":not([aria-current])")
    )
    assert min(here) > max(*others)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert faint(painted(page, TEXTS), 4.5) == []


# Nothing that jumps, nothing that moves unasked.

SHIFTS = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
  }).observe({ type: "layout-shift", buffered: true });
  let y = 0;
  const scroll = () => {
    scrollTo(0, (y += innerHeight * 2));
    if (y < document.documentElement.scrollHeight) requestAnimationFrame(scroll);
    else setTimeout(() => done(sum), 200);
  };
  document.fonts.ready.then(scroll);
})"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_jumps_while_a_page_loads(page: Page, site: Path, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    visit(page, site, name)
    assert page.evaluate(SHIFTS) < 0.01


@pytest.mark.parametrize("rate", [4, 12, 20])
def test_the_workbench_does_not_jump_on_a_slow_machine(page: Page, site: Path, rate: int) -> None:
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": rate})
    visit(page, site, "workbench")
    assert page.evaluate(SHIFTS) < 0.01
    expect(page.locator(".bands td").last).to_be_visible()


MOTIONS = """() => [document, ...document.querySelectorAll("*")].flatMap((one) => {
  if (one === document) return one.getAnimations().map(String);
  return ["", "::before", "::after"].flatMap((where) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one, where);
    const moves = transitionDuration.split(", ").some((time) => parseFloat(time)) || animationName !== "none";
    return moves || scrollBehavior === "smooth" ? [`${one.localName}.${one.className}${where}`] : [];
  });
})"""


@pytest.mark.parametrize("name", ["index", *STEPS, "needle-and-dial"])
def test_who_wants_less_motion_gets_none(new_page: Callable[..., Page], site: Path, name: str) -> None:
    page = new_page(reduced_motion="reduce")
    visit(page, site, name)
    assert page.evaluate(MOTIONS) == []
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOTIONS)
