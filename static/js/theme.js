// Before anything is drawn: the font of the formulas, and the reader's theme.
"use strict";

document.fonts.load("1em 'Seven Steps Math'");

{
	const { dataset } = document.documentElement;
	const SCHEMES = ["light", "dark"];
	const use = (theme) => {
		if (![...SCHEMES, "system"].includes(theme)) return;
		dataset.theme = theme;
		// What the browser puts around the page: a colour for each scheme.
		document.querySelectorAll("[name=theme-color]").forEach((meta, i) => {
			const isUsed = SCHEMES[i] === theme ? "all" : "not all";
			meta.media = theme === "system" ? `(prefers-color-scheme: ${SCHEMES[i]})` : isUsed;
		});
	};
	/** Files may share no storage: there the address carries it (state.js). Storage may be missing, full, or hold anything. */
	const chosen = () => {
		try {
			return /\btheme=(\w+)/.exec(location.hash)?.[1] || localStorage.theme;
		} catch {
			return dataset.theme;
		}
	};
	const show = () => {
		use(chosen());
		const control = document.querySelector(".theme select");
		if (control) control.value = dataset.theme || "system";
	};
	show();
	addEventListener("DOMContentLoaded", show);
	addEventListener("pageshow", show); // Going back shows a page as it was left.
	addEventListener("change", ({ target }) => {
		if (!target.matches(".theme select")) return;
		use(target.value);
		try {
			localStorage.theme = target.value;
		} catch {
			// It holds on this page.
		}
		globalThis.writeHash?.();
		globalThis.refresh?.();
	});
}
