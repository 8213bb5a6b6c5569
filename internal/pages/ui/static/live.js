// Pages that bring themselves up to date. What is inside an element with data-live="name" is replaced by what the server
// shows there now, every so many seconds as the first data-refresh of the page says; a "refreshed" event tells other
// modules. Nothing is replaced that somebody is working in. Only a page that is seen asks, and not for long when nobody is there: it keeps nobody signed in.
// A page that could not be brought up to date says so (fresh.js).
import { written } from "./pristine.js";
import { showCopyButtons } from "./copy.js";
import { failed, signedOut, stopped, worked } from "./fresh.js";
import { watchTables } from "./scroll.js";
import { ask, isSignedOut } from "./signed.js";
import { showTimes } from "./time.js";

const ABSENT = 20 * 60 * 1000;
const SLOWEST = 60;
const regions = (root) => [...root.querySelectorAll("[data-live]")];

let tag = "";
let failures = 0;
let timer = 0;
let running = false;
let ended = false;
let seen = Date.now();

const changed = (field) => {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.type === "file") return field.files.length > 0;
  if (field instanceof HTMLSelectElement) {
    const first = [...field.options].findIndex((option) => option.defaultSelected);
    return !field.multiple && field.selectedIndex !== Math.max(first, 0);
  }
  return field.type !== "hidden" && field.value !== field.defaultValue;
};

// busy tells whether somebody is working in a region: writes, has chosen files, has marked text.
const busy = (region) => {
  const focus = document.activeElement;
  if (region.contains(focus) && focus.matches("input, select, textarea, [contenteditable]")) return true;
  const marked = getSelection();
  if (marked && !marked.isCollapsed && region.contains(marked.anchorNode)) return true;
  if (region.querySelector("dialog[open], progress:not([hidden])")) return true;
  return [...region.querySelectorAll("input, select, textarea")].some(changed);
};

// placeOf names the element of a region that has the focus, so that it is found again.
const placeOf = (region) => {
  const focus = document.activeElement;
  if (!region.contains(focus)) return () => null;
  const same = (element) =>
    element.getAttribute("href") === focus.getAttribute("href") &&
    element.textContent.trim() === focus.textContent.trim();
  return (fresh) => [...fresh.querySelectorAll(focus.localName)].find(same);
};

const replace = (region, fresh) => {
  const opened = [...region.querySelectorAll("details")].map((details) => details.open);
  const boxes = [...region.querySelectorAll("pre, .scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
  const refocus = placeOf(region);
  region.replaceChildren(...fresh.childNodes);
  [...region.querySelectorAll("details")].forEach((details, i) => { details.open ||= opened[i] ?? false; });
  showTimes(region);
  showCopyButtons(region);
  watchTables(region);
  [...region.querySelectorAll("pre, .scroll")].forEach((box, i) => {
    if (boxes[i]) [box.scrollLeft, box.scrollTop] = boxes[i];
  });
  refocus(region)?.focus({ preventScroll: true });
  region.dispatchEvent(new Event("refreshed", { bubbles: true }));
};

// apply shows what the server has written, and tells whether all of it is shown.
const apply = (html) => {
  const fresh = new Map(regions(new DOMParser().parseFromString(html, "text/html")).map((x) => [x.dataset.live, x]));
  let whole = true;
  for (const region of regions(document)) {
    const next = fresh.get(region.dataset.live);
    if (!next) continue;
    if (next.dataset.refresh) region.dataset.refresh = next.dataset.refresh;
    const text = next.innerHTML;
    if (written.get(region.dataset.live) === text) continue;
    if (busy(region)) {
      whole = false;
      continue;
    }
    written.set(region.dataset.live, text);
    replace(region, next);
  }
  return whole;
};

const interval = () => Number(document.querySelector("[data-refresh]")?.dataset.refresh) || 0;

// tell says on the page how the last attempt went.
const tell = (answer) => {
  if (failures === 0) worked();
  else if (isSignedOut(answer)) signedOut();
  else if (ended) stopped();
  else failed();
};

const refresh = async () => {
  clearTimeout(timer);
  if (running || ended || document.hidden || interval() === 0) return;
  if (Date.now() - seen > ABSENT) return stopped();
  running = true;
  try {
    const headers = { "X-Refresh": "1", Accept: "text/html" };
    if (tag) headers["If-None-Match"] = tag;
    const answer = await ask(location.href, { headers, cache: "no-store" });
    if (answer.ok && !document.hidden) tag = apply(await answer.text()) ? answer.headers.get("ETag") ?? "" : "";
    failures = answer.ok || answer.status === 304 ? 0 : failures + 1;
    ended = isSignedOut(answer) || [403, 404].includes(answer.status);
    tell(answer);
  } catch {
    failures++; // the next one may get through
    tell();
  } finally {
    running = false;
    plan();
  }
};

const plan = () => {
  clearTimeout(timer);
  const every = interval();
  if (every > 0 && !ended) timer = setTimeout(refresh, 1000 * Math.max(every, Math.min(SLOWEST, every * 2 ** failures)));
};

for (const sign of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"]) {
  addEventListener(sign, () => {
    const absent = Date.now() - seen > ABSENT;
    seen = Date.now();
    if (absent) refresh();
  }, { passive: true });
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return clearTimeout(timer);
  seen = Date.now();
  ended = false; // they may have signed in again elsewhere
  refresh();
});
addEventListener("pageshow", (event) => event.persisted && refresh());
plan();
