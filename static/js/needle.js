// Needle and dial: the tip follows the pointer; arrow keys turn it, or make it longer or shorter.
"use strict";

const tip = document.getElementById("needle-tip");
const KEYS = { ArrowLeft: [5, 0], ArrowRight: [-5, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
const polar = (x, y) => [(Math.atan2(y, x) * 180) / Math.PI, Math.hypot(x, y)];
const needle = () => polar(live.at("needle/needle.0"), live.at("needle/needle.1"));
const tell = () => tip.setAttribute("aria-valuenow", Math.round(needle()[0]));
let grasped;

/** In degrees. */
function aim(angle, length, undoable) {
  const at = (f) => Math.round(f((angle * Math.PI) / 180) * Math.min(2, Math.max(0, length)) * 100) / 100;
  change({ set: { "needle.0": at(Math.cos), "needle.1": at(Math.sin) } }, undoable);
}

if (tip) {
  tip.onpointerdown = (press) => {
    tip.setPointerCapture(press.pointerId);
    grasped = true;
  };
  tip.onpointermove = (move) => {
    if (!tip.hasPointerCapture(move.pointerId)) return;
    const toDrawing = tip.ownerSVGElement.getScreenCTM().inverse();
    const { x, y } = new DOMPoint(move.clientX, move.clientY).matrixTransform(toDrawing);
    aim(...polar(x / 80, -y / 80), grasped); // a drag is undone at once
    grasped = false;
  };
  tip.onkeydown = (press) => {
    if (!KEYS[press.key]) return;
    press.preventDefault();
    aim(...needle().map((v, i) => v + KEYS[press.key][i]));
  };
  document.addEventListener("toy", tell);
  tell();
}
