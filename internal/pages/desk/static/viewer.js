// The viewer: photos of an order and examples of the catalog, large, by mouse, touch or keyboard alone.
import { Pane } from "./pane.js";
import { markIndex, markOf } from "./verdict.js";
import { showTimes } from "../ui/time.js";

const dialog = document.getElementById("viewer");
const help = document.getElementById("help");
const STEP = 1.35;
const PAN = 80;
const LIGHT = 15;

let shots = [];
let current = null;
let comparing = false;
let linked = true;
let informed = false;
let active = null;

export function viewerOpen() { return dialog?.open || help?.open; }

const part = (selector) => dialog.querySelector(selector);
const button = (name) => part(`[data-do="${name}"]`);

let panes = [];
if (dialog) {
  panes = [...dialog.querySelectorAll(".pane")].map((element) => new Pane(element, moved));
  active = panes[0];
  for (const pane of panes) {
    pane.element.addEventListener("pointerdown", () => { active = pane; });
    pane.element.addEventListener("focus", () => { active = pane; });
  }
  dialog.addEventListener("click", (event) => {
    const action = event.target.closest?.("[data-do]");
    if (action) act(action.dataset.do);
    const mark = event.target.closest?.("[data-mark]");
    if (mark) setMark(mark.dataset.mark);
  });
  dialog.addEventListener("keydown", onKey);
  dialog.addEventListener("close", () => current?.focus());
  part("#viewer-brightness").addEventListener("input", light);
  part("#viewer-contrast").addEventListener("input", light);
  part("#viewer-with").addEventListener("change", (event) => beside(shots[Number(event.target.value)]));
}

function sourceOf(shot) {
  return { screen: shot.href, deep: shot.dataset.deep, converted: shot.dataset.converted, width: Number(shot.dataset.width), height: Number(shot.dataset.height), title: shot.dataset.title };
}

// openViewer shows one of the links to pictures.
export function openViewer(all, shot) {
  shots = all;
  if (!dialog.open) dialog.showModal();
  show(shot);
  panes[0].element.focus();
}

function show(shot) {
  current = shot;
  active = panes[0];
  part("#viewer-title").textContent = `${shot.dataset.title} (${shots.indexOf(shot) + 1}/${shots.length})`;
  panes[0].load(sourceOf(shot)).then(() => {
    status();
    ahead();
  });
  if (comparing) fillCompare();
  if (informed) inform();
  marks();
}

// ahead fetches the neighbours, so that going on is instant.
function ahead() {
  const at = shots.indexOf(current);
  for (const shot of [shots[at + 1], shots[at - 1]]) if (shot) new Image().src = shot.href;
}

function go(by) {
  const next = shots[shots.indexOf(current) + by];
  if (next) show(next);
}

function moved(pane) {
  if (comparing && linked) for (const other of panes) if (other !== pane) other.follow(pane);
  status();
}

function status() {
  const pane = active ?? panes[0];
  if (!pane.base) return;
  part("#viewer-scale").textContent = `${Math.round((pane.scale / pane.actual()) * 100)} %`;
  dialog.dataset.scale = pane.scale.toFixed(3);
  dialog.dataset.turn = String(pane.turn);
}

function light() {
  const value = `brightness(${part("#viewer-brightness").value}%) contrast(${part("#viewer-contrast").value}%)`;
  for (const pane of panes) pane.img.style.filter = value;
}

function slide(id, by) {
  const input = part(id);
  input.value = String(Number(input.value) + by);
  light();
}

function compare() {
  comparing = !comparing;
  panes[1].element.hidden = !comparing;
  part(".compare-with").hidden = !comparing;
  button("link").hidden = !comparing;
  button("compare").setAttribute("aria-pressed", String(comparing));
  if (comparing) fillCompare();
  else active = panes[0];
  for (const pane of panes) pane.layout();
  status();
}

// fillCompare offers all other pictures, those of the same index first: an example if there is one.
function fillCompare() {
  const same = (s) => Number(s.dataset.index === current.dataset.index);
  const example = (s) => Number(Boolean(s.dataset.example));
  const others = shots.filter((s) => s !== current);
  others.sort((a, b) => same(b) - same(a) || (same(a) ? example(b) - example(a) : 0) || shots.indexOf(a) - shots.indexOf(b));
  const select = part("#viewer-with");
  const before = shots[Number(select.value)];
  select.replaceChildren(...others.map((shot) => new Option(shot.dataset.title, String(shots.indexOf(shot)))));
  const keep = before && before !== current && panes[1].source?.screen === before.href && before.dataset.index !== current.dataset.index && !same(others[0]);
  if (keep) select.value = String(shots.indexOf(before));
  const chosen = shots[Number(select.value)];
  if (chosen) beside(chosen);
}

// beside shows a picture in the second pane, at the place that the first one looks at.
async function beside(shot) {
  await panes[1].load(sourceOf(shot));
  if (linked) panes[1].follow(panes[0]);
  status();
}

function otherCompare(by) {
  const select = part("#viewer-with");
  if (!comparing || select.options.length === 0) return;
  select.selectedIndex = (select.selectedIndex + by + select.options.length) % select.options.length;
  beside(shots[Number(select.value)]);
}

async function inform() {
  const panel = part(".info");
  const shot = current;
  panel.replaceChildren();
  if (!shot.dataset.facts) return;
  const response = await fetch(`${shot.dataset.facts}?part=1`).catch(() => null);
  if (!response?.ok || shot !== current) return;
  panel.innerHTML = await response.text();
  showTimes(panel);
}

function marks() {
  const bar = part(".viewer-marks");
  const mark = current.dataset.photo ? markOf(current.dataset.index) : null;
  bar.hidden = mark === null;
  for (const b of bar.querySelectorAll("[data-mark]")) b.setAttribute("aria-pressed", String(b.dataset.mark === mark));
}

function setMark(value) {
  if (current.dataset.photo && markIndex(current.dataset.index, value)) marks();
}

function act(name) {
  switch (name) {
    case "prev": return go(-1);
    case "next": return go(1);
    case "in": return active.zoom(STEP);
    case "out": return active.zoom(1 / STEP);
    case "fit": return active.to(1);
    case "actual": return active.to(active.actual());
    case "rotate": return active.rotate(90);
    case "back": return active.rotate(-90);
    case "compare": return compare();
    case "link":
      linked = !linked;
      button("link").setAttribute("aria-pressed", String(linked));
      return moved(active);
    case "info":
      informed = !informed;
      part(".info").hidden = !informed;
      button("info").setAttribute("aria-pressed", String(informed));
      for (const pane of panes) pane.layout();
      return informed ? inform() : undefined;
    case "help": return help.showModal();
    case "close": return dialog.close();
  }
}

const keys = {
  j: () => go(1), k: () => go(-1), n: () => go(1), "+": () => act("in"), "=": () => act("in"), "-": () => act("out"), 0: () => act("fit"), 1: () => act("actual"),
  r: () => act("rotate"), R: () => act("back"), b: () => slide("#viewer-brightness", LIGHT), B: () => slide("#viewer-brightness", -LIGHT),
  c: () => slide("#viewer-contrast", LIGHT), C: () => slide("#viewer-contrast", -LIGHT), s: () => act("compare"), "[": () => otherCompare(-1), "]": () => otherCompare(1),
  l: () => act("link"), i: () => act("info"), p: () => setMark("pass"), f: () => setMark("fail"), v: () => setMark("not-visible"), "?": () => act("help"),
};
const arrows = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("select, input[type=range]") && (event.key in arrows || event.key.length > 1)) return;
  const arrow = arrows[event.key];
  if (arrow) {
    if (active.scale > 1.001) active.pan(arrow[0] * PAN, arrow[1] * PAN);
    else if (arrow[0] !== 0) go(-arrow[0]);
  } else if (keys[event.key]) {
    keys[event.key]();
  } else {
    return;
  }
  event.preventDefault();
}
