"""The README's commands, the CI that runs them, and the search for a browser."""

import os
import re
import subprocess
import sys
from pathlib import Path

import browser
import pytest

from sevensteps.browser import NAMED, REMEDIES, candidates

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def command_ending(end: str) -> str:
    """The one shell line of the README that makes the environment and ends so."""
    (line,) = (line for line in README.splitlines() if line.startswith("python3 -m venv") and line.endswith(end))
    return line


def test_ci_runs_the_readmes_test_command() -> None:
    assert command_ending("pytest") in (ROOT / ".ci/run").read_text("utf-8").splitlines()


def test_the_workflow_runs_ci_and_publishes_the_site() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    assert "- run: .ci/run\n" in workflow
    assert re.search(r"upload-pages-artifact@v\d+\n\s+with:\n\s+path: site\n", workflow)


def test_every_file_that_the_readme_names_exists() -> None:
    named = re.findall(r"\]\(([^)]+)\)|^\| `([^`]+)`", README, flags=re.MULTILINE)
    paths = [link or folder for link, folder in named]
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_readmes_windows_lines_do_the_same_as_its_linux_lines() -> None:
    for line in (command_ending("build.py"), command_ending("pytest")):
        windows = line.replace("python3", "py -3").replace(".venv/bin/", ".venv\\Scripts\\").replace(" && ", "; ")
        assert windows in README.splitlines()


def no_browser() -> str:
    raise browser.NoBrowserError(REMEDIES)


def test_a_named_browser_that_does_not_start_is_an_error_and_nothing_is_installed(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    command = [sys.executable, ROOT / "tests/prepare.py"]
    ended = subprocess.run(command, env=os.environ | {NAMED: missing}, capture_output=True, encoding="utf-8")
    assert ended.returncode == 1
    assert f"{missing} (from {NAMED})" in ended.stderr
    assert "playwright install chromium" in ended.stderr
    assert ended.stdout == ""


def test_a_browser_is_looked_for_in_this_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAMED, raising=False)
    monkeypatch.setattr(browser.shutil, "which", lambda command: f"/bin/{command}")
    names = [name for name, _ in candidates()]
    assert names == ["Playwright's own Chromium", "Chrome", "Edge", "/bin/chromium", "/bin/chromium-browser"]


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (False, ["playwright install chromium"]),
        (True, ["playwright install chromium", "apt-get update", "apt-get install -y chromium"]),
    ],
)
def test_without_a_browser_installing_is_tried_and_then_the_remedies_are_named(
    monkeypatch: pytest.MonkeyPatch, root: bool, expected: list[str]
) -> None:
    asked: list[str] = []
    monkeypatch.delenv(NAMED, raising=False)
    monkeypatch.setattr(browser, "_name", no_browser)
    monkeypatch.setattr(browser, "_is_root", lambda: root)
    monkeypatch.setattr(browser.shutil, "which", lambda command: f"/bin/{command}")
    monkeypatch.setattr(browser, "_succeeds", lambda command: asked.append(" ".join(command)) is None)
    with pytest.raises(browser.NoBrowserError, match="install Chrome, Edge or Chromium"):
        browser.get()
    assert [command.removeprefix(f"{sys.executable} -m ") for command in asked] == expected


@pytest.mark.parametrize(
    ("root", "expected"),
    [(False, []), (True, ["update", *(f"install -y {package}" for package in browser.OTHERS)])],
)
def test_firefox_and_webkit_are_tried_and_done_without(
    monkeypatch: pytest.MonkeyPatch, root: bool, expected: list[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(browser, "_is_root", lambda: root)
    monkeypatch.setattr(browser.firefox, "installed", lambda: None)
    monkeypatch.setattr(browser.shutil, "which", lambda command: f"/bin/{command}")
    monkeypatch.setattr(browser, "_succeeds", lambda command: bool(asked.append(" ".join(command))))
    browser.get_others()
    assert [command.removeprefix("apt-get ") for command in asked] == expected
