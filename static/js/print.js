// The one rule by which a number becomes text (web/printing.py), and exact fractions of big integers for it.
"use strict";

const MINUS = "−";
const TEN = (n) => 10n ** BigInt(n);

/** A double as the exact fraction that it is: [numerator, denominator]. */
function exact(value) {
  let denominator = 1n;
  while (!Number.isInteger(value)) {
    value *= 2;
    denominator *= 2n;
  }
  return [BigInt(value), denominator];
}

/** The fraction that a text in decimals says; 1e-7 too. */
function decimal(text) {
  const [, sign, whole, tail = "", power = 0] = /^([-−]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/.exec(text);
  const places = tail.length - power;
  const digits = BigInt(sign.replace(MINUS, "-") + whole + tail);
  return places > 0 ? [digits, TEN(places)] : [digits * TEN(-places), 1n];
}

/** A fraction rounded half away from zero, as plain digits. Fewer than no places round to tens, hundreds and so on. */
function rounded([numerator, denominator], places) {
  const [up, down] = places < 0 ? [1n, TEN(-places)] : [TEN(places), 1n];
  const magnitude = numerator < 0n ? -numerator : numerator;
  const units = ((2n * magnitude * up) / (denominator * down) + 1n) / 2n;
  const digits = (units * down).toString().padStart(places + 1, "0");
  const text = places > 0 ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits;
  return (numerator < 0n && units ? MINUS : "") + text;
}

/** Whether the value is exactly a decimal of at most two places. */
const isShort = (value) => Number.isFinite(value) && (Math.abs(value) >= 1e21 || Number(value.toFixed(2)) === value);

function shown(value) {
  if (Number.isNaN(value)) return "undefined";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  const short = isShort(value);
  // toFixed rounds half away from zero on the exact value, below 1e21.
  const magnitude = Math.abs(value);
  let text = magnitude < 1e21 ? magnitude.toFixed(short ? 2 : 3) : BigInt(magnitude).toString();
  if (short) text = text.replace(/\.?0+$/, (zeros) => (text.includes(".") ? "" : zeros));
  else if (!Number(text)) return value > 0 ? "<0.001" : `>${MINUS}0.001`;
  return (value < 0 ? MINUS : "") + text;
}

/** The power of ten of the first digit, on the exact value: 1e-7 lies a hair below. */
const exponent = (value) => Number(value.toExponential(50).split("e")[1]);

/** With other places, for worked lines only: short values stay short, a tiny one keeps its first digits. */
function withPlaces(value, places) {
  if (!Number.isFinite(value) || (isShort(value) && places >= 0)) return shown(value);
  const text = rounded(exact(value), places);
  return /[1-9]/.test(text) ? text : rounded(exact(value), places - 3 - exponent(value));
}
