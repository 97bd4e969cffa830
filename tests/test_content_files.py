"""Faults in the files beside the toy: derived figures, facts, site data, names and templates. One message each."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def faults_after(tmp_path: Path, file: str, old: str, new: str) -> list[str]:
    """What the build says when a text of a source file is replaced; with an empty old text, the whole file is."""
    source = tmp_path / "source"
    for name in ("content", "templates", "static"):
        shutil.copytree(ROOT / name, source / name)
    text = (source / file).read_text(encoding="utf-8")
    assert old in text
    (source / file).write_text(text.replace(old, new, 1) if old else new, encoding="utf-8")
    build = subprocess.run(
        [sys.executable, ROOT / "build.py", "--source", source], capture_output=True, encoding="utf-8"
    )
    assert build.returncode == 2, build.stderr
    assert "Traceback" not in build.stderr
    assert not (source / "site").exists()
    return build.stderr.splitlines()


ONE_FAULT = {
    "derived, constants no tables": ("derived.toml", "", "constants = 3", "constants: found 3, expected tables"),
    "derived, tokens no texts": ("derived.toml", "", "tokens = [1]", "tokens: found [1], expected a list of texts"),
    "derived, unknown table": ("derived.toml", "", "[other]", "other: found an unknown key, expected one of tokens"),
    "derived, op unknown": (
        "derived.toml", "", '[derived.a]\nop = "nope"\ninputs = ["T"]', "derived.a: found no op 'nope'"
    ),
    "derived, no inputs": ("derived.toml", "", '[derived.a]\nop = "exp"', "derived.a.inputs: found nothing"),
    "derived, input unknown": (
        "derived.toml", "", '[derived.a]\nop = "exp"\ninputs = ["nope"]', "derived.a: found no symbol or name 'nope'"
    ),
    "derived, too many inputs": (
        "derived.toml", "", '[derived.a]\nop = "exp"\ninputs = ["T", "V"]', "derived.a: found exp() takes 1"
    ),
    "derived, axes of another number": (
        "derived.toml", "", '[derived.a]\nop = "exp"\ninputs = ["p[last]"]', "found axes none for a value of 1"
    ),
    "derived, run unknown": (
        "derived.toml", "", '[derived.a]\nop = "exp"\ninputs = ["T"]\nrun = "nope"', "derived.a: found 'nope/T': no run"
    ),
    "derived, value no number": (
        "derived.toml", "", '[constants.a]\nvalue = "x"', "constants.a.value: found 'x', expected a finite number"
    ),
    "derived, value beyond float64": (
        "derived.toml", "", "[constants.a]\nvalue = nan", "constants.a.value: found nan, expected a finite number"
    ),
    "facts, no table": ("facts.toml", "", "a = 3", "a: found 3, expected a table with the keys"),
    "facts, no source": ("facts.toml", "", "[a]\nvalue = 3", "a: found no source, expected a source"),
    "facts, value and product": (
        "facts.toml", "", '[a]\nvalue = 3\nproduct = [1]\nsource = "x"', "expected one of value, product, sum"
    ),
    "facts, part unknown": (
        "facts.toml", "", '[a]\nproduct = ["b"]\nsource = "x"', "a: found 'b', expected a number or a fact"
    ),
    "facts, value infinite": ("facts.toml", "", '[a]\nvalue = inf\nsource = "x"', "a: found inf"),
    "facts, quoted says another number": (
        "facts.toml", "", '[a]\nvalue = 3\nquoted = "4"\nsource = "x"', "a: found quoted = '4', expected the digits"
    ),
    "derived, a title with ~": (
        "derived.toml", "", '[constants.a]\nvalue = 1\ntitle = "x ~ y"',
        "constants.a.title: found 'x ~ y', expected a text without ~",
    ),
    "site, no title": ("site.toml", "title = ", "titles = ", "title: found nothing, expected a text, not empty"),
    "site, no address": ("site.toml", 'url = "https://', 'url = "//', "expected a web address"),
    "site, names no list": ("site.toml", "names = [", 'names = "x" #', "names: found 'x', expected a list of texts"),
    "names, an entry no table": ("names.toml", "", "W_E = 3", "W_E: found 3, expected a table"),
    "names, another library": ("names.toml", "", '[W_E]\njax = "x"', "W_E.jax: found an unknown key"),
    "names, not TOML": ("names.toml", "", "[[", "(file): found"),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_FAULT)
def test_a_fault_names_file_key_found_and_expected(case: str, tmp_path: Path) -> None:
    file, old, new, said = ONE_FAULT[case]
    lines = faults_after(tmp_path, f"content/{file}", old, new)
    assert any(line.startswith(f"content/{file}: ") and said in line for line in lines), lines


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("layout.html", "</body>", "<%= nope %>\n</body>", "'nope' is undefined"),
        ("boxes.html", "<% macro", "<% macr", "unknown tag 'macr'"),
        ("sitemap.xml", "<urlset", "<%= nope %><urlset", "'nope' is undefined"),
    ],
)
def test_a_mistake_in_a_template_names_file_and_line(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    text = (ROOT / "templates" / file).read_text(encoding="utf-8")
    line = text[: text.index(old)].count("\n") + 1
    (message,) = faults_after(tmp_path, f"templates/{file}", old, new)
    assert message.startswith(f"templates/{file}:{line}: template: found ")
    assert said in message


def test_two_faults_of_one_file_are_told_at_once(tmp_path: Path) -> None:
    new = '[constants.a]\nvalue = "x"\n[derived.b]\nop = 3\ninputs = [3]'
    lines = faults_after(tmp_path, "content/derived.toml", "", new)
    assert [line.split(": ")[1] for line in lines] == ["constants.a.value", "derived.b.op", "derived.b.inputs"]
