// Pane shows one picture that can be zoomed, moved and turned. It begins with the size of a screen and fetches the
// original only when somebody looks closer than that.
const MAX_PIXEL = 8; // how large one pixel of the original may become
const PAUSE = 2000; // after an original that did not come

export class Pane {
  constructor(element, moved) {
    this.element = element;
    this.img = element.querySelector("img");
    this.note = element.querySelector(".pane-note");
    this.moved = moved; // called after somebody has zoomed or moved this pane
    this.source = null;
    this.waiting = null; // the view to restore
    this.reset();
    this.listen();
    new ResizeObserver(() => this.layout()).observe(element);
  }

  reset() {
    this.scale = 1; // 1 is the whole picture
    this.x = 0; // of the picture's middle from the pane's
    this.y = 0;
    this.turn = 0;
  }

  // load shows a picture: {screen, deep, converted, width, height, title}. hold keeps zoom, place and turn.
  async load(source, hold = false) {
    if (this.source?.screen === source.screen) return;
    const view = hold ? this.view() : null;
    this.source = source;
    this.missing = false; // it did not arrive
    this.deep = false; // the original is there, or on its way
    this.failed = -PAUSE; // when it did not come
    this.natural = this.base = null; // until there is a picture
    this.reset();
    this.waiting = view; // until then
    this.element.setAttribute("aria-label", source.title);
    this.img.alt = source.title;
    this.img.hidden = true;
    this.tell("loading");
    const img = new Image();
    img.src = source.screen;
    try {
      await img.decode();
    } catch {
      if (this.source !== source) return;
      this.source = null; // so that it is asked for again
      this.missing = true;
      this.tell("failed");
      return;
    }
    if (this.source !== source) return;
    this.natural = { width: img.naturalWidth, height: img.naturalHeight };
    // The original is as large as the file says, turned upright as the small one is.
    const long = Math.max(source.width || 0, source.height || 0, img.naturalWidth, img.naturalHeight);
    const factor = long / Math.max(img.naturalWidth, img.naturalHeight);
    this.full = { width: img.naturalWidth * factor, height: img.naturalHeight * factor };
    this.img.src = source.screen;
    this.img.hidden = false;
    this.tell();
    if (view) this.turn = view.turn;
    this.layout();
    this.waiting = null;
    if (view) this.look(view);
  }

  // tell shows one of the notes, over the picture where there is one; no name: none.
  tell(name) {
    this.note.textContent = name ? this.note.dataset[name] : "";
    this.note.classList.toggle("over", !this.img.hidden);
  }

  // view is what is looked at: the size of a pixel of the original, and the place as a part of the picture.
  view() {
    if (this.waiting) return this.waiting;
    if (!this.base) return null;
    const { scale, turn, base } = this;
    return { turn, whole: scale <= 1.001, zoom: scale / this.actual(), x: this.x / base.width, y: this.y / base.height };
  }

  look(view) {
    this.scale = view.whole ? 1 : view.zoom * this.actual();
    this.scale = Math.min(Math.max(this.scale, 1), this.most());
    this.x = view.x * this.base.width;
    this.y = view.y * this.base.height;
    this.draw();
  }

  sideways() { return this.turn % 180 !== 0; }

  // layout computes the size at which the whole picture fits.
  layout() {
    if (!this.natural) return;
    const box = this.element.getBoundingClientRect();
    const [w, h] = this.sideways() ? [this.natural.height, this.natural.width] : [this.natural.width, this.natural.height];
    const fit = Math.min(box.width / w, box.height / h);
    this.base = { width: this.natural.width * fit, height: this.natural.height * fit };
    this.img.style.width = `${this.base.width}px`;
    this.img.style.height = `${this.base.height}px`;
    this.draw();
  }

  // actual is the scale at which one pixel of the original is one of the screen.
  actual() { return this.base ? this.full.width / this.base.width / devicePixelRatio : 1; }

  most() { return Math.max(4, this.actual() * MAX_PIXEL); }

  draw() {
    if (!this.base) return;
    this.scale = Math.min(Math.max(this.scale, 1), this.most());
    const box = this.element.getBoundingClientRect();
    const [w, h] = this.sideways() ? [this.base.height, this.base.width] : [this.base.width, this.base.height];
    const far = (size, room) => Math.max(0, (size * this.scale - room) / 2);
    this.x = Math.min(Math.max(this.x, -far(w, box.width)), far(w, box.width));
    this.y = Math.min(Math.max(this.y, -far(h, box.height)), far(h, box.height));
    this.img.style.transform = `translate(${this.x}px, ${this.y}px) rotate(${this.turn}deg) scale(${this.scale})`;
    this.img.classList.toggle("pixels", this.scale > this.actual() * 3);
    this.deepen();
  }

  // deepen fetches the original when the picture of the screen's size no longer shows all there is to see. One that does
  // not come is asked for again when somebody zooms or moves the picture after a pause.
  async deepen() {
    if (this.deep || !this.base || this.base.width * this.scale * devicePixelRatio <= this.natural.width * 1.1) return;
    if (this.full.width <= this.natural.width || performance.now() - this.failed < PAUSE) return;
    this.deep = true;
    const source = this.source;
    for (const address of [source.deep, source.converted]) { // the second for browsers that do not know the format
      if (!address) continue;
      const img = new Image();
      img.src = address;
      try {
        await img.decode();
      } catch {
        continue;
      }
      if (this.source !== source) return;
      this.img.src = address; // its size on the page is given, so nothing moves
      this.img.dataset.deep = "";
      this.tell();
      return;
    }
    if (this.source !== source) return;
    this.deep = false;
    this.failed = performance.now();
    this.tell("shallow");
  }

  // zoom changes the scale around a point of the pane, its middle unless told.
  zoom(factor, at = { x: 0, y: 0 }) {
    const before = this.scale;
    this.scale = Math.min(Math.max(before * factor, 1), this.most());
    const real = this.scale / before;
    this.x = at.x - (at.x - this.x) * real;
    this.y = at.y - (at.y - this.y) * real;
    this.draw();
    this.moved(this);
  }

  to(scale) {
    this.zoom(scale / this.scale);
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.draw();
    this.moved(this);
  }

  rotate(by) {
    this.turn = (this.turn + by + 360) % 360;
    this.x = this.y = 0;
    this.layout();
    this.moved(this);
  }

  // follow looks at the same place as another pane.
  follow(other) {
    if (!this.base || !other.base) return;
    this.scale = other.scale;
    const ratio = this.base.width / other.base.width;
    this.x = other.x * ratio;
    this.y = other.y * ratio;
    this.draw();
  }

  // at is the place of an event, from the middle of the pane.
  at(event) {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left - box.width / 2, y: event.clientY - box.top - box.height / 2 };
  }

  listen() {
    const fingers = new Map();
    const { element } = this;
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      const speed = event.ctrlKey ? 0.01 : 0.0022; // pinching on a touchpad comes as a wheel with ctrl
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 16 : 1) * speed), this.at(event));
    }, { passive: false });
    element.addEventListener("pointerdown", (event) => {
      if (event.button > 0) return;
      element.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, this.at(event));
      element.classList.add("held");
    });
    element.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const now = this.at(event);
      const others = [...fingers.entries()].filter(([id]) => id !== event.pointerId);
      fingers.set(event.pointerId, now);
      if (others.length === 0) {
        this.pan(now.x - before.x, now.y - before.y);
        return;
      }
      const [, other] = others[0];
      const spread = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
      const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
      this.zoom(spread(now, other) / Math.max(1, spread(before, other)), middle);
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      element.addEventListener(end, (event) => {
        fingers.delete(event.pointerId);
        if (fingers.size === 0) element.classList.remove("held");
      });
    }
    element.addEventListener("dblclick", (event) => {
      if (this.scale > 1.01) this.to(1);
      else this.zoom(Math.max(2.5, this.actual()), this.at(event));
    });
  }
}
