"""The frame of every page, its tables, terms and facts, found in the built site and held against the sources."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from pages import PAGES, STEPS, name_of, of_class, only, text, with_attribute
from toys import shipped_runs

CONTENT = Path(__file__).parent.parent / "content"
RUNS = shipped_runs()
FACTS = tomllib.loads((CONTENT / "facts.toml").read_text(encoding="utf-8"))
REFS = ("data-ref", "data-worked", "data-calculated", "data-answer", "data-token-answer", "data-token", "data-claim")

each_step = pytest.mark.parametrize("step", STEPS)


def facts_in(root: Element) -> set[str]:
    return {mark.get("data-fact") for mark in with_attribute(root, "data-fact")}


def links_in(root: Element) -> list[str]:
    return [link.get("href") for link in root.iter("a") if "href" in link.attrib]


@each_step
def test_a_step_opens_with_its_number_its_in_and_its_out(pages: dict[str, Element], step: str) -> None:
    heading, line = list(pages[step].find(".//main"))[:2]
    assert (heading.tag, line.get("class")) == ("h1", "step-line")
    assert re.match(rf"Step {STEPS.index(step) + 1} of 7 · In: .+ · Out: .+", text(line))
    assert list(with_attribute(line, "data-ref")), "the line says no shape"


@each_step
def test_a_step_says_what_to_have_read_and_links_to_it(pages: dict[str, Element], step: str) -> None:
    needs = only(pages[step], "needs")
    assert text(needs).startswith("You need:")
    before = {f"{name}.html" for name in ("index", *STEPS[: STEPS.index(step)])}
    targets = {link.partition("#")[0] for link in links_in(needs)}
    assert targets
    assert targets <= before


@each_step
def test_a_step_has_a_picture_made_of_its_numbers(pages: dict[str, Element], step: str) -> None:
    pictures = of_class(pages[step], "picture")
    assert any(list(with_attribute(picture, "data-ref")) for picture in pictures)
    for picture in pictures:
        assert picture.tag == "figure"
        assert text(picture.find("figcaption"))


@each_step
def test_a_step_ends_with_three_boxes_to_check_oneself(pages: dict[str, Element], step: str) -> None:
    boxes = of_class(pages[step], "check")
    assert len(boxes) >= 3
    for box in boxes:
        assert text(only(box, "hint").find("div"))
        assert text(only(box, "answer").find("div"))
    questions = [" ".join(text(p) for p in box.findall("p")) for box in boxes]
    assert any(question.startswith("Why") for question in questions)
    assert any(question.startswith("What if") for question in questions)


@each_step
def test_a_box_that_asks_for_a_number_works_it_out(pages: dict[str, Element], step: str) -> None:
    boxes = [box for box in of_class(pages[step], "check") if "data-answer" in box.attrib]
    assert boxes
    for box in boxes:
        worked = [line.get("data-worked") for line in of_class(only(box, "answer"), "worked")]
        assert worked[:1] == [box.get("data-answer")]


@each_step
def test_a_step_is_given_in_numpy_and_in_pytorch(pages: dict[str, Element], step: str) -> None:
    programs = of_class(only(pages[step], "code"), "program")
    titles = [text(program.find("figcaption")) for program in programs]
    assert [re.search("numpy|PyTorch", title)[0] for title in titles] == ["numpy", "PyTorch"]
    assert all(program.find("pre") is not None for program in programs)


@each_step
def test_a_step_is_compared_with_gpt_2_and_a_llama(pages: dict[str, Element], step: str) -> None:
    box = only(pages[step], "real")
    assert any(fact.startswith("gpt2_") for fact in facts_in(box))
    assert "GPT-2" in text(box)
    assert "Llama" in text(box)


@pytest.mark.parametrize("name", PAGES)
def test_a_table_has_a_caption_scopes_and_a_labelled_group_to_scroll_in(pages: dict[str, Element], name: str) -> None:
    parents = {child: parent for parent in pages[name].iter() for child in parent}
    for table in pages[name].iter("table"):
        group = table
        while group.get("role") != "group":
            group = parents[group]
        assert group.get("tabindex") == "0"
        assert group.get("aria-label") or pages[name].find(f".//*[@id='{group.get('aria-labelledby')}']") is not None
        # A table of a picture has the picture's caption.
        caption = table.find("caption")
        if caption is None:
            figure = group
            while figure.tag != "figure":
                figure = parents[figure]
            caption = figure.find("figcaption")
        assert text(caption)
        # The player's list begins empty.
        expected = {"col", "row"} if len(table.find("tbody")) else {"col"}
        assert {heading.get("scope") for heading in table.iter("th")} == expected
        assert all(row[0].tag == "th" for row in table.iter("tr"))


def test_each_term_of_the_glossary_is_set_off_once_on_a_page(pages: dict[str, Element]) -> None:
    terms = [links_in(term) for page in pages.values() for term in page.iter("dfn")]
    assert all(len(links) == 1 for links in terms)
    entries = {f"glossary.html#{entry.get('id')}" for entry in pages["glossary"].iter("dt")}
    counted = Counter(link.removeprefix("../") for links in terms for link in links)
    assert set(counted) == entries
    assert [link for link, count in counted.items() if count > 1] == []


def test_a_glossary_entry_is_defined(pages: dict[str, Element]) -> None:
    entries = of_class(pages["glossary"], "entry")
    assert len(entries) > 40
    for entry in entries:
        assert len(text(entry.find("dd")).split()) >= 5, text(entry)


def test_the_terms_stand_in_order(pages: dict[str, Element]) -> None:
    terms = [text(term).lower() for term in pages["glossary"].iter("dt")]
    assert terms == sorted(terms)


@pytest.mark.parametrize("name", PAGES)
def test_a_fact_has_its_source_on_its_page(pages: dict[str, Element], name: str) -> None:
    sources = of_class(pages[name], "sources")
    listed = {fact: text(item.find("cite")) for box in sources for item in box.iter("li") for fact in facts_in(item)}
    assert listed == {fact: FACTS[fact]["source"] for fact in facts_in(pages[name])}


def test_no_fact_is_left_over(pages: dict[str, Element]) -> None:
    used = set().union(*map(facts_in, pages.values()))
    for key in reversed(FACTS):  # operands stand above what is made of them
        used |= {part for part in _operands(FACTS[key]) if isinstance(part, str)} if key in used else set()
    assert [key for key in FACTS if key not in used] == []


def _operands(fact: dict) -> list:
    return fact.get("product", fact.get("sum", []))


def test_no_derived_value_is_left_over(pages: dict[str, Element]) -> None:
    marks = [element.get(name) for page in pages.values() for name in REFS for element in with_attribute(page, name)]
    files = [*(CONTENT / "en").glob("*.md"), *(CONTENT.parent / "templates").glob("*.html")]
    sources = [path.read_text(encoding="utf-8") for path in files]
    words = set(re.findall(r"\w+", " ".join(marks + sources)))
    derived = tomllib.loads((CONTENT / "derived.toml").read_text(encoding="utf-8"))
    named = [*derived["constants"], *derived["derived"]]
    used = {name for name in named if name in words}
    for name in reversed(derived["derived"]):
        steps = RUNS.traces[derived["derived"][name].get("run", "main")].steps
        used |= set(map(name_of, steps[name].inputs)) if name in used else set()
    assert [name for name in named if name not in used] == []
