// The viewer: photos of an order and examples of the catalog, large, by mouse, touch or keyboard alone.
import { Pane } from "./pane.js";
import { markOf, onMarks, setMark, undo } from "./marks.js";
import { choose } from "./verdict.js";
import { ask } from "../ui/signed.js";
import { showTimes } from "../ui/time.js";

const ZOOM = 1.35;
const PAN = 80;
const LIGHT = 15;
const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// KEYS are the actions of keys; a function gets the viewer, a name is that of a button.
const KEYS = {
  j: (v) => v.go(1), n: (v) => v.go(1), k: (v) => v.go(-1),
  "+": "in", "=": "in", "-": "out", 0: "fit", 1: "actual", r: "rotate", R: "back",
  b: (v) => v.slide("#viewer-brightness", LIGHT), B: (v) => v.slide("#viewer-brightness", -LIGHT),
  c: (v) => v.slide("#viewer-contrast", LIGHT), C: (v) => v.slide("#viewer-contrast", -LIGHT),
  s: "compare", "[": (v) => v.otherCompare(-1), "]": (v) => v.otherCompare(1), l: "link",
  i: "info", h: "hold", "?": "help", z: () => undo(),
  p: (v) => v.mark("pass", 1), f: (v) => v.mark("fail"), v: (v) => v.mark("not-visible"),
  P: (v) => v.mark("pass"), F: (v) => v.mark("fail", 1), V: (v) => v.mark("not-visible", 1), Backspace: (v) => v.mark(""),
  a: (v) => v.judge("authentic"), x: (v) => v.judge("fake"), u: (v) => v.judge("unable-to-verify"),
};
const HOLD = "assay.viewer.hold";

function sourceOf(shot) {
  const { deep, converted, width, height, title } = shot.dataset;
  return { screen: shot.href, deep, converted, width: Number(width), height: Number(height), title };
}

class Viewer {
  constructor(dialog, help) {
    this.dialog = dialog;
    this.help = help;
    this.shots = []; // all links to pictures on the page
    this.current = null; // the one in the first pane
    this.comparing = false;
    this.linked = true; // both panes move together
    this.informed = false; // the panel of file details is open
    this.held = localStorage.getItem(HOLD) === "1"; // zoom, place and light stay from picture to picture
    this.panes = [...dialog.querySelectorAll(".pane")].map((element) => new Pane(element, (pane) => this.moved(pane)));
    this.active = this.panes[0]; // what keys and buttons change
    for (const pane of this.panes) {
      for (const event of ["pointerdown", "focus"]) {
        pane.element.addEventListener(event, () => { this.active = pane; });
      }
    }
    dialog.addEventListener("click", (event) => {
      const action = event.target.closest?.("[data-do]");
      if (action) this.act(action.dataset.do);
      const mark = event.target.closest?.("[data-mark]");
      if (mark) this.mark(mark.dataset.mark);
    });
    onMarks(() => this.current && this.marks());
    this.press("hold", this.held);
    dialog.addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("online", () => !this.part(".again").hidden && this.again());
    dialog.addEventListener("close", () => {
      if (this.back) this.current?.focus();
    });
    this.part("#viewer-brightness").addEventListener("input", () => this.light());
    this.part("#viewer-contrast").addEventListener("input", () => this.light());
    this.part("#viewer-with").addEventListener("change", () => this.beside(this.chosen()));
  }

  part(selector) { return this.dialog.querySelector(selector); }

  press(name, on) { this.part(`[data-do="${name}"]`).setAttribute("aria-pressed", String(on)); }

  open(shots, shot) {
    this.shots = shots;
    this.back = true; // to the photo, when the viewer is closed
    if (!this.dialog.open) this.dialog.showModal();
    this.show(shot);
    this.panes[0].element.focus();
  }

  show(shot) {
    this.current = shot;
    this.active = this.panes[0];
    const photos = this.photos();
    const place = photos.includes(shot) ? ` (${photos.indexOf(shot) + 1}/${photos.length})` : "";
    this.part("#viewer-title").textContent = shot.dataset.title + place;
    if (!this.held) this.light(100, 100);
    this.panes[0].load(sourceOf(shot), this.held).then(() => {
      this.status();
      this.preload();
    });
    if (this.comparing) this.fillCompare();
    if (this.informed) this.inform();
    this.marks();
    this.status();
  }

  // again asks once more for what did not arrive.
  again() {
    this.show(this.current);
    this.active.element.focus();
  }

  // preload fetches the neighbours, so that the next picture shows at once.
  preload() {
    for (const shot of [this.next(1), this.next(-1)]) if (shot) new Image().src = shot.href;
  }

  photos() { return this.shots.filter((s) => s.dataset.photo); }

  // next is the photo that follows: examples are looked at beside photos, not between them.
  next(by) {
    const at = this.shots.indexOf(this.current);
    const rest = by > 0 ? this.shots.slice(at + 1) : this.shots.slice(0, at).reverse();
    return rest.find((s) => s.dataset.photo);
  }

  go(by) {
    const next = this.next(by);
    if (next) this.show(next);
  }

  moved(pane) {
    if (this.comparing && this.linked) {
      for (const other of this.panes) if (other !== pane) other.follow(pane);
    }
    this.status();
  }

  status() {
    const pane = this.active;
    this.part(".again").hidden = !this.panes.some((p) => p.missing && !p.element.hidden);
    if (!pane.base) return;
    this.part("#viewer-scale").textContent = `${Math.round((pane.scale / pane.actual()) * 100)} %`;
    this.dialog.dataset.scale = pane.scale.toFixed(3);
    this.dialog.dataset.turn = String(pane.turn);
  }

  // light applies what the sliders say, or the given values.
  light(brightness, contrast) {
    if (brightness) this.part("#viewer-brightness").value = String(brightness);
    if (contrast) this.part("#viewer-contrast").value = String(contrast);
    const percent = (id) => `${this.part(id).value}%`;
    const filter = `brightness(${percent("#viewer-brightness")}) contrast(${percent("#viewer-contrast")})`;
    for (const pane of this.panes) pane.img.style.filter = filter;
  }

  slide(id, by) {
    const input = this.part(id);
    input.value = String(Number(input.value) + by);
    this.light();
  }

  layout() { for (const pane of this.panes) pane.layout(); }

  compare() {
    this.comparing = !this.comparing;
    for (const element of [this.panes[1].element, this.part(".compare-with"), this.part('[data-do="link"]')]) {
      element.hidden = !this.comparing;
    }
    this.press("compare", this.comparing);
    if (this.comparing) this.fillCompare();
    else this.active = this.panes[0];
    this.layout();
    this.status();
  }

  // chosen is the picture to compare with.
  chosen() { return this.shots[Number(this.part("#viewer-with").value)]; }

  // fillCompare offers all other pictures, those of the same index first: an example if there is one.
  fillCompare() {
    const { shots, current } = this;
    const same = (s) => Number(s.dataset.index === current.dataset.index);
    const example = (s) => Number(Boolean(s.dataset.example));
    const others = shots.filter((s) => s !== current);
    others.sort((a, b) =>
      same(b) - same(a) || (same(a) ? example(b) - example(a) : 0) || shots.indexOf(a) - shots.indexOf(b));
    const before = this.chosen();
    const select = this.part("#viewer-with");
    select.replaceChildren(...others.map((shot) => new Option(shot.dataset.title, String(shots.indexOf(shot)))));
    const keep = before && before !== current && !same(before) && !same(others[0]) &&
      this.panes[1].source?.screen === before.href;
    if (keep) select.value = String(shots.indexOf(before));
    const chosen = this.chosen();
    if (chosen) this.beside(chosen);
  }

  // beside shows a picture in the second pane, at the place that the first one shows.
  async beside(shot) {
    await this.panes[1].load(sourceOf(shot), this.held && !this.linked);
    if (this.linked) this.panes[1].follow(this.panes[0]);
    this.status();
  }

  otherCompare(by) {
    const select = this.part("#viewer-with");
    if (!this.comparing || select.options.length === 0) return;
    select.selectedIndex = (select.selectedIndex + by + select.options.length) % select.options.length;
    this.beside(this.chosen());
  }

  link() {
    this.linked = !this.linked;
    this.press("link", this.linked);
    this.moved(this.active);
  }

  hold() {
    this.held = !this.held;
    this.press("hold", this.held);
    localStorage.setItem(HOLD, this.held ? "1" : "0");
  }

  info() {
    this.informed = !this.informed;
    this.part(".info").hidden = !this.informed;
    this.press("info", this.informed);
    this.layout();
    if (this.informed) this.inform();
  }

  async inform() {
    const panel = this.part(".info");
    const shot = this.current;
    panel.replaceChildren();
    if (!shot.dataset.facts) return;
    const response = await ask(`${shot.dataset.facts}?part=1`).catch(() => null);
    if (!response?.ok || shot !== this.current) return;
    panel.innerHTML = await response.text();
    showTimes(panel);
  }

  marks() {
    const bar = this.part(".viewer-marks");
    const mark = this.current.dataset.photo ? markOf(this.current.dataset.index) : null;
    bar.hidden = mark === null;
    for (const button of bar.querySelectorAll("[data-mark]")) {
      button.setAttribute("aria-pressed", String(button.dataset.mark === mark));
    }
  }

  // mark sets the check of the photo's index and goes on by so many photos.
  mark(value, by = 0) {
    if (this.current.dataset.photo && setMark(this.current.dataset.index, value) && by) this.go(by);
  }

  // judge goes from the photos to the verdict.
  judge(outcome) {
    if (!document.getElementById(`o-${outcome}`)) return;
    this.back = false;
    this.dialog.close();
    choose(outcome);
  }

  // act does what a button says.
  act(name) {
    switch (name) {
      case "prev": return this.go(-1);
      case "next": return this.go(1);
      case "in": return this.active.zoom(ZOOM);
      case "out": return this.active.zoom(1 / ZOOM);
      case "fit": return this.active.to(1);
      case "actual": return this.active.to(this.active.actual());
      case "rotate": return this.active.rotate(90);
      case "back": return this.active.rotate(-90);
      case "compare": return this.compare();
      case "link": return this.link();
      case "hold": return this.hold();
      case "info": return this.info();
      case "help": return this.help.showModal();
      case "again": return this.again();
      case "close": return this.dialog.close();
    }
  }

  onKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (event.target.matches("select, input[type=range]") && (arrow || event.key.length > 1)) return;
    const action = KEYS[event.key];
    if (arrow && this.active.scale > 1.001) this.active.pan(arrow[0] * PAN, arrow[1] * PAN);
    else if (arrow && arrow[0] !== 0) this.go(-arrow[0]);
    else if (typeof action === "function") action(this);
    else if (action) this.act(action);
    else if (!arrow) return;
    event.preventDefault();
  }
}

const dialog = document.getElementById("viewer");
const help = document.getElementById("help");
const viewer = dialog && new Viewer(dialog, help);

export function viewerOpen() { return dialog?.open || help?.open; }

// openViewer shows one of the links to pictures.
export function openViewer(all, shot) { viewer.open(all, shot); }
