// Needle and dial: the tip follows the pointer; arrow keys turn it, or make it longer or shorter.
"use strict";

const tip = byId("needle-tip");
const STEP = Math.PI / 36;
const TURNS = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
/** Angle and length. */
const polar = (x, y) => [Math.atan2(y, x), Math.hypot(x, y)];
const needle = () => polar(...live.at("needle/needle").data);

function turn([angle, length], undoable) {
	const at = (f) => Number((f(angle) * Math.max(0, Math.min(2, length))).toFixed(2));
	change({ set: { "needle.0": at(Math.cos), "needle.1": at(Math.sin) } }, undoable);
}
function tellNeedle() {
	const [angle, length] = needle();
	const degrees = Math.round((angle / Math.PI) * 180);
	Object.assign(tip, { ariaValueNow: degrees, ariaValueText: `${degrees} degrees, length ${length.toFixed(2)}` });
}

if (tip) {
	let fresh;
	tip.onpointerdown = ({ pointerId }) => {
		tip.setPointerCapture(pointerId);
		fresh = true;
	};
	tip.onpointermove = ({ pointerId, clientX, clientY }) => {
		if (!tip.hasPointerCapture(pointerId)) return;
		const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(tip.ownerSVGElement.getScreenCTM().inverse());
		turn(polar(x / 80, -y / 80), fresh); // a whole drag is undone at once
		fresh = false;
	};
	tip.onkeydown = (event) => {
		const by = TURNS[event.key];
		if (!by) return;
		event.preventDefault();
		turn(needle().map((v, i) => v + by[i]));
	};
	document.addEventListener("toy", tellNeedle);
	tellNeedle();
	// Which of the two is read is a part of the state, as 0 or 1.
	const reads = [byId("read-own"), byId("read-tied")];
	reads.forEach((radio, i) => (radio.onchange = () => change({ set: { needle_is_tied: i } })));
	document.addEventListener("toy", () => (reads[Number(live.at("needle/needle_is_tied") > 0)].checked = true));
}
