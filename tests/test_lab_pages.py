"""The lab's pages: numbers that can be recorded again, commands that run as printed, grids that can be explored."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pages import LAB, of_class, text
from playwright.sync_api import Page, expect

from sevensteps.engine.faults import Fault, InputError
from sevensteps.lab.llama import load_llama
from sevensteps.lab.package import packaged_model
from sevensteps.lab.prompts import MEAN_TEXTS
from sevensteps.lab.readings import mean_rows
from sevensteps.lab.record import makers
from sevensteps.lab.recording import TOLERANCE, furthest, read_numbers
from sevensteps.web.lab import Recording, load_recording

RECORDED = ROOT / "content" / "lab.json"
needs_model = pytest.mark.skipif(packaged_model() is None, reason="no model: python build.py lab --install")
#: What takes minutes to record: the sweeps of whole models, and the read-out of the whole vocabulary.
LONG = ("capital", "fox", "read_back")


def commands(pages: dict[str, Element]) -> list[str]:
    return [text(code) for name in LAB for figure in of_class(pages[name], "command") for code in figure.iter("code")]


@needs_model
def test_every_command_on_a_page_runs_as_printed(pages: dict[str, Element]) -> None:
    printed = [line for line in commands(pages) if line.startswith("python ")]
    assert len(printed) > 5
    for line in printed:
        command = [sys.executable, *shlex.split(line)[1:]]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), line


@needs_model
def test_what_was_recorded_can_be_recorded_again() -> None:
    path = packaged_model()
    assert path is not None
    model = load_llama(path)
    kept = read_numbers(RECORDED)
    for name, make in makers(model, mean_rows(model, MEAN_TEXTS)).items():
        if name in LONG:
            continue
        again = {
            ".".join((f"{name}/{key}", *map(str, index))): float(number)
            for key, entry in make().data()["values"].items()
            for index, number in np.ndenumerate(np.array(entry["value"]))
        }
        distance, where = furthest({ref: kept[ref] for ref in kept if ref.startswith(f"{name}/")}, again)
        assert distance <= TOLERANCE, where


def test_the_file_says_what_made_it_and_is_small() -> None:
    made = load_recording(RECORDED).made
    assert made["command"] == "python build.py lab --record"
    assert len(made["sha256"]) == 64
    assert RECORDED.stat().st_size <= 150_000


def test_two_recordings_differ_where_they_differ_most() -> None:
    before = {"a/p": 0.5, "a/z": 100.0, "a/loss.0": 2.0}
    assert furthest(before, before) == (0, "a/p")
    assert furthest(before, before | {"a/z": 101.0, "a/p": 0.502}) == (pytest.approx(0.01), "a/z")
    assert furthest(before, {"a/p": 0.5, "a/z": 100.0})[1] == "a/loss.0"


# A faulty recording


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load_recording(path, "lab.json")
    return "\n".join(map(str, error.value.faults))


def recording() -> dict[str, Any]:
    value = {"title": "loss", "symbol": "", "axes": ["layer"], "value": [1, 2.5]}
    run = {"text": "a", "tokens": ["a"], "words": [], "values": {"loss": value}}
    made = {"command": "c", "model": "m", "sha256": "s", "numpy": "2"}
    return {"made": made, "tolerance": 0.01, "runs": {"one": run}}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: data.pop("runs"), "lab.json: runs: found nothing, expected tables"),
        (lambda data: data["made"].pop("sha256"), "lab.json: made.sha256: found nothing"),
        (lambda data: data["runs"]["one"].update(tokens="a"), "lab.json: runs.one.tokens: found 'a'"),
        (lambda data: data["runs"]["one"]["values"]["loss"].update(value=[1, [2]]), "lists of several lengths"),
        (lambda data: data["runs"]["one"]["values"]["loss"].update(value=[None]), "runs.one.values.loss.value"),
        (lambda data: data["runs"]["one"]["values"]["loss"].update(axes=["storey"]), "loss.axes: found storey"),
        (lambda data: data["runs"]["one"]["values"]["loss"].update(axes=[]), "loss.axes: found none"),
    ],
)
def test_a_faulty_recording_is_refused_by_name(tmp_path: Path, spoil: Callable[[Any], Any], said: str) -> None:
    data = recording()
    spoil(data)
    (path := tmp_path / "lab.json").write_text(json.dumps(data))
    assert said in refused(path)


def test_a_missing_or_broken_file_is_refused(tmp_path: Path) -> None:
    assert "found nothing" in refused(tmp_path / "lab.json")
    for content in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"made": ' + b"1" * 5000 + b"}"):
        (path := tmp_path / "broken.json").write_bytes(content)
        assert "lab.json" in refused(path)


def outcome(path: Path) -> Recording | list[Fault]:
    try:
        return load_recording(path)
    except InputError as error:
        return error.faults


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(["made", "tolerance", "runs", "one", "values", "loss", "axes", "value"]), value=JSON)
def test_whatever_stands_in_the_file_it_is_read_or_refused(tmp_path: Path, place: str, value: Any) -> None:
    def replaced(data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value if key == place else replaced(inner) for key, inner in data.items()}

    (path := tmp_path / "lab.json").write_text(json.dumps(replaced(recording())))
    assert outcome(path)


# Grids in the browser


@pytest.fixture
def lens(page: Page, site: Path) -> Page:
    page.goto((site / "lab/logit-lens.html").as_uri())
    return page


def test_a_reader_chooses_one_text_of_several(lens: Page) -> None:
    expect(lens.locator(".panel:visible")).to_have_count(1)
    lens.get_by_role("combobox", name="Text").select_option(label="the cat climbed the")
    expect(lens.get_by_role("region", name="the cat climbed the")).to_be_visible()
    expect(lens.locator(".panel:visible")).to_have_count(1)


def test_the_note_on_a_number_goes_with_the_text_that_shows_it(lens: Page) -> None:
    lens.locator(".panel:visible td [data-ref]").first.click()
    expect(lens.get_by_role("dialog")).to_be_visible()
    lens.get_by_role("combobox", name="Text").select_option(label="the cat climbed the")
    expect(lens.get_by_role("dialog")).to_be_hidden()


def test_without_scripts_and_on_paper_all_of_them_are_there(
    new_page: Callable[..., Page], lens: Page, site: Path
) -> None:
    lens.emulate_media(media="print")
    expect(lens.locator(".panel:visible")).to_have_count(3)
    plain = new_page(java_script_enabled=False)
    plain.goto((site / "lab/logit-lens.html").as_uri())
    expect(plain.locator(".panel:visible")).to_have_count(3)


def test_a_cell_is_read_out_where_the_pointer_or_the_focus_is(lens: Page) -> None:
    grid = lens.locator(".grid").first
    cell = grid.locator("tbody tr").nth(30).get_by_role("cell").nth(3)
    cell.hover()
    told = grid.locator("output")
    expect(told).to_contain_text("Layer 30. ␣of: ")
    expect(told).to_contain_text(cell.locator("data").first.inner_text())
    other = grid.locator("tbody tr").nth(29).locator("data").first
    other.focus()
    expect(told).to_contain_text("Layer 29. <|endoftext|>: ")
    expect(told).to_contain_text(f"p {other.inner_text()}")


def test_a_slider_steps_through_the_layers(lens: Page) -> None:
    grid = lens.locator(".grid").first
    slider = grid.get_by_label("Step through the layers")
    slider.focus()
    lens.keyboard.press("ArrowLeft")
    expect(grid.locator("tr.now th")).to_have_text("29")
    expect(grid.locator("output")).to_contain_text("Layer 29. ")
    assert grid.locator("output").inner_text().count(" · ") == grid.locator("thead th").count() - 2


def test_a_recorded_number_can_be_asked_and_a_box_of_the_lab_judges(page: Page, site: Path) -> None:
    page.goto((site / "lab/next-token.html").as_uri())
    page.locator("[data-ref='capital/top.p.0']").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Recorded from a run of the real model.")
    page.keyboard.press("Escape")
    box = page.locator(".check").first
    right = box.evaluate("box => live.at(box.dataset.answer)")
    box.get_by_role("textbox").fill(f"{right:.3f}")
    box.get_by_role("button", name="Check").click()
    expect(box.locator("output")).to_have_text("Well done.")
