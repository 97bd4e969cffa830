// Needle and dial: the tip follows the pointer; arrow keys turn it, or make it longer or shorter.
"use strict";

const tip = document.getElementById("needle-tip");
const turns = { ArrowLeft: [5, 0], ArrowRight: [-5, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
/** Angle in degrees, and length. */
const polar = (x, y) => [(Math.atan2(y, x) * 180) / Math.PI, Math.hypot(x, y)];
const needle = () => polar(...live.at("needle/needle").data);

function turn(angle, length, undoable) {
  const at = (f) => Math.round(f((angle / 180) * Math.PI) * Math.max(0, Math.min(2, length)) * 100) / 100;
  change({ set: { "needle.0": at(Math.cos), "needle.1": at(Math.sin) } }, undoable);
}
function tellAngle() {
  tip.setAttribute("aria-valuenow", Math.round(needle()[0]));
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
    turn(...polar(x / 80, -y / 80), fresh); // a whole drag is undone at once
    fresh = false;
  };
  tip.onkeydown = (press) => {
    const by = turns[press.key];
    if (!by) return;
    press.preventDefault();
    turn(...needle().map((v, i) => v + by[i]));
  };
  document.addEventListener("toy", tellAngle);
  tellAngle();
}
