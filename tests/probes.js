// What the tests of reach and accessibility measure in an open page. A probe returns its findings as short texts.
"use strict";

const isShown = (e) =>
	e.getClientRects().length > 0 && e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const named = (e) => `${e.localName}.${e.className.baseVal ?? e.className} “${e.textContent.trim().slice(0, 30)}”`;

/** For each element what the boxes around it make of it: the edges that clip it, whether it scrolls, stays, is for ears. */
const clips = () => {
	const known = new Map([[document.documentElement, { left: -Infinity, right: Infinity }]]);
	return function clipOf(e) {
		if (!known.has(e)) {
			const around = clipOf(e.parentElement);
			const { overflowX, clipPath, position, left: edge } = getComputedStyle(e);
			const { left, right } = e.getBoundingClientRect();
			const isOpen = overflowX === "visible" || e === document.body;
			known.set(e, {
				left: isOpen ? around.left : Math.max(left, around.left),
				right: isOpen ? around.right : Math.min(right, around.right),
				scrolls: around.scrolls || overflowX === "auto",
				stays: around.stays || position === "fixed" || (position === "sticky" && edge === "auto"),
				isForEars: around.isForEars || clipPath !== "none",
			});
		}
		return known.get(e);
	};
};

/** Every line of text that is shown: its element, its edges, and what clips it. From top to bottom. */
function lines() {
	const found = [];
	const clipOf = clips();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node = walker.nextNode(); node; node = walker.nextNode()) {
		const e = node.parentElement;
		if (!node.data.trim() || e.closest("script, option, template") || !isShown(e)) continue;
		const range = document.createRange();
		range.selectNodeContents(node);
		for (const { left, right, top, bottom, height } of range.getClientRects())
			// A line's box is higher than its letters. What is left of the page waits there for the focus.
			if (!clipOf(e).isForEars && right > Math.max(left + 1, 0))
				found.push({ e, clip: clipOf(e), left, right, top: top + height * 0.22, bottom: bottom - height * 0.22 });
	}
	return found.sort((a, b) => a.top - b.top);
}

/** What can be pressed: its box, with its label's or cell's, and whether it stands in a line of other text (WCAG 2.5.8). */
function targets() {
	const all = document.querySelectorAll("a[href], button, input, select, summary, [role=button], [role=slider]");
	return [...all].filter((e) => isShown(e) && !e.disabled && !e.matches(".skip")).map((e) => {
		const more = e.matches("[type=radio], [type=checkbox]") ? e.labels : e.matches("td > :only-child") ? [e.parentElement] : [];
		const boxes = [e, ...more].map((one) => one.getBoundingClientRect());
		const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
		const [right, bottom] = [Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom))];
		const isInline = e.matches("a, data, tspan") && getComputedStyle(e).display.startsWith("inline");
		const text = e.closest("p, li, dd, dt, caption, figcaption, legend, h1, h2, h3, td, th, div, section, nav, body").textContent.trim();
		const isSmall = right - left < 23.99 || bottom - top < 23.99;
		const isInText = isInline && text.length > e.textContent.trim().length + 1;
		const layer = e.closest(".ask, .changed-bar, .bench-key, body");
		return { e, layer, left, top, right, bottom, x: (left + right) / 2, y: (top + bottom) / 2, isSmall, isInText };
	});
}

/** Whether most of the focused element can be seen: not covered, not scrolled away. */
function isSeen(e) {
	const own = [e, ...(e.labels || [])];
	const points = [...e.getClientRects()].filter(({ width }) => width).slice(0, 3).flatMap((box) =>
		[0.2, 0.5, 0.8].flatMap((part) => [0.2, 0.5, 0.8].map((down) => [box.left + part * box.width, box.top + down * box.height])),
	);
	const hits = points.filter(([x, y]) => {
		const top = document.elementFromPoint(x, y);
		return top && own.some((one) => one.contains(top) || (one.localName === "tspan" && top.contains(one)));
	});
	return hits.length > points.length * 0.5;
}

globalThis.probes = {
	/** Whether the page scrolls sideways, and which texts are out of sight, cut off, or over another. */
	layout() {
		const { scrollWidth, clientWidth: width } = document.documentElement;
		const faults = scrollWidth > width ? [`the page is ${scrollWidth} wide`] : [];
		const all = lines();
		for (const { e, clip, left, right } of all) {
			if (clip.scrolls) continue;
			if (right > width + 0.5 || left < -0.5) faults.push(`outside: ${named(e)}`);
			if (right > clip.right + 1 || left < clip.left - 1) faults.push(`cut off: ${named(e)}`);
		}
		all.forEach((a, i) => {
			for (const b of all.slice(i + 1, i + 200)) {
				if (b.top > a.bottom - 2) break;
				const left = Math.max(a.left, b.left, a.clip.left, b.clip.left);
				const right = Math.min(a.right, b.right, a.clip.right, b.clip.right);
				const isFlat = a.e !== b.e && !a.clip.stays && !b.clip.stays;
				if (isFlat && right - left > 2 && Math.min(a.bottom, b.bottom) - b.top > 2)
					faults.push(`over another: ${named(a.e)} ${named(b.e)}`);
			}
		});
		return faults;
	},

	/** Targets under 24 × 24 px that come too near to another one. */
	smallTargets() {
		const all = targets();
		const nearest = (t) =>
			all.filter((o) => o !== t && o.layer === t.layer && Math.abs(o.y - t.y) < 60).find((o) => {
				const [across, down] = [Math.max(o.left - t.x, 0, t.x - o.right), Math.max(o.top - t.y, 0, t.y - o.bottom)];
				return Math.hypot(across, down) < 11.9 || (o.isSmall && Math.hypot(o.x - t.x, o.y - t.y) < 23.9);
			});
		return all.filter((t) => t.isSmall && !t.isInText && nearest(t)).map((t) => `${named(t.e)} near ${named(nearest(t).e)}`);
	},

	/** What is wrong with the element that has the focus. */
	focus() {
		const e = document.activeElement;
		const { outlineStyle, outlineWidth } = getComputedStyle(e);
		const ring = e.querySelector(":scope > .hold"); // the needle's own
		const marked = ring ? getComputedStyle(ring).stroke !== "none" : outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
		const faults = [];
		if (!marked) faults.push(`no outline: ${named(e)}`);
		if (!isSeen(e) && !(e.getBoundingClientRect().height > innerHeight / 2)) faults.push(`covered: ${named(e)}`);
		return faults;
	},
};
