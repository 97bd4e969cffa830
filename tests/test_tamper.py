"""The check catches whatever is changed in the finished site: five hundred random places, and a weight of the toy."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from sevensteps.web.check import check_site
from sevensteps.web.check.checker import Checker
from sevensteps.web.check.files import read_files
from sevensteps.web.check.reader import Page
from sevensteps.web.output import write_site
from sevensteps.web.site import load_sources, render

ROOT = Path(__file__).parent.parent
EACH = 30

Change = Callable[[str, Random], str]
#: A kind of tampering: what it looks for (its first group is changed), how that changes, and in which regions.
Kind = tuple[str, Change, Callable[[set[str]], bool]]
REGIONS = {"table": r"<td\b.*?</td>", "worked": r'<span class="worked".*?</p>', "svg": r"<svg\b.*?</svg>"}


def other_digit(text: str, random: Random) -> str:
    at = random.choice([k for k, c in enumerate(text) if c in "0123456789"])
    return text[:at] + random.choice([d for d in "0123456789" if d != text[at]]) + text[at + 1 :]


def other_letter(text: str, random: Random) -> str:
    at = random.choice([k for k, c in enumerate(text) if c.isalpha()])
    return text[:at] + ("q" if text[at] != "q" else "x") + text[at + 1 :]


def swapped(pattern: str) -> Change:
    """Two pieces that match the pattern change places."""

    def change(text: str, random: Random) -> str:
        pieces = list(re.finditer(pattern, text, re.DOTALL))
        different = [(a, b) for a in pieces for b in pieces if a.start() < b.start() and a[0] != b[0]]
        if not different:
            return text
        a, b = random.choice(different)
        return text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]

    return change


def other_condition(text: str, random: Random) -> str:
    opposite = {" = ": " ≠ ", " ≠ ": " = ", " &lt; ": " ≥ ", " &gt; ": " ≤ ", " ≤ ": " &gt; ", " ≥ ": " &lt; "}
    found = [sign for sign in opposite if sign in text]
    return text.replace(found[0], opposite[found[0]], 1) if found else other_digit(text, random)


def gone(text: str, random: Random) -> str:
    return ""


def other_link(text: str, random: Random) -> str:
    return random.choice([text + "x", "/" + text, "folder/", text.partition("#")[0] + "#nowhere"])


def anywhere(regions: set[str]) -> bool:
    return True


def only(region: str) -> Callable[[set[str]], bool]:
    return lambda regions: region in regions


MARK = r"<(?:data|tspan|mn)\b[^>]*\bdata-ref=[^>]*>"
NUMBER = MARK + r"([^<]*\d[^<]*)<"
ROWS = r"<tbody>(.*?)</tbody>"
KINDS: dict[str, Kind] = {
    "a digit in prose": (NUMBER, other_digit, lambda regions: not regions),
    "a digit in a table": (NUMBER, other_digit, only("table")),
    "a digit in a formula": (r"<mn\b[^>]*>([^<]*\d[^<]*)<", other_digit, anywhere),
    "a digit in a worked line": (NUMBER, other_digit, only("worked")),
    "a digit in a drawing": (r"<t(?:ext|span)\b[^>]*>([^<]*\d[^<]*)<", other_digit, only("svg")),
    "a value": (r'value="([^"]*\d[^"]*)"', other_digit, anywhere),
    "the figure of a fact": (r"data-fact=[^>]*>([^<]*\d[^<]*)<", other_digit, anywhere),
    "the key of a fact": (r'data-fact="([^"]+)"', other_letter, anywhere),
    "a ref": (r'data-ref="([^"]*\d)"', other_digit, anywhere),
    "two rows of a table": (ROWS, swapped(r"<tr\b.*?</tr>"), anywhere),
    "two headings of rows": (ROWS, swapped(r'<th scope="row">.*?</th>'), anywhere),
    "a deleted number": (rf"({MARK}[^<]*</(?:data|tspan|mn)>)", gone, anywhere),
    "a claim's condition": (r'data-claim="([^"]+)"', other_condition, anywhere),
    "a calculator's figure": (r"data-(?:calculated|printed-sum)=[^>]*>([^<]+)<", other_digit, anywhere),
    "a digit that counts": (r"data-structure[^>]*>([^<]*\d[^<]*)<", other_digit, anywhere),
    "an operator of a worked line": (r" ([×+/−]) ", lambda text, random: "−" if text != "−" else "+", only("worked")),
    "a token": (r"data-token=[^>]*>([^<]*[a-z][^<]*)<", other_letter, anywhere),
    "a link": (r'href="([^"]+\.html[^"]*)"', other_link, anywhere),
    "a word": (r">([A-Z][a-z]+ [a-z ]+)", other_letter, anywhere),
    "an end tag": (r"(</(?:p|td|span|data|code|em|div|section)>)", gone, anywhere),
}


@pytest.fixture(scope="module")
def files(site: Path) -> dict[str, bytes]:
    return read_files(site)


@pytest.fixture(scope="module")
def checker(files: dict[str, bytes]) -> Checker:
    return Checker(load_sources(ROOT), files)


def places(html: str, kind: Kind) -> list[re.Match[str]]:
    """Where a page can be tampered with in this way."""
    pattern, _, wanted = kind
    regions = {name: [m.span() for m in re.finditer(region, html, re.DOTALL)] for name, region in REGIONS.items()}
    return [
        match
        for match in re.finditer(pattern, html, re.DOTALL)
        if wanted({name for name, spans in regions.items() if any(a < match.start(1) < b for a, b in spans)})
    ]


def tampered(html: str, match: re.Match[str], change: Change, random: Random) -> str:
    return html[: match.start(1)] + change(match[1], random) + html[match.end(1) :]


def test_the_site_as_it_is_built_has_no_fault(checker: Checker) -> None:
    report = checker.site()
    assert list(map(str, report.faults)) == []
    assert report.counts["pages"] == len(checker.pages) > 8
    assert min(report.counts.values()) > 0


def test_five_hundred_places_are_tampered_with() -> None:
    assert len(KINDS) * EACH >= 500


@pytest.mark.parametrize("kind", KINDS)
def test_every_tampering_is_caught(checker: Checker, files: dict[str, bytes], kind: str) -> None:
    random = Random(kind)
    pages = {name: files[name].decode() for name in checker.pages}
    found = [(name, match) for name, html in pages.items() for match in places(html, KINDS[kind])]
    assert found
    missed, done = [], 0
    while done < EACH:
        name, match = random.choice(found)
        html = tampered(pages[name], match, KINDS[kind][1], random)
        if html == pages[name]:
            continue
        done += 1
        faults = checker.page(Page(name, html)).faults
        if not faults or not all(re.match(rf"content/en/{name[:-5]}\.md(:\d+)?$", fault.source) for fault in faults):
            missed.append((name, match[0][:200], list(map(str, faults))))
        if KINDS[kind][0] == NUMBER:
            assert "number" in {fault.kind for fault in faults}, match[0]
    assert missed == []


def check(source: Path, output: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "build.py", "check", "--source", source, "--output", output]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


@pytest.mark.parametrize("kind", ["a digit in prose", "two rows of a table", "a link", "a word"])
def test_the_command_line_names_the_page_and_exits_1(site: Path, tmp_path: Path, kind: str) -> None:
    copy = Path(shutil.copytree(site, tmp_path / "site"))
    page = copy / "6-output.html"
    html = page.read_text("utf-8")
    random = Random(1)
    changed = next(
        new for match in places(html, KINDS[kind]) if (new := tampered(html, match, KINDS[kind][1], random)) != html
    )
    page.write_bytes(changed.encode())
    ended = check(ROOT, copy)
    assert ended.returncode == 1
    assert ended.stdout.startswith("6-output.html: ")


def test_the_command_line_has_only_the_counts_to_say_of_a_good_site_and_exits_0(site: Path) -> None:
    ended = check(ROOT, site)
    counts = r"\d+ pages, \d+ numbers, \d+ worked lines, \d+ claims, \d+ links, 0 faults\n"
    assert re.fullmatch(counts, ended.stdout), ended.stdout
    assert ended.returncode == 0


@pytest.mark.parametrize("seed", range(15))
def test_editing_any_weight_changes_the_site_and_breaks_only_claims(
    tmp_path: Path, files: dict[str, bytes], seed: int
) -> None:
    random = Random(seed)
    for folder in ("content", "templates", "static"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    toy = tmp_path / "content" / "toy.toml"
    text = toy.read_text("utf-8")
    # A line is a row and the comment on it.
    weights = [
        match
        for match in re.finditer(r"-?\d+(?:\.\d+)?(?=[,\]])", text)
        if match.start() > text.index("W_E") and "#" not in text[text.rindex("\n", 0, match.start()) : match.start()]
    ]
    match = random.choice(weights)
    new = random.choice([new for new in ("0.7", "-1.25", "2", "0.333", "-0.0004", "30") if new != match[0]])
    toy.write_text(text[: match.start()] + new + text[match.end() :], "utf-8", newline="\n")

    sources, output = load_sources(tmp_path), tmp_path / "site"
    site = render(sources)
    write_site(output, site.files)
    report = check_site(sources, output)

    assert [name for name in site.files if site.files[name] != files[name]], f"{new} for {match[0]} changes no page"
    assert [str(fault) for fault in report.faults if fault.kind != "claim"] == []
    # Each broken claim has its file, line and sentence, in the check as in the build.
    built = {
        (f"{claim.file}:{claim.line}", claim.sentence) for claim in site.broken if "no token fits" not in claim.expected
    }
    assert {(fault.source, fault.shown) for fault in report.broken_claims} == built
