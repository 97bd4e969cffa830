"""What the browser says of a number, a claim or a table is exactly what Python says."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from documents import WITH_SCRIPTS, evaluated
from hypothesis import HealthCheck, given, reject, settings
from pages import STEPS, with_attribute
from playwright.sync_api import Browser, Page
from toys import load, recorded_runs, shipped, shipped_runs, toys

from sevensteps.claims import holds
from sevensteps.engine.faults import InputError
from sevensteps.engine.steps import Trace, run
from sevensteps.refs import Runs, UnknownRefError
from sevensteps.web.marks import Marks
from sevensteps.web.tables import decimal_text, from_printed

#: [ref, worked line, its kind, sentence, label] of every number of every run, as HTML.
ALL_WORKED = """
(() => {
  const box = document.createElement("div");
  const html = (nodes) => {
    box.replaceChildren(...nodes);
    return box.innerHTML;
  };
  const told = [];
  for (const run of [...Object.keys(data.runs), "generated"])
    for (const [name, x] of Object.entries(live.trace(run).values))
      for (let place = 0; place < x.data.length; place++) {
        const index = [];
        for (let rest = place, axis = x.shape.length - 1; axis >= 0; axis--) {
          index.unshift(rest % x.shape[axis]);
          rest = Math.floor(rest / x.shape[axis]);
        }
        const ref = (run === "main" ? "" : `${run}/`) + [name, ...index].join(".");
        const nodes = [workedNodes(live, ref), sentenceNodes(live, ref), labelNodes(live, ref)];
        told.push([ref, workedKind(live, ref), ...nodes.map(html)]);
      }
  return JSON.stringify(told);
})()
"""


def plain(html: str) -> str:
    """HTML without what the two may write differently: escapes, and a full value, whose last bit may differ."""
    return unescape(re.sub(r' value="[^"]*"', "", html).replace('data-structure=""', "data-structure"))


def full_values(html: str) -> list[float]:
    return [float(value) for value in re.findall(r' value="([^"]*)"', html)]


def without_digits(html: str) -> str:
    """What is left of a worked line when its numbers, and how many places they have, are taken out."""
    return re.sub(r' data-places="-?\d+"|(?<=>)[^<>]*(?=</data>)', "", plain(html))


def assert_same_line(told: str, due: str) -> None:
    """The same to the last character, with two exceptions, in which a line may need other places to close.

    The two may sum a last bit otherwise. And JavaScript has no decimals: with more than eleven digits before the point
    it cannot tell what the printed numbers give.
    """
    if plain(told) == plain(due):
        return
    values = full_values(due)
    is_long = any(1e11 <= abs(value) < math.inf for value in values)
    is_otherwise = full_values(told) != values
    assert is_long or is_otherwise, f"{told}\n{due}"
    same = without_digits(told) == without_digits(due)  # pytest would be long at comparing them.
    assert same, f"{told}\n{due}"


def assert_told_alike(runs: Runs, told: list[list[str]], known: dict[str, list[str]]) -> None:
    """`known` are the refs that another page has told already."""
    marks = Marks(runs, lambda: "")
    for ref, kind, line, sentence, label in told:
        if known.get(ref) != [kind, line, sentence, label]:
            worked = f'<span class="worked" data-worked="{ref}" data-kind="{kind}">{line}</span>'
            assert_same_line(worked, marks.worked(ref))
            assert plain(sentence) == plain(marks.sentence(ref)), ref
            assert plain(label) == plain(marks.label(ref)), ref
            known[ref] = [kind, line, sentence, label]


def test_every_number_of_every_run_on_every_page_is_told_as_in_python(page: Page, site: Path) -> None:
    runs = Runs(shipped_runs().traces | recorded_runs().traces)
    known: dict[str, list[str]] = {}
    for slug in WITH_SCRIPTS:
        page.goto((site / f"{slug}.html").as_uri())
        told = json.loads(page.evaluate(ALL_WORKED))
        assert_told_alike(runs, told, known)
    forward = {step.name for step in shipped().steps()}
    for name, trace in shipped_runs().traces.items():
        prefix = "" if name == "main" else f"{name}/"
        refs = {prefix + ref for ref in trace.refs() if trace.split(ref)[0] in forward}
        assert refs <= set(known)


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    """One empty page for all fresh documents."""
    page = browser.new_page()
    yield page
    page.close()


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=toys())
def test_every_number_of_random_toys_is_told_as_in_python(blank: Page, data: dict) -> None:
    with TemporaryDirectory() as folder:
        try:
            toy = load(data, Path(folder))
        except InputError:
            reject()  # rows of equal numbers with epsilon 0 have no LayerNorm
    runs = Runs(toy.traces())
    told = json.loads(evaluated(blank, toy, runs, ALL_WORKED))
    assert len(told) == sum(value.size for trace in runs.traces.values() for value in trace.values.values())
    assert_told_alike(runs, told, {})


def test_a_number_that_is_not_there_is_not_explained(page: Page, site: Path) -> None:
    page.goto((site / f"{STEPS[0]}.html").as_uri())
    for ref in ("probs.4", "probs.5.0", "probs.4.12", "nothing.0", "probs.-1.0", "no_run/probs.4.0", "", "__proto__"):
        assert page.evaluate("ref => explain(live, ref)", ref) is None


#: Nothing, then ten edits of the given numbers: weights of every kind, epsilon, tiny and large ones.
EDITS: list[dict[str, float]] = [
    {},
    {"W_U.3.6": -1},
    {"W_E.2.0": 2.5, "W_E.3.1": -0.25},
    {"W_Q.0.3.0": 0},
    {"W_K.1.0.0": 7, "W_V.0.2.0": -3},
    {"b_in.1": 3, "b_out.2": 0.125},
    {"W_pos.4.3": -2},
    {"W_O.0.1": 40},
    {"layer_norm_eps": 0.5},
    {"W_U.0.4": 1e6, "W_out.2.1": 1e-9},
    {f"W_U.{row}.{token}": 0 for row in range(4) for token in range(12)},
]


def changed(given: Mapping[str, np.ndarray], edit: Mapping[str, float]) -> dict[str, np.ndarray]:
    """The arrays with the edited entries, 0-based."""
    new = {name: value.copy() for name, value in given.items()}
    for ref, value in edit.items():
        name = max((name for name in new if ref == name or ref.startswith(f"{name}.")), key=len, default=None)
        if name is not None:
            new[name][tuple(map(int, ref[len(name) + 1 :].split("."))) if ref != name else ()] = value
    return new


def edited_runs(edit: Mapping[str, float]) -> Runs:
    """Every step of every run, derived ones too, on the edited numbers. The generated text is generated anew."""
    weights = changed(shipped().weights, edit)
    toy = replace(shipped(), weights=weights, layer_norm_eps=edit.get("layer_norm_eps", shipped().layer_norm_eps))
    ids = {"generated": toy.traces()["generated"]}

    def again(trace: Trace) -> Trace:
        steps = list(trace.steps.values())
        own = {step.name: trace.values[step.name] for step in steps if step.op == "given"}
        text = ids.get(trace.run, trace)
        own |= {name: text.values[name] for name in ("ids", "targets", "size.tokens") if name in text.values}
        return run(
            steps, changed(own, edit), trace.patch, run=trace.run, tokens=text.tokens, vocabulary=trace.vocabulary
        )

    return Runs({name: again(trace) for name, trace in shipped_runs().traces.items()} | recorded_runs().traces)


def claim_holds(compiled: str, runs: Runs) -> bool:
    """One on a value that is not there does not hold."""
    try:
        return holds(compiled, runs)
    except UnknownRefError:
        return False


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: "+".join(list(edit)[:2]) or "shipped")
def test_every_claim_of_every_page_is_judged_as_in_python(
    page: Page, site: Path, pages: dict[str, Element], edit: dict[str, float]
) -> None:
    runs = edited_runs(edit)
    judged = {True: 0, False: 0}
    for slug in WITH_SCRIPTS:
        claims = [node.get("data-claim") for node in with_attribute(pages[slug], "data-claim")]
        page.goto((site / f"{slug}.html").as_uri())
        code = "([set, all]) => { const runs = new Runs({ ...SHIPPED, set }); return all.map((c) => holds(c, runs)); }"
        expected = [claim_holds(claim, runs) for claim in claims]
        assert dict(zip(claims, page.evaluate(code, [edit, claims]), strict=True)) == dict(
            zip(claims, expected, strict=True)
        )
        for truth in expected:
            judged[truth] += 1
    assert judged[True] > 0
    assert bool(judged[False]) == bool(edit)


BY_HAND = """([set, refs]) => {
  const runs = new Runs({ ...SHIPPED, set });
  return refs.map((ref) => fromPrinted(runs, ref));
}"""


def by_hand(runs: Runs, ref: str) -> str | None:
    """What a calculator gives from the printed operands. A generated text may have become shorter."""
    try:
        value = from_printed(runs, ref) if runs[ref].ndim == 0 else None
    except UnknownRefError:
        return None
    return None if value is None else decimal_text(value)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: "+".join(list(edit)[:2]) or "shipped")
def test_a_calculator_gives_the_same_from_the_printed_numbers_of_every_table(
    page: Page, site: Path, pages: dict[str, Element], edit: dict[str, float]
) -> None:
    runs = edited_runs(edit)
    for slug in WITH_SCRIPTS:
        marks = (mark for table in pages[slug].iter("table") for mark in with_attribute(table, "data-ref"))
        refs = list(dict.fromkeys(mark.get("data-ref") for mark in marks))
        page.goto((site / f"{slug}.html").as_uri())
        found = page.evaluate(BY_HAND, [edit, refs])
        assert dict(zip(refs, found, strict=True)) == {ref: by_hand(runs, ref) for ref in refs}, slug
