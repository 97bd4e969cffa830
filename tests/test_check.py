"""The check, one kind of fault at a time, on a small site whose pages the test writes itself."""

import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sevensteps.printing import shown, with_places
from sevensteps.web.check.bare import bare_numbers
from sevensteps.web.check.checker import Checker
from sevensteps.web.check.files import file_faults
from sevensteps.web.check.printed import printed
from sevensteps.web.check.reader import Page
from sevensteps.web.check.report import Fault
from sevensteps.web.check.values import Values
from sevensteps.web.check.worked import worked_lines
from sevensteps.web.marks import Marks
from sevensteps.web.site import PAGES, Sources, load_sources, render

ROOT = Path(__file__).parent.parent
HEAD = '+++\ntitle = "A page"\ndescription = "What it says."\n+++\n'
OUTPUT = """
The last row starts with <%= n('y[last,1]') %> and $z = <%= n('z[last,␣roof]') %>$; row <%= k(2) %> follows.

GPT-2 has <%= fact('gpt2_vocabulary') %> tokens. The most likely one is <%= top('p[last]') %>.

<% call claim("top(p[last]) = '␣roof'") %>The roof leads<% endcall %>.

A far attention weight is <%= n('A2[last,2]') %>, a masked one <%= n('A1[1,2]') %>.

<%= worked('z[last,␣roof]') %>

<%= worked('E[␣cat,1]') %>

<% call matrix('A1') %>Attention<% endcall %>

<% call listing([('z', 'z[last]'), ('e', 'e^z[last]')]) %>Powers<% endcall %>

<% call check(answer='e^z[last,␣roof]') %>
What is it? See the [home page](index.html#part) and the [end](#end).
<% endcall %>

## End {#end}
"""
NAME = "6-output.html"
SOURCE = "content/en/6-output.md"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source folder with the shipped toy and templates, and nearly empty pages."""
    root = tmp_path_factory.mktemp("source")
    for folder in ("content", "templates", "static"):
        shutil.copytree(ROOT / folder, root / folder)
    for slug in PAGES:
        body = OUTPUT if slug == "6-output" else "\n## Part {#part}\n\nText.\n"
        (root / "content" / "en" / f"{slug}.md").write_text(HEAD + body, "utf-8", newline="\n")
    return root


@pytest.fixture(scope="module")
def sources(source: Path) -> Sources:
    return load_sources(source)


@pytest.fixture(scope="module")
def files(sources: Sources) -> dict[str, bytes]:
    return render(sources).files


@pytest.fixture(scope="module")
def checker(sources: Sources, files: dict[str, bytes]) -> Checker:
    return Checker(sources, files)


@pytest.fixture
def after(checker: Checker, files: dict[str, bytes]) -> Callable[..., list[Fault]]:
    """The faults of the page after one or more replacements (pattern, new) in its HTML."""

    def faults(*replacements: tuple[str, str]) -> list[Fault]:
        html = files[NAME].decode()
        for pattern, new in replacements:
            html, count = re.subn(pattern, new, html, count=1, flags=re.DOTALL)
            assert count, f"no {pattern!r} in the page"
        return checker.page(Page(NAME, html)).faults

    return faults


def line_of(text: str) -> int:
    return (HEAD + OUTPUT)[: (HEAD + OUTPUT).index(text)].count("\n") + 1


def test_the_small_site_has_no_fault_and_everything_is_counted(checker: Checker, files: dict[str, bytes]) -> None:
    report = checker.site()
    html = files[NAME].decode()
    marks = len(re.findall(r"data-(?:ref|fact|calculated|printed-sum)=", html))
    pages = [content.decode() for name, content in files.items() if "html" in name]
    links = sum(len(re.findall(r'(?:href|src)="(?!https:)', page)) for page in pages)
    count = f"{len(PAGES)} pages, {marks} numbers, 3 worked lines, 1 claims, {links} links, 0 faults"
    assert str(report) == count


# Marked numbers.


def test_a_changed_digit_is_one_line_with_page_ref_both_texts_and_source_line(
    after: Callable[..., list[Fault]],
) -> None:
    (fault,) = after((">−0.436<", ">−0.437<"))
    line = line_of("n('y[last,1]')")
    assert str(fault) == f"{NAME}: number resid_post.4.0: shown −0.437, expected −0.436 ({SOURCE}:{line})"


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r">2\.491</mn>", ">2.492</mn>"),  # a formula
        (r">−0\.436<", ">0.436<"),  # a lost sign
        (r">−0\.436<", ">-0.436<"),  # another minus sign
        (r">−0\.436<", ">−0.44<"),  # the same quantity printed with other places
        (r"(?<=attn\.pattern\.1\.4\.1\")>&lt;0\.001<", ">0<"),  # a small probability as nothing
        (r"(?<=attn\.pattern\.0\.0\.1\")>0<", ">0.000<"),  # a masked weight as a small number
        (r"(?<=attn\.pattern\.0\.0\.1\")>0<", ">−0<"),
        (r'(?<=logits\.exp\.4\.0")>[^<]*<', ">many<"),  # no number, in a table whose columns follow from one another
        (r'(?<=logits\.exp\.4\.0")>[^<]*<', ">sNaN<"),
        (r'value="-0\.435', 'value="-0.436'),
        (r'value="-0\.\d+', 'value="'),
        (r'value="-0\.\d+', 'value="nan'),
        (r'data-ref="resid_post\.4\.0"', 'data-ref="resid_post.4.9"'),
        (r'data-ref="resid_post\.4\.0"', 'data-ref="resid_post.4"'),
        (r'data-ref="resid_post\.4\.0">−0\.436', 'data-ref="resid_post.4.0" data-places="4">−0.4360'),
    ],
)  # fmt: skip
def test_a_wrong_text_value_or_ref_is_a_numeric_fault(
    after: Callable[..., list[Fault]], pattern: str, new: str
) -> None:
    faults = after((pattern, new))
    assert "number" in {fault.kind for fault in faults}


def test_a_deleted_number_is_missing_at_its_source_line(after: Callable[..., list[Fault]]) -> None:
    (fault,) = after((r"<data [^>]*resid_post\.4\.0.*?</data>", ""))
    assert (fault.kind, fault.shown, fault.source) == ("number", "nothing", f"{SOURCE}:{line_of('y[last,1]')}")


def test_an_added_number_is_a_fault_though_it_is_right_in_itself(after: Callable[..., list[Fault]]) -> None:
    (fault,) = after(
        (r"(?=<data [^>]*resid_post\.4\.0)", '<data class="num" value="12" data-ref="size.vocabulary">12</data>')
    )
    assert (fault.ref, fault.expected) == ("size.vocabulary", "nothing")


def test_swapped_rows_are_missing_at_one_place_and_too_many_at_another(after: Callable[..., list[Fault]]) -> None:
    faults = after((r"(<tr>.{9,2000}?</tr>)\n(<tr>.*?</tr>)", r"\2\n\1"))
    assert {fault.kind for fault in faults} == {"number"}
    assert "nothing" in {fault.shown for fault in faults}
    assert "nothing" in {fault.expected for fault in faults}


def test_swapped_labels_of_rows_are_a_fault(after: Callable[..., list[Fault]]) -> None:
    heading = r'<th scope="row">.*?</th>'
    (fault,) = after((rf"(<tr>)({heading})(.*?<tr>)({heading})", r"\1\4\3\2"))
    assert (fault.kind, fault.source) == ("text", f"{SOURCE}:{line_of('matrix(')}")


def test_a_fact_is_compared_with_its_file(after: Callable[..., list[Fault]]) -> None:
    assert [fault.kind for fault in after((">50,257<", ">50,258<"))][:1] == ["fact"]
    assert "fact" in {fault.kind for fault in after(('data-fact="gpt2_vocabulary"', 'data-fact="gpt9_vocabulary"'))}
    assert "fact" in {fault.kind for fault in after(('value="50257"', 'value="50258"'))}


def test_a_token_that_follows_from_the_weights_is_compared_with_them(after: Callable[..., list[Fault]]) -> None:
    (fault,) = after((r"(?<=data-token=\"top probs\.4\")>␣roof<", ">␣wall<"))
    assert (fault.kind, fault.shown, fault.expected) == ("token", "␣wall", "␣roof")


def test_an_answer_that_is_no_number_of_the_toy_is_a_fault(after: Callable[..., list[Fault]]) -> None:
    (fault,) = after((r'data-answer="[^"]+"', 'data-answer="logits.exp.4.99"'))
    assert fault.ref == "logits.exp.4.99"


# The hand check.


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r"(?<=<span class=\"worked\")(.*?)\s×\s", r"\1 + "),
        (r"(?<=<span class=\"worked\")(.*?)−0\.987<", r"\1−0.986<"),
        (r"(?<=<span class=\"worked\")(.*?) \+ ", r"\1 + 1 + "),
        (r'data-kind="copy"', 'data-kind="line"'),
        (r'data-kind="line"', 'data-kind="open"'),
        (r'data-kind="line"', 'data-kind="copy"'),
        (r'data-worked="logits\.4\.6"', 'data-worked="logits.4.7"'),
    ],
)  # fmt: skip
def test_a_worked_line_that_is_not_the_numbers_arithmetic_is_a_fault(
    checker: Checker, files: dict[str, bytes], pattern: str, new: str
) -> None:
    html, count = re.subn(pattern, new, files[NAME].decode(), count=1, flags=re.DOTALL)
    assert count
    assert "worked line" in {fault.kind for fault in checker.page(Page(NAME, html)).faults}


def test_a_chain_that_goes_on_from_the_unrounded_value_does_not_close(sources: Sources) -> None:
    """e to the printed 2.491 is 12.073; the engine's 12.069 comes from 2.49067…."""
    line = (
        '<html><span class="worked" data-worked="logits.exp.4.6" data-kind="line"><span class="label">e</span> = e<sup>'
        '<data data-ref="logits.4.6">2.491</data></sup> = <data data-ref="logits.exp.4.6">12.069</data></span></html>'
    )
    (finding,) = worked_lines(Page("x.html", line), Values(sources))
    assert re.fullmatch(r"12\.073\d* from the printed digits", finding.expected)


def test_the_worked_line_of_every_number_of_every_run_passes(sources: Sources) -> None:
    values, marks = Values(sources), Marks(sources.runs, lambda: "")
    refs = [f"{run}/{ref}" for run, trace in sources.runs.traces.items() for ref in trace.refs()]
    lines = "".join(marks.worked(ref) for ref in refs[::7])
    findings = list(worked_lines(Page("x.html", f"<html>{lines}</html>"), values))
    assert [(finding.ref, finding.shown, finding.expected) for finding in findings] == []


def test_a_note_that_is_due_may_not_be_missing_or_wrong(after: Callable[..., list[Fault]]) -> None:
    wrong = after((r"(data-calculated=\"logits\.exp\.4\.6\">)12\.073", r'data-calculated="logits.exp.4.6">12.074'))
    assert ("note", "12.074", "12.073") in {(fault.kind, fault.shown, fault.expected) for fault in wrong}
    gone = after((r'<p class="note">The table.*?</p>', ""))
    assert "a note that the printed digits give 12.073" in {fault.expected for fault in gone}
    gone = after((r'<p class="note">Each entry.*?</p>', ""))
    assert "a note that the printed digits give 0.999" in {fault.expected for fault in gone}


# Claims.


def test_an_edit_of_the_toy_that_breaks_a_claim_is_no_numeric_fault(source: Path, tmp_path: Path) -> None:
    edited = Path(shutil.copytree(source, tmp_path / "edited"))
    toy = edited / "content" / "toy.toml"
    text = toy.read_text("utf-8")
    start = text.index("W_U = [")
    unembedding = re.sub(r"\[.*?\](?=,)", lambda row: re.sub(r"[-\d.]+", "0", row[0]), text[start:].split("\n]")[0])
    toy.write_text(text[:start] + unembedding + "\n]" + text[start:].partition("\n]")[2], "utf-8", newline="\n")
    sources = load_sources(edited)
    report = Checker(sources, render(sources).files).site()
    assert report.numeric == []
    (fault,) = report.broken_claims
    assert (fault.shown, fault.source) == ("The roof leads", f"{SOURCE}:{line_of('The roof leads')}")
    assert str(report).endswith("1 faults (0 numeric, 1 claims that no longer hold, 0 other)")


@pytest.mark.parametrize("condition", ["top(probs.4) = 7", "top(nothing.4) = 6", "leads", ""])
def test_a_claims_condition_may_not_be_changed(after: Callable[..., list[Fault]], condition: str) -> None:
    assert after((r'data-claim="[^"]*"', f'data-claim="{condition}"'))


# Bare numbers.


def bare(body: str, names: tuple[str, ...] = ("GPT-2", "Llama 3")) -> list[str]:
    return [finding.shown for finding in bare_numbers(Page("x.html", f"<html>{body}</html>"), names)]


@pytest.mark.parametrize(
    "body",
    [
        "<p>12 tokens</p>",
        "<p>x²</p>",
        "<p>½ of it</p>",
        "<p>GPT-20</p>",
        "<p>GPT-2.5</p>",
        "<p>Llama <b>3</b></p>",
        "<title>Step 3</title>",
        '<meta name="description" content="The 7 steps">',
        '<nav aria-label="Step 3">x</nav>',
        '<img alt="a bar of 0.395">',
        "<svg><text>0.4</text></svg>",
        "<math><mn>12</mn></math>",
        "<math><mn>3</mn></math>",
        "<math><mtext>row 1</mtext></math>",
        "<td>0.5</td>",
        '<span data-ref="probs.4.6">0.395</span>',
    ],
)
def test_a_digit_without_a_mark_is_a_fault(body: str) -> None:
    assert len(bare(body)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "<p>GPT-2, Llama 3. GPT-2’s</p>",
        '<data value="1" data-ref="x">1</data>',
        '<p data-structure aria-label="Step 3">3 of 7</p>',
        "<code>x[0]</code><pre>1</pre><cite>A paper, 2019</cite><time>2019</time>",
        "<math><msup><mi>x</mi><mn>2</mn></msup><mfrac><mn>1</mn><mi>d</mi></mfrac></math>",
        "<math><msub><mi>x</mi><mn>5</mn></msub></math>",
        '<svg viewBox="0 0 10 10"><path d="M0 1"/></svg>',
        '<meta name="viewport" content="initial-scale=1">',
        "<style>p { margin: 1px }</style>",
    ],
)
def test_what_counts_names_or_is_code_is_no_bare_number(body: str) -> None:
    assert bare(body) == []


# Links, ids and markup.


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r'href="index\.html#part"', 'href="home.html"'),
        (r'href="index\.html#part"', 'href="index.html#nowhere"'),
        (r'href="index\.html#part"', 'href="/index.html"'),
        (r'href="index\.html#part"', 'href="./"'),
        (r'href="index\.html#part"', 'href="//elsewhere.example/index.html"'),
        (r'href="#end"', 'href="#start"'),
        (r'href="static/style\.css"', 'href="https://elsewhere.example/style.css"'),
        (r'aria-labelledby="table-1"', 'aria-labelledby="table-9"'),
    ],
)
def test_a_link_that_leads_nowhere_is_a_fault(after: Callable[..., list[Fault]], pattern: str, new: str) -> None:
    assert {fault.kind for fault in after((pattern, new))} == {"link"}


def test_an_id_stands_once(after: Callable[..., list[Fault]]) -> None:
    assert "id" in {fault.kind for fault in after(('id="table-2"', 'id="table-1"'))}


@pytest.mark.parametrize(
    "html",
    [
        "<html><p>open</html>",
        "<html><b><i>crossed</b></i></html>",
        "<html></b></html>",
        "<html><div/></html>",
        "<html><p><div></div></p></html>",
        '<html class="a" class="b"></html>',
        "<html>a < b</html>",
        "<html>&nosuch;</html>",
        "<html></html><html></html>",
        "<html><?php ?></html>",
        "<html></html><data class",
        "<html><![if x]></html>",
        "",
    ],
)
def test_markup_that_a_browser_would_have_to_repair_is_a_fault(html: str) -> None:
    assert Page("x.html", html).faults


def test_good_markup_is_no_fault() -> None:
    html = (
        '<!doctype html>\n<html><br><svg><path d=""/></svg><!-- note --><p title="a &lt; b">&amp; &#960;</p></html>\n'
    )
    assert Page("x.html", html).faults == []


@pytest.mark.parametrize("html", ["", "<b>" * 50_000, "\x00\xff\ufffd<", "<![", '<span class="worked">' + "(" * 9_000])
def test_garbage_is_a_fault_and_not_a_crash(checker: Checker, html: str) -> None:
    assert checker.page(Page(NAME, html)).faults


@pytest.mark.parametrize(
    ("pattern", "new"), [("follows", "followed"), (r"(?<=row )<span data-structure>2<", "<span data-structure>3<")]
)
def test_any_other_change_is_text_that_the_sources_do_not_build(
    after: Callable[..., list[Fault]], pattern: str, new: str
) -> None:
    (fault,) = after((pattern, new))
    assert (fault.kind, fault.source) == ("text", f"{SOURCE}:{line_of('The last row')}")


# Files.


def test_a_file_too_few_too_many_or_changed_is_a_fault(files: dict[str, bytes], sources: Sources) -> None:
    url = sources.site["url"]
    assert list(file_faults(files, files, url)) == []
    changed = {**files, "7-summary.html": b"", "static/style.css": b"", "sitemap.xml": b"<loc>x</loc>"}
    del changed["5-block.html"]
    faults = {(fault.page, fault.shown) for fault in file_faults(changed, files, url)}
    assert faults >= {("5-block.html", "no file"), ("7-summary.html", "a file"), ("static/style.css", "other bytes")}
    assert ("sitemap.xml", "x") in faults


def run(source: Path, output: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "build.py", "check", "--source", source, "--output", output]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def test_without_a_built_site_the_check_says_how_to_get_one(source: Path, tmp_path: Path) -> None:
    ended = run(source, tmp_path / "nothing")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "found no built site, expected one (run python build.py)" in ended.stderr


def test_a_missing_page_and_a_page_of_bytes_are_faults(source: Path, files: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "5-block.html").unlink()
    (tmp_path / NAME).write_bytes(bytes(range(256)))
    ended = run(source, tmp_path)
    assert ended.returncode == 1
    assert "5-block.html: file: shown no file" in ended.stdout
    assert f"{NAME}: markup: shown bytes that are not UTF-8" in ended.stdout


# The second formatter.


@given(st.floats())
@example(0.0005)
@example(-0.0005)
@example(0.0625)
@example(-0.0)
@example(2.675)
@example(5e-324)
@example(1.7976931348623157e308)
@example(1e22)
def test_both_formatters_print_every_number_alike(value: float) -> None:
    assert printed(value) == shown(value)


@given(st.one_of(st.floats(), st.integers(-(10**7), 10**7).map(lambda n: n / 2**10)), st.integers(3, 15))
@example(9.6e-5, 4)
@example(9.6e-5, 3)
@example(math.e**40, 3)
def test_both_formatters_print_more_places_alike(value: float, places: int) -> None:
    assert printed(value, places) == with_places(value, places)


@given(st.floats(min_value=1e9, max_value=1e300), st.integers(1, 9))
def test_both_formatters_print_huge_numbers_with_twelve_digits_alike(value: float, digits: int) -> None:
    places = digits - 1 - math.floor(math.log10(value))
    assert printed(value, places) == with_places(value, places)
