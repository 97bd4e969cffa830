// The lab's grids: choose a text, point at a cell to read it, step through the layers.
"use strict";

each(".chosen", (box) => {
	const panels = [...box.querySelectorAll(".panel")];
	const select = box.querySelector("[data-panels]");
	select.append(...panels.map(({ dataset }, k) => make("option", { value: k }, dataset.panel)));
	select.onchange = () => {
		askNote.close(); // It is about a number of the text that goes.
		panels.forEach((panel, k) => (panel.hidden = k !== Number(select.value)));
	};
	select.onchange();
});

/** What stands in an element, words before what only a look explains. */
const told = (cell) =>
	[...cell.children].map((part) => `${part.dataset.label || ""} ${part.ariaLabel || part.textContent}`.trim()).join(", ");

each(".grid", (grid) => {
	const [range, output, table] = ["[type=range]", "output", "table"].map((part) => grid.querySelector(part));
	const { rows } = table.tBodies[0];
	const heading = (k) => table.tHead.rows[0].cells[k].textContent;
	const read = (row, cells) => {
		const said = cells.map((cell) => `${heading(cell.cellIndex)}: ${told(cell)}`).join(" · ");
		output.textContent = `${grid.dataset.steps} ${row.cells[0].textContent}. ${said}`;
	};
	const point = ({ target }) => {
		const cell = target.closest("td");
		if (cell) read(cell.parentNode, [cell]);
	};
	table.addEventListener("pointerover", point);
	table.addEventListener("focusin", point);
	range.oninput = () => {
		[...rows].forEach((row, k) => row.classList.toggle("now", k === Number(range.value)));
		read(rows[range.value], [...rows[range.value].cells].slice(1));
	};
});
