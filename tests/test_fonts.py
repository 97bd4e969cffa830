"""The font of the formulas: what is in the file, its licence, and that browsers draw with it."""

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st
from pages import PAGES
from playwright.sync_api import Page

from sevensteps.printing import shown
from sevensteps.web.fonts import PRINTED

FAMILY = "Seven Steps Math"
#: The families that static/css/math.css asks for.
FAMILIES = {FAMILY, "STIX Two Math", "Cambria Math"}


@pytest.fixture(scope="session")
def font_file(site: Path) -> bytes:
    (encoded,) = re.findall(r"data:font/woff2;base64,([^\"]*)", (site / "static/style.css").read_text("utf-8"))
    return b64decode(encoded)


@pytest.fixture(scope="session")
def font(font_file: bytes) -> TTFont:
    return TTFont(BytesIO(font_file))


def leaves(pages: dict[str, Element]) -> Iterator[tuple[str, str]]:
    """Tag and text of every element of a formula that holds text."""
    for page in pages.values():
        for formula in page.iter("math"):
            yield from ((leaf.tag, leaf.text or "") for leaf in formula.iter() if not len(leaf))


def is_variable(tag: str, letters: str) -> bool:
    """One plain letter: browsers set it in italic. (𝖳, the transpose's, is not plain.)"""
    return tag == "mi" and len(letters) == 1 and letters.isalpha() and letters == unicodedata.normalize("NFKC", letters)


def italic(letter: str) -> str:
    """Its mathematical italic, by its name in Unicode."""
    if letter == "h":
        return unicodedata.lookup("PLANCK CONSTANT")
    _, _, name = unicodedata.name(letter).partition(" ")
    return unicodedata.lookup(f"MATHEMATICAL ITALIC {name.replace('LETTER ', '')}")


def test_the_font_has_every_character_of_every_formula_and_variables_in_italic(
    pages: dict[str, Element], font: TTFont
) -> None:
    seen = set(leaves(pages))
    variables = {letters for tag, letters in seen if is_variable(tag, letters)}
    others = {character for tag, letters in seen if not is_variable(tag, letters) for character in letters}
    assert len(variables) > 20
    assert set(map(italic, variables)) | others <= set(map(chr, font.getBestCmap()))


def test_the_font_has_the_signs_that_stretch_in_larger_sizes(font: TTFont) -> None:
    glyphs = font.getBestCmap()
    larger = dict(
        zip(
            font["MATH"].table.MathVariants.VertGlyphCoverage.glyphs,
            font["MATH"].table.MathVariants.VertGlyphConstruction,
            strict=True,
        )
    )
    for sign in "√()∑":
        variants = larger[glyphs[ord(sign)]].MathGlyphVariantRecord
        assert len(variants) >= 2, sign
        assert {variant.VariantGlyph for variant in variants} <= set(font.getGlyphOrder())


@given(st.floats())
def test_the_font_has_every_character_that_a_number_is_printed_with(value: float) -> None:
    assert set(shown(value)) <= set(PRINTED)


def test_numbers_that_an_edit_brings_are_in_the_font(font: TTFont) -> None:
    assert {ord(character) for character in PRINTED} <= font.getBestCmap().keys()


def test_the_font_has_a_name_of_its_own_and_its_licence_beside_it(site: Path, font: TTFont) -> None:
    names = {name.nameID: str(name) for name in font["name"].names}
    assert all("STIX" not in names[identity] for identity in (1, 4, 6))
    assert names[1] == FAMILY
    licence = (site / "static/fonts/OFL.txt").read_text(encoding="utf-8")
    assert licence.startswith(names[0])
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "SIL Open Font License, Version 1.1" in names[13]


def test_the_font_is_small(font_file: bytes) -> None:
    assert len(font_file) < 15_000


@pytest.mark.parametrize("name", PAGES)
def test_a_browser_draws_every_formula_in_a_maths_font(page: Page, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    page.evaluate("document.fonts.ready")
    fonts = fonts_of(page, "math")
    assert bool(fonts) == bool(page.locator("math").count())
    assert fonts <= FAMILIES


def fonts_of(page: Page, selector: str) -> set[str]:
    """The families that Chromium really draws these elements with."""
    session = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        session.send(f"{domain}.enable")
    root = session.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
    found = session.send("DOM.querySelectorAll", {"nodeId": root, "selector": selector})["nodeIds"]
    each = (session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"] for node in found)
    return {font["familyName"] for fonts in each for font in fonts}
