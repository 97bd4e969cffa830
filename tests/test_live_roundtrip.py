"""A changed toy, downloaded and built, gives exactly the numbers that the browser showed."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import watch
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from live_pages import AS_SHIPPED, FLOATS, TENTHS, change, open_page, state, states, values
from playwright.sync_api import Browser, Page
from toys import SHIPPED

from sevensteps.engine.toy import Toy, load_toy

EDITS: list[dict[str, Any]] = [
    AS_SHIPPED,
    {"set": {"W_U.3.6": 0.7, "W_Q.1.0.1": -2.5, "b_in.2": 0.1, "W_pos.7.3": 1e-7}},
    {"text": "the dog climbed the roof.", "next": 1},
    {"text": "the the the.", "off": ["mask_off", "tied"]},
    {"set": {"W_out.1.1": 1e300, "W_E.1.3": 0}, "off": ["layer_norm_off", "head_1_off"]},
]


def downloaded(page: Page, folder: Path) -> Path:
    """The file that the button gives."""
    with page.expect_download() as download:
        page.evaluate("document.querySelector('[data-do=download]').click()")
    assert download.value.suggested_filename == "toy.toml"
    path = folder / "toy.toml"
    download.value.save_as(path)
    return path


def source_with(toy: Path, folder: Path) -> Path:
    for name in ("content", "templates", "static"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(toy, folder / "content" / "toy.toml")
    return folder


def built(source: Path) -> Path:
    command = [sys.executable, ROOT / "build.py", "--source", source]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return source / "site"


def inputs(toy: Toy) -> dict[str, Any]:
    """What a toy's runs start from."""
    weights = {name: array.ravel().tolist() for name, array in toy.weights.items()}
    runs = {name: [list(run.ids), list(run.targets), dict(run.patch)] for name, run in toy.runs.items()}
    return {"weights": weights, "runs": runs, "eps": toy.layer_norm_eps, "activation": toy.activation}


def live_inputs(page: Page, toy: Toy) -> dict[str, Any]:
    weights = page.evaluate("(names) => names.map((name) => [name, [...live.given[name].data]])", list(toy.weights))
    weights = {name: [float(number) for number in numbers] for name, numbers in weights}
    script = "(runs) => runs.map((run) => [run, Object.values(live.spec(run))])"
    runs = dict(page.evaluate(script, list(toy.runs)))
    own = page.evaluate("({ eps: live.given.layer_norm_eps.data[0], activation: data.activation })")
    return {"weights": weights, "runs": runs, **own}


@pytest.mark.parametrize("edit", EDITS)
def test_the_built_pages_of_a_downloaded_toy_hold_the_numbers_of_the_browser_to_the_last_bit(
    edit: dict[str, Any], page: Page, site: Path, tmp_path: Path, browser: Browser
) -> None:
    open_page(page, site, "7-generation")
    change(page, edit)
    runs = [run for run in page.evaluate("Object.keys(data.runs)") if run in load_toy(SHIPPED).runs]
    changed = {run: values(page, run) for run in [*runs, "generated"]}
    new_site = built(source_with(downloaded(page, tmp_path), tmp_path))
    other = browser.new_context(offline=True).new_page()
    seen = watch(other, new_site)
    open_page(other, new_site, "7-generation")
    assert state(other) == AS_SHIPPED
    for run, numbers in changed.items():
        np.testing.assert_equal(values(other, run, "shipped"), numbers)
    other.context.close()
    assert seen == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edit=states(FLOATS))
def test_any_change_is_in_the_file_to_the_last_bit(edit: dict[str, Any], page: Page, site: Path, tmp_path) -> None:
    open_page(page, site, "1-tokens")
    change(page, edit)
    toy = load_toy(downloaded(page, tmp_path))
    assert inputs(toy) == live_inputs(page, toy)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edit=states(TENTHS))
def test_the_engine_gives_for_the_file_what_the_browser_shows(
    edit: dict[str, Any], page: Page, site: Path, tmp_path
) -> None:
    open_page(page, site, "1-tokens")
    change(page, edit)
    for run, trace in load_toy(downloaded(page, tmp_path)).traces().items():
        shown = values(page, run)
        for name in shown:
            np.testing.assert_allclose(shown[name], trace.values[name].ravel(), rtol=1e-9, atol=1e-9)
