"""Every page in Chromium, Firefox and WebKit: read, asked, changed and left for the next one, without an error."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import firefox
import pytest
import webkit
from engines import Chromium, Engine
from pages import LAB, PAGES, STEPS

ENGINES = ("Chromium", "Firefox", "WebKit")
WITHOUT_SCRIPTS = "404"
#: A weight that stands on the page. On the other pages the text is changed.
WEIGHTS = {
    "2-embeddings": "W_E.1.3", "3-query-key-value": "W_Q.0.3.0", "4-mask-and-heads": "W_O.0.1", "5-block": "W_in.0.1",
    "6-output": "W_U.1.6", "workbench": "W_E.1.3",
}  # fmt: skip
TYPED = "1.25"
TEXT, TEXT_IN_ADDRESS = "the dog climbed", "text=the%20dog%20climbed"

#: Runs before all else on a page, and keeps what goes wrong there.
WATCH = """
globalThis.wentWrong = [];
{
  const keep = (fault) => wentWrong.push(fault);
  addEventListener("error", ({ message, target }) => keep(message || `not loaded: ${target.src || target.href}`), true);
  addEventListener("unhandledrejection", ({ reason }) => keep(`rejected: ${reason}`));
  addEventListener("securitypolicyviolation", (event) => keep(`${event.effectiveDirective}: ${event.blockedURI}`));
  for (const level of ["error", "warn"]) console[level] = (...words) => keep(words.join(" "));
}
"""
#: Nothing of this may have an effect. ELSEWHERE is another site's address.
SMUGGLED = """
<base href="ELSEWHERE">
<style>main { display: none }</style>
<script>globalThis.hasRun = "a script in the page"</script>
<script src="data:text/javascript,globalThis.hasRun = 'a script in an address'"></script>
<img id="picture" src="ELSEWHERE/static/favicon.svg" alt="">
<img src="nowhere.png" alt="" onerror="globalThis.hasRun = 'a handler'">
<button id="button" onclick="globalThis.hasRun = 'another handler'">Choose</button>
<form id="form" action="ELSEWHERE"></form>
"""
USE_IT = """
document.getElementById("button").click();
try { document.getElementById("form").submit(); } catch { /* Firefox refuses it so. */ }
"""
DIRECTIVES = ["script-src-elem", "script-src-attr", "style-src-elem", "img-src", "base-uri", "form-action"]
#: A number on the screen, no weight, that stands in a table or picture: the text of it and a selector for it.
NUMBER = """
const [number] = [...document.querySelectorAll("main :is(td, figure) data[data-ref]:not(.editable)")]
  .filter((one) => one.checkVisibility());
number.id = "number-to-ask";
return number.textContent;
"""
FOCUS_ONE = """
const number = document.querySelector("main :is(table, figure) data[data-ref][tabindex='0']");
number.id = "first";
number.focus();
"""
UNDERLINE = "return getComputedStyle(document.querySelector(arguments[0])).textDecorationStyle"
WORKING = "document.querySelector('dialog.ask[open] .working')"
ONE_CHANGE = "return document.getElementById('count').textContent === '1 change'"
HAS_MOVED = "return document.activeElement.matches('data:not(#first)')"


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A running browser of each engine, where there is one."""
    if request.param == "Firefox" and not firefox.installed():
        pytest.skip("There is no Firefox (on Debian: the package firefox-esr).")
    if request.param == "WebKit" and not webkit.installed():
        pytest.skip("There is no WebKit that can be driven (on Debian: the packages webkit2gtk-driver and xvfb).")
    started: dict[str, Callable[[], Engine]] = {
        "Chromium": lambda: Chromium(request.getfixturevalue("browser")),
        "Firefox": firefox.Firefox,
        "WebKit": webkit.WebKit,
    }
    running = started[request.param]()
    yield running
    running.close()


@pytest.fixture(scope="module")
def watched_site(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with a script in front of each page that keeps what goes wrong: not all browsers tell it."""
    copy = tmp_path_factory.mktemp("watched") / "site"
    shutil.copytree(site, copy)
    (copy / "watch.js").write_text(WATCH, "utf-8")
    for page in copy.rglob("*.html"):
        html = page.read_text("utf-8")
        assert html.count("<head>") == 1
        script = "../" * (len(page.relative_to(copy).parts) - 1) + "watch.js"
        page.write_text(html.replace("<head>", f'<head><script src="{script}"></script>'), "utf-8")
    return copy


@pytest.fixture(scope="module")
def served(watched_site: Path) -> Iterator[str]:
    """The address of the same site over HTTP."""
    handler = partial(SilentHandler, directory=watched_site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def until(engine: Engine, script: str, *arguments: Any) -> None:
    """Wait until a script returns something true."""
    end = time.monotonic() + 30
    while not engine.run(script, *arguments):
        assert time.monotonic() < end, f"never true: {script} {arguments}"
        time.sleep(0.02)


def faults(engine: Engine) -> list[str]:
    """What has gone wrong on this page."""
    return [*engine.run("return wentWrong"), *engine.console()]


def opens(engine: Engine, url: str) -> None:
    engine.console()  # What another page left there.
    engine.open(url)
    # Firefox may be back while it still leaves the page before.
    until(
        engine, "return location.href.startsWith(arguments[0]) && document.readyState === 'complete'", url.split("#")[0]
    )


def is_loaded(engine: Engine) -> None:
    assert engine.run("return document.querySelectorAll('h1').length") == 1
    assert engine.run("return getComputedStyle(document.querySelector('main')).display") == "block"
    assert engine.run("return document.getElementById('main').checkVisibility()")
    assert faults(engine) == []


def asks_by_click(engine: Engine) -> None:
    """The note opens, with the line in which the number is worked out."""
    number = engine.run(NUMBER)
    engine.click("#number-to-ask")
    until(
        engine, "return document.querySelector('dialog.ask[open] .working')?.textContent.includes(arguments[0])", number
    )
    engine.click("dialog.ask .shut")
    until(engine, f"return !{WORKING}")


def asks_by_keyboard(engine: Engine) -> None:
    """From a number to its neighbour with an arrow, into the note, and back with Escape."""
    engine.run(FOCUS_ONE)
    engine.press("ArrowRight")
    assert engine.run(HAS_MOVED)
    engine.press("Enter")
    until(engine, f"return {WORKING}")
    engine.press("Escape")
    until(engine, f"return !{WORKING}")
    assert engine.run(HAS_MOVED)


def edits_a_weight(engine: Engine, ref: str) -> str:
    """Type a number in the note of a weight: what the address then holds."""
    cell = f'main td [data-ref="{ref}"]'
    assert engine.run(UNDERLINE, cell) == "dotted"
    engine.click(cell)
    engine.click("dialog.ask input")
    engine.press("Control+a")
    engine.type(TYPED)
    until(engine, "return document.querySelector(arguments[0]).textContent === arguments[1]", cell, TYPED)
    assert engine.run(UNDERLINE, cell) == "double"
    return f"{ref}={TYPED}"


def edits_the_text(engine: Engine) -> str:
    engine.click("#change summary")
    engine.click("#change-text")
    engine.press("Control+a")
    engine.type(TEXT)
    until(engine, ONE_CHANGE)
    return TEXT_IN_ADDRESS


def answers_a_question(engine: Engine) -> None:
    """The form of a box is not sent anywhere; the page answers."""
    engine.click("section.check input[name=typed]")
    engine.type("123")
    engine.press("Enter")
    until(engine, "return document.querySelector('section.check output').textContent")


def goes_on(engine: Engine, name: str, edit: str) -> None:
    """By a link of the page to another one, which shows the change."""
    there = "nav.pager a[rel=next]" if name in ("index", *STEPS) else ".path li:nth-child(6) a"
    until(engine, "return location.hash.includes(arguments[0])", edit)
    target = engine.run("return document.querySelector(arguments[0]).pathname", there)
    engine.click(there)
    until(engine, "return location.pathname === arguments[0] && document.readyState === 'complete'", target)
    assert edit in engine.run("return location.hash")
    until(engine, ONE_CHANGE)
    until(engine, "return document.querySelector('main .changed')")


def is_used(engine: Engine, address: str, name: str) -> None:
    """The lab's pages have no toy to change: they take a change in, and pass it on."""
    opens(engine, f"{address}/{name}.html" + f"#{TEXT_IN_ADDRESS}" * (name in LAB))
    is_loaded(engine)
    if name == WITHOUT_SCRIPTS:
        return
    asks_by_click(engine)
    asks_by_keyboard(engine)
    if engine.run("return document.querySelector('section.check input[name=typed]')"):
        answers_a_question(engine)
    if name in LAB:
        edit = TEXT_IN_ADDRESS
    else:
        edit = edits_a_weight(engine, WEIGHTS[name]) if name in WEIGHTS else edits_the_text(engine)
    assert faults(engine) == []
    goes_on(engine, name, edit)
    assert faults(engine) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opened_from_a_file_is_asked_and_changed_and_carries_the_change(
    engine: Engine, watched_site: Path, name: str
) -> None:
    is_used(engine, watched_site.as_uri(), name)


def test_a_page_opened_over_http_does_the_same(engine: Engine, served: str) -> None:
    is_used(engine, served, "6-output")


def test_the_link_and_the_file_of_a_change_can_be_had(engine: Engine, watched_site: Path) -> None:
    opens(engine, f"{watched_site.as_uri()}/6-output.html#{WEIGHTS['6-output']}={TYPED}")
    until(engine, ONE_CHANGE)
    engine.click("[data-do=download]")
    engine.click("[data-do=copy]")
    until(engine, "return document.getElementById('notice').textContent.match(/link/i)")
    assert faults(engine) == []


@pytest.mark.parametrize("way", ["file", "http"])
def test_what_is_smuggled_into_a_page_does_not_run(engine: Engine, watched_site: Path, served: str, way: str) -> None:
    elsewhere = served.replace("127.0.0.1", "localhost")
    html = (watched_site / "odds.html").read_text("utf-8")
    hostile = html.replace("<footer", f"{SMUGGLED.replace('ELSEWHERE', elsewhere)}<footer")
    (watched_site / "hostile.html").write_text(hostile, "utf-8")
    address = {"file": watched_site.as_uri(), "http": served}[way]
    opens(engine, f"{address}/hostile.html")
    engine.run(USE_IT)
    until(engine, "return arguments[0].every((one) => wentWrong.some((fault) => fault.startsWith(one)))", DIRECTIVES)
    assert engine.run("return globalThis.hasRun") is None
    assert engine.run("return document.getElementById('picture').naturalWidth") == 0
    assert engine.run("return getComputedStyle(document.querySelector('main')).display") == "block"
    assert engine.run("return location.href") == f"{address}/hostile.html"
