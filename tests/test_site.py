"""The build through its front door: what it writes, what it refuses, and what a reader then sees."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from html import unescape
from pathlib import Path

import pytest
from pages import LAB, PAGES
from toys import shipped_data, toml

ROOT = Path(__file__).parent.parent


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the sources that a test may spoil."""
    folder = tmp_path / "source"
    for name in ("content", "templates", "static"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def build(source: Path, output: Path | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "build.py", "--source", source, *(["--output", output] if output else [])]
    return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8")


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text in line)


def test_all_pages_and_side_files_are_there(site: Path) -> None:
    expected = {"sitemap.xml", "static/style.css", "static/favicon.svg", *(f"{page}.html" for page in PAGES)}
    assert expected <= set(files(site))


def test_two_builds_of_one_input_are_equal_byte_for_byte(source: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert build(source, tmp_path / name).returncode == 0
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_hash_seed_and_locale_change_nothing(source: Path, tmp_path: Path, site: Path) -> None:
    command = [sys.executable, ROOT / "build.py", "--source", source, "--output", tmp_path / "other"]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C", "PYTHONUTF8": "0"}, check=True)
    assert files(tmp_path / "other") == files(site)


def test_the_build_says_which_file_to_open_and_runs_from_any_folder(source: Path, tmp_path: Path) -> None:
    result = build(source, cwd=tmp_path)
    assert result.returncode == 0
    opened = Path(re.search(r"Open (.+)", result.stdout)[1])
    assert opened == source / "site" / "index.html"
    assert opened.is_file()


def test_a_stale_page_is_gone_after_the_next_build(source: Path) -> None:
    build(source)
    (source / "site" / "stale.html").write_text("old", encoding="utf-8")
    assert build(source).returncode == 0
    assert not (source / "site" / "stale.html").exists()


def test_a_failed_build_leaves_the_old_site_and_nothing_beside_it(source: Path) -> None:
    build(source)
    before, beside = files(source / "site"), set(os.listdir(source))
    edit(source / "content" / "toy.toml", "text = ", "texts = ")
    assert build(source).returncode == 2
    assert files(source / "site") == before
    assert set(os.listdir(source)) == beside


def test_every_text_file_is_utf8_with_lf_and_says_its_language(site: Path) -> None:
    for name, content in files(site).items():
        if name.endswith((".html", ".css", ".xml", ".svg", ".js")):
            assert b"\r" not in content, name
            assert content.decode("utf-8")
    for page in PAGES:
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        assert '<html lang="en"' in html
        assert re.search(r'<meta name="description" content="[^"]{20,}"', html), page


def test_links_are_relative_and_lead_to_real_files(site: Path) -> None:
    for page in PAGES:
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        html = re.sub(r'<link rel="canonical"[^>]*>', "", html)  # it says where the page is published
        for target in re.findall(r'(?:href|src)="([^"]*)"', html):
            path = unescape(target).partition("#")[0]
            assert not re.match(r"[a-z]+:|/", path), target
            assert not path or (site / page).parent.joinpath(path).is_file(), target


def test_the_sitemap_lists_every_page_but_the_404(site: Path) -> None:
    text = (site / "sitemap.xml").read_text(encoding="utf-8")
    url = tomllib.loads((ROOT / "content/site.toml").read_text(encoding="utf-8"))["url"]
    listed = re.findall(rf"<loc>{re.escape(url)}([^<]*)</loc>", text)
    assert {name or "index.html" for name in listed} == {f"{page}.html" for page in PAGES if page != "404"}


@pytest.mark.parametrize("name", ["content", "templates", "content/en", "."])
def test_an_output_folder_that_holds_sources_is_refused(source: Path, name: str) -> None:
    before = files(source)
    result = build(source, source / name)
    assert result.returncode == 2
    assert "output folder" in result.stderr
    assert files(source) == before


def test_an_output_folder_with_somebodys_files_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mine", encoding="utf-8")
    result = build(source, tmp_path / "thesis")
    assert result.returncode == 2
    assert "chapter.txt" in result.stderr
    assert (tmp_path / "thesis" / "chapter.txt").read_text(encoding="utf-8") == "mine"


def test_an_output_folder_that_cannot_be_written_is_told(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = build(source, tmp_path / "file" / "site")
    assert result.returncode == 2
    assert "expected a folder that can be written" in result.stderr


def test_a_missing_content_page_is_told(source: Path) -> None:
    (source / "content" / "en" / "5-block.md").unlink()
    (source / "content" / "en" / "glossary.md").unlink()
    result = build(source)
    assert result.returncode == 2
    assert "content/en/5-block.md" in result.stderr
    assert "content/en/glossary.md" in result.stderr


@pytest.mark.parametrize(
    ("spoiled", "said"),
    [
        ("<%= n('nope[1]') %>", "no symbol or name 'nope'"),
        ("<%= n('p[last,␣house]') %>", "no token '␣house'"),
        ("<%= n('y[last]') %>", "not a single number"),
        ("<%= t('␣house') %>", "'␣house'"),
        ("<%= fact('nope') %>", "'nope'"),
        ("<%= nonsense('x') %>", "nonsense"),
        ("<%= n() %>", "missing 1 required"),
        ("<% call claim('p > 1') %>x<% endcall %>", "not a single number"),
        ("<% call claim('so true') %>x<% endcall %>", "so true"),
        ("<% call matrix('nope') %>x<% endcall %>", "'nope'"),
        ("<%= n('x[1,1]' %>", "expected"),
        ("$\\foo$", 'Unknown command "\\foo"'),
        ("$a \\\\[1ex] b$", "\\\\["),
        ("$x", "a single $"),
        ("$z = <%= t('␣cat') %>$", "inside a formula"),
        ("$\\text{<%= n('y[last,1]') %>}$", "inside a formula"),
    ],
)
def test_a_mistake_in_the_content_names_file_and_line(source: Path, spoiled: str, said: str) -> None:
    path = source / "content" / "en" / "404.md"
    path.write_text(path.read_text(encoding="utf-8") + f"\nA line.\n\nSpoiled {spoiled} here.\n", encoding="utf-8")
    result = build(source)
    assert result.returncode == 2
    assert f"content/en/404.md:{line_of(path, 'Spoiled')}: " in result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_all_faults_of_all_pages_are_told_at_once(source: Path) -> None:
    for page in ("1-tokens", "5-block"):
        with (source / "content" / "en" / f"{page}.md").open("a", encoding="utf-8") as file:
            file.write("\n<%= n('nope1') %>\n\n<%= n('nope2') %>\n\n$\\foo$\n")
    result = build(source)
    faults = [line for line in result.stderr.splitlines() if line.startswith("content/en/")]
    assert len(faults) == 6


@pytest.mark.parametrize("head", ["", "title = 'x'\n", "+++\ntitle = 'x'\n+++\n", "+++\nnot toml\n+++\n"])
def test_a_page_without_its_title_and_description_is_told(source: Path, head: str) -> None:
    (source / "content" / "en" / "404.md").write_text(head + "Text.\n", encoding="utf-8")
    result = build(source)
    assert result.returncode == 2
    assert "content/en/404.md: front matter" in result.stderr


def test_a_broken_claim_is_built_marked_and_told_with_file_line_and_sentence(source: Path) -> None:
    path = source / "content" / "en" / "404.md"
    with path.open("a", encoding="utf-8") as file:
        file.write("\n<% call claim('T > 100') %>The text is long<% endcall %>.\n")
    result = build(source)
    assert result.returncode == 0
    assert f"content/en/404.md:{line_of(path, 'T > 100')}: no longer true: The text is long" in result.stderr
    html = (source / "site" / "404.html").read_text(encoding="utf-8")
    assert '<span class="claim broken" data-claim="size.tokens &gt; 100">The text is long</span>' in html


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("T > 2 and T > 100 and T < 50", "T > 100"),
        ("T > 91 and T > 92 and T = T", "T > 91 and T > 92"),
        (" and ".join(f"T > {n}" for n in range(91, 99)), "T > 91 and T > 92 and T > 93 and 5 more"),
    ],
)
def test_of_a_broken_claim_the_build_tells_what_is_not_true_and_nothing_else(
    source: Path, condition: str, expected: str
) -> None:
    with (source / "content" / "en" / "404.md").open("a", encoding="utf-8") as file:
        file.write(f"\n<% call claim('{condition}') %>The text is long<% endcall %>.\n")
    assert f"no longer true: The text is long (expected: {expected})\n" in build(source).stderr


HOSTILE = ["<script>", "&amp;", '"', "|", "{{x}}", "$", "_", "🙂", "]", "<%=x%>", "*b*", "`", "</table>", "$$", "\\"]


def with_tokens(source: Path, tokens: list[str]) -> None:
    data = shipped_data()
    data["vocabulary"] += tokens
    data["weights"]["W_E"] += [[0, 0, 0, 0.5]] * len(tokens)
    for row in data["weights"]["W_U"]:
        row += [0] * len(tokens)
    data["runs"]["hostile"] = {"text": "".join(tokens[:3])}
    (source / "content" / "toy.toml").write_text(toml(data), encoding="utf-8")


def test_tokens_of_every_kind_show_as_themselves_on_every_page(source: Path) -> None:
    with_tokens(source, HOSTILE)
    result = build(source)
    assert result.returncode == 0, result.stderr
    scenes = tomllib.loads((source / "content" / "derived.toml").read_text(encoding="utf-8"))["scenes"]
    known = {*HOSTILE, *shipped_data()["vocabulary"]}.union(*(scene["tokens"] for scene in scenes.values()))
    for page in set(PAGES) - set(LAB):
        html = (source / "site" / f"{page}.html").read_text(encoding="utf-8")
        shown = {unescape(text) for text in re.findall(r'<code class="token[^"]*"[^>]*>([^<]*)</code>', html)}
        assert shown <= known, page
        if page in ("1-tokens", "2-embeddings", "6-output", "7-generation"):
            assert set(HOSTILE) <= shown, page
        assert "<script>" not in html, page
