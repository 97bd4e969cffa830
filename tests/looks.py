"""What the browser paints, as numbers: pairs of colours of a page, how far two colours are apart, and to whom."""

from itertools import product
from typing import Any

import numpy as np
from playwright.sync_api import Page

Rgb = tuple[int, int, int]

# A colour as the canvas paints it. Behind a text lie the backgrounds of all elements around it, each composited over
# the next; a gradient may show any of its colours. SVG text lies on the shapes drawn before it.
PAINT = """
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const kept = (f, memo = new Map()) => (x) => (memo.has(x) ? memo : memo.set(x, f(x))).get(x);
const rgba = kept((colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
});
const over = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => Math.round(c * a + under[i] * (1 - a)));
const stops = (image) => [...image.matchAll(/(?:rgba?|color|oklab|oklch)\\([^()]*\\)/g)].map(([colour]) => colour);
const laid = new Map();
const grounds = kept((element) => {
  if (!element) return [[255, 255, 255]];
  const before = getComputedStyle(element, "::before"); // A shape of its own behind the text: the boxes of the path.
  const style = before.zIndex === "-1" && before.content !== "none" ? before : getComputedStyle(element);
  const [r, g, b, a] = rgba(style.backgroundColor);
  const under = a === 1 ? [[r, g, b]] : grounds(element.parentElement).map((ground) => over([r, g, b, a], ground));
  return [...under, ...stops(style.backgroundImage).flatMap((stop) => under.map((ground) => over(rgba(stop), ground)))];
}, laid);
const opacity = (element) => (element ? getComputedStyle(element).opacity * opacity(element.parentElement) : 1);
const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
const onShapes = (text, ground) => {
  const [x, y] = middle(text.getBoundingClientRect());
  const shapes = text.closest("svg").querySelectorAll("rect, circle, polygon");
  return [...shapes].reduce((under, shape) => {
    const box = shape.getBoundingClientRect();
    const { fill, fillOpacity } = getComputedStyle(shape);
    const isUnder = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING && fill !== "none" &&
      box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
    const [r, g, b, a] = rgba(fill);
    return isUnder ? over([r, g, b, a * fillOpacity], under) : under;
  }, ground);
};
const isSeen = (element) => {
  const { width, height } = element.getBoundingClientRect();
  return width > 1 && height > 1 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
};
const pairs = new Map();
const note = (colour, ground, element, what) => {
  const [r, g, b, a] = rgba(colour);
  const alpha = a * opacity(element);
  const pair = [over([r, g, b, alpha], ground), ground];
  if (alpha) pairs.set(String(pair), [...pair, what.trim().slice(0, 30)]);
};
"""

# Every pair of a text's colour and a colour behind it.
TEXTS = (
    PAINT
    + """
const textOf = (element) => element.matches("input, select") ? element.value : element.textContent;
const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const holders = new Set(document.querySelectorAll("input:not([type=checkbox], [type=radio], [type=range]), select"));
while (words.nextNode()) if (words.currentNode.data.trim()) holders.add(words.currentNode.parentElement);
for (const element of holders) {
  if (element.closest("script, template, option, :disabled") || !isSeen(element)) continue;
  const { color, fill } = getComputedStyle(element);
  const isDrawn = element.closest("svg");
  for (const ground of grounds(element))
    note(isDrawn ? fill : color, isDrawn ? onShapes(element, ground) : ground, element, textOf(element));
}
for (const element of document.body.querySelectorAll("*")) {
  for (const where of ["::before", "::after"]) {
    const style = getComputedStyle(element, where);
    if (!/"\\s*[^\\s"]/.test(style.content) || style.visibility === "hidden" || !isSeen(element)) continue;
    const own = rgba(style.backgroundColor);
    for (const ground of grounds(element)) note(style.color, over(own, ground), element, style.content);
  }
}
return [...pairs.values()];
"""
)

# The same at any value: every kind of cell that a value shades, from −1 to 1.
SWEEP = (
    PAINT
    + """
const own = (element) => `${element.localName}.${element.className}`;
const kind = (element) => (element === document.body ? "" : `${kind(element.parentElement)} ${own(element)}`);
const kinds = new Map();
for (const element of document.querySelectorAll("[style*='--v'], [data-v]"))
  if (isSeen(element) && element.textContent.trim() && !element.closest("svg"))
    if (!element.querySelector("[value='0']")) kinds.set(kind(element), element); // A zero may be paler.
for (const [what, element] of kinds) {
  const text = element.querySelector("data, code, .num") || element;
  for (let v = -1; v < 1.001; v += 0.05) {
    element.style.setProperty("--v", v);
    laid.clear();
    const { color } = getComputedStyle(text);
    for (const ground of grounds(text)) note(color, ground, text, `${v.toFixed(2)}${what.slice(-60)}`);
  }
}
return [...pairs.values()];
"""
)


def painted(page: Page, script: str) -> list[tuple[Rgb, Rgb, str]]:
    """All pairs of colours that a script above finds, each with what stands there."""
    return [(tuple(front), tuple(back), what) for front, back, what in page.evaluate(f"() => {{{script}}}")]


def linear(colour: Rgb) -> Any:
    """sRGB without its gamma, each from 0 to 1."""
    c = np.array(colour) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a: Rgb, b: Rgb) -> float:
    """The contrast ratio of WCAG 2.2, from 1 to 21."""
    dark, light = sorted(float(linear(colour) @ (0.2126, 0.7152, 0.0722)) for colour in (a, b))
    return (light + 0.05) / (dark + 0.05)


#: What eyes without one kind of cone make of linear RGB: Machado, Oliveira and Fernandes (2009), "A Physiologically-
#: based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15 (6), severity 1.0.
EYES = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
#: Linear RGB to cones and cones to OKLab: Ottosson (2020), https://bottosson.github.io/posts/oklab/
_CONES = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
          [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
_OKLAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
          [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip


def oklab(colour: Rgb, eye: str = "full") -> Any:
    """A colour in OKLab as an eye sees it."""
    seen = np.clip(np.array(EYES[eye]) @ linear(colour), 0, 1)
    return np.array(_OKLAB) @ np.cbrt(np.array(_CONES) @ seen)


def nearest(colours: dict[str, Rgb]) -> tuple[float, str]:
    """The least distance in OKLab among colours, over all eyes, and between which to whom."""
    return min(
        (float(np.linalg.norm(oklab(colours[a], eye) - oklab(colours[b], eye))), f"{a}, {b}: {eye}")
        for (a, b), eye in product([(a, b) for a in colours for b in colours if a < b], EYES)
    )
