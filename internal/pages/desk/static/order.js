// The page of an order: the viewer, the keys, the checklist and the draft of the verdict.
import "./shots.js";
import "./entry.js";
import { openViewer, viewerOpen } from "./viewer.js";
import { setMark, undo } from "./marks.js";
import { choose } from "./verdict.js";

const shots = [...document.querySelectorAll("a[data-photo], a[data-example]")];
const photos = shots.filter((s) => s.dataset.photo);
for (const shot of shots) {
  shot.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openViewer(shots, shot);
  });
}

function typing(element) {
  return element instanceof HTMLElement && (element.isContentEditable || element.matches("select, textarea, input:not([type=checkbox], [type=radio])"));
}

// unfocused reports whether nothing that is seen has the focus: the button of a dialog that was just closed keeps it
// until the page is drawn again.
function unfocused() {
  return document.activeElement === document.body || !document.activeElement?.checkVisibility();
}

// go moves the focus along the photos.
function go(by) {
  const at = photos.indexOf(document.activeElement);
  photos[Math.min(Math.max(at + by, 0), photos.length - 1)]?.focus();
  return true;
}

// mark sets the check of the photo that has the focus and goes on by so many photos.
function mark(value, by = 0) {
  const at = photos.indexOf(document.activeElement);
  if (at < 0 || !setMark(photos[at].dataset.index, value)) return false;
  return by ? go(by) : true;
}

// KEYS are the actions of keys; one that returns false has had nothing to do.
const KEYS = {
  j: () => go(1), k: () => go(-1), "?": () => document.getElementById("help").showModal() ?? true, z: () => undo() ?? true,
  p: () => mark("pass", 1), f: () => mark("fail"), v: () => mark("not-visible"),
  P: () => mark("pass"), F: () => mark("fail", 1), V: () => mark("not-visible", 1), Backspace: () => mark(""),
  a: () => choose("authentic"), x: () => choose("fake"), u: () => choose("unable-to-verify"),
  Enter: () => unfocused() && photos.length > 0 && (photos[0].click() ?? true),
};

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  if (viewerOpen() || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (KEYS[event.key]?.()) event.preventDefault();
});

// A menu closes when somebody goes elsewhere.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.more[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.more[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
