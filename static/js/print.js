// The one rule by which a number becomes text (printing.py).
"use strict";

const MINUS = "−";
const signed = (value, text) => (value < 0 && /[1-9]/.test(text) ? MINUS : "") + text;
const readNumber = (text) => Number(text.replace(MINUS, "-").replace("∞", "Infinity"));

/** Whether a finite value is exactly a decimal of at most two places. */
const isShort = (value) => Number(value.toFixed(2)) === value;

// toFixed and toExponential round half away from zero, on the exact value.
function shown(value) {
	const size = Math.abs(value);
	const sign = value < 0 ? MINUS : "";
	if (Number.isNaN(value)) return "undefined";
	if (size >= 1e21) return sign + (size < Infinity ? BigInt(size) : "∞");
	if (isShort(value)) return sign + size.toFixed(2).replace(/\.?0+$/, "");
	return size < 0.0005 ? `${sign ? ">" : "<"}${sign}0.001` : sign + size.toFixed(3);
}

/** The power of ten of the first digit, on the exact value: 1e-7 lies a hair below. */
const exponent = (value) => Number(value.toExponential(50).split("e")[1]);

/** Rounded, as plain digits. Fewer than no places round to tens, hundreds and so on. */
function rounded(value, places) {
	const size = Math.abs(value);
	if (places >= 0) return signed(value, size.toFixed(places));
	const unit = 10n ** BigInt(-places);
	return signed(value, `${((BigInt(Math.trunc(size)) + unit / 2n) / unit) * unit}`);
}

/** With other places, for worked lines only: short values stay short, a tiny one keeps its first digits. */
function withPlaces(value, places) {
	if (!isFinite(value) || (isShort(value) && places >= 0)) return shown(value);
	const text = rounded(value, places);
	if (/[1-9]/.test(text)) return text;
	const [digits, power] = Math.abs(value).toExponential(places - 3).split("e");
	const first = `0.${"0".repeat(-power - 1)}${digits.replace(".", "")}`;
	return signed(value, first.padEnd(places - 1 - exponent(value), "0"));
}
