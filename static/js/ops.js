// The operations of engine/ops.py. An array is {shape, data}, data row by row. T positions, d width.
"use strict";

const array = (shape, data = shape.reduce((a, b) => a * b, 1)) => ({ shape, data: new Float64Array(data) });
const map = ({ shape, data }, f) => ({ shape, data: data.map(f) });
const width = (x) => x.shape.at(-1);
const rowOf = (x, i) => x.data.subarray(i * width(x), (i + 1) * width(x));
/** One number a row: (T, d) -> (T,). */
const reduce = (x, f) => map(array(x.shape.slice(0, -1)), (_, i) => f(rowOf(x, i)));
/** The second operand may be one row for all rows. */
const byEntry = (f) => (a, b) => map(a, (v, i) => f(v, b.data[i % b.data.length]));
/** The second operand may be one number a row. */
const perRow = (f) => (a, b) => map(a, (v, i) => f(v, b.data[Math.floor((i * b.data.length) / a.data.length)]));
const sum = (row) => row.reduce((a, b) => a + b, 0);
const sumOfSquares = (row) => sum(row.map((v) => v * v));
/** Indices from the largest entry to the smallest, ties by index. */
const mostLikelyFirst = (p) => [...p.keys()].sort((a, b) => (p[b] > p[a]) - (p[b] < p[a]));
function runningSums(p) {
	let total = 0;
	return mostLikelyFirst(p.data).map((k) => (total += p.data[k]));
}
function keepFirst(p, count) {
	const order = mostLikelyFirst(p.data);
	return map(p, (v, k) => (order.indexOf(k) < count ? v : 0));
}

function matmul(x, weight, from = 0) {
	const [d, m] = [width(x), width(weight)];
	const out = array([...x.shape.slice(0, -1), m]);
	const rows = Array.from({ length: d }, (_, k) => rowOf(weight, from + k));
	for (let i = 0; i * m < out.data.length; i++) {
		const sums = rowOf(out, i);
		rowOf(x, i).forEach((v, k) => {
			const row = rows[k];
			for (let j = 0; j < m; j++) sums[j] += v * row[j];
		});
	}
	return out;
}

/** erfc, by its series below 1.5 and its continued fraction above (Abramowitz and Stegun 7.1.6, 7.1.14). */
function erfc(x) {
	if (x < 0) return 2 - erfc(-x);
	const scale = Math.exp(-x * x) / Math.sqrt(Math.PI);
	if (x > 1.5) {
		let fraction = 0;
		for (let n = 100; n > 0; n--) fraction = n / 2 / (x + fraction);
		return scale / (x + fraction);
	}
	let [term, total] = [2 * x, 2 * x];
	for (let n = 1; term > total * 1e-17; n++) total += term *= (2 * x * x) / (2 * n + 1);
	return 1 - scale * total;
}

const OPS = {
	rows: (table, { shape, data: ids }) =>
		array([...shape, width(table)], [...ids].flatMap((id) => [...rowOf(table, id)])),
	first_rows: (table, { shape: [n] }) => array([n, width(table)], table.data.slice(0, n * width(table))),
	transpose: (x) => {
		const [n, m] = x.shape;
		return map(array([m, n]), (_, i) => x.data[(i % n) * m + Math.floor(i / n)]);
	},
	add: byEntry((a, b) => a + b),
	multiply: byEntry((a, b) => a * b),
	subtract: perRow((a, b) => a - b),
	divide: perRow((a, b) => a / b),
	row_mean: (x) => reduce(x, (row) => sum(row) / row.length),
	row_mean_square: (x) => reduce(x, (row) => sumOfSquares(row) / row.length),
	root_with_epsilon: (variance, epsilon) => map(variance, (v) => Math.sqrt(v + epsilon.data[0])),
	square_root: (x) => map(x, Math.sqrt),
	linear: (x, weight, bias) => (bias ? OPS.add(matmul(x, weight), bias) : matmul(x, weight)),
	linear_part: (z, weight, head) => matmul(z, weight, head.data[0] * width(z)),
	scores: (q, k) => matmul(q, OPS.transpose(k)),
	causal_mask: (x) => map(x, (v, i) => (i % width(x) > Math.floor(i / width(x)) ? -Infinity : v)),
	exp: (x) => map(x, Math.exp),
	row_sum: (x) => reduce(x, sum),
	softmax: (x) => {
		const largest = reduce(x, (row) => Math.max(...row));
		const e = OPS.exp(OPS.subtract(x, largest)); // at most 1
		return OPS.divide(e, OPS.row_sum(e));
	},
	concat: (...parts) => {
		const row = (_, i) => parts.flatMap((part) => [...rowOf(part, i)]);
		const rows = Array.from({ length: parts[0].data.length / width(parts[0]) }, row);
		return array([...parts[0].shape.slice(0, -1), rows[0].length], rows.flat());
	},
	relu: (x) => map(x, (v) => Math.max(0, v)),
	gelu_tanh: (x) => map(x, (v) => v / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)))),
	gelu_erf: (x) => map(x, (v) => 0.5 * v * erfc(-v / Math.SQRT2)),
	pick: (table, columns) => map(columns, (k, i) => table.data[i * width(table) + k]),
	neg_log: (x) => map(x, (v) => -Math.log(v)),
	log: (x) => map(x, Math.log),
	total: (...numbers) => numbers.reduce(OPS.add),
	product: (...numbers) => numbers.reduce(OPS.multiply),
	row_norm: (x) => OPS.square_root(reduce(x, sumOfSquares)),
	cosines: (dots, lengths) =>
		map(dots, (v, i) => v / (lengths.data[Math.floor(i / width(dots))] * lengths.data[i % width(dots)])),
	at_temperature: (z, temperature) => {
		const [best] = mostLikelyFirst(z.data);
		const by = temperature.data[0];
		return map(z, (v, k) => (by ? (v - z.data[best]) / by : k === best ? 0 : -Infinity));
	},
	cumulative: (p) => {
		const order = mostLikelyFirst(p.data);
		const sums = runningSums(p);
		return map(p, (_, k) => sums[order.indexOf(k)]);
	},
	keep_top_k: (p, k) => keepFirst(p, Math.trunc(k.data[0])),
	keep_top_p: (p, limit) => keepFirst(p, 1 + runningSums(p).filter((v) => v < limit.data[0]).length),
	draw: (p, u) => {
		const order = mostLikelyFirst(p.data);
		const place = runningSums(p).filter((v) => v <= u.data[0]).length;
		// Rounding may leave the last running sum just below 1: an entry with p = 0 is still never drawn.
		return array([], [order[Math.min(place, p.data.filter((v) => v !== 0).length - 1)]]);
	},
};
