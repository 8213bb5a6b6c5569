// The queue: refreshes itself when orders move, and is worked by keys.
import { failed, signedOut, worked } from "../ui/fresh.js";
import { choosing } from "../ui/filter.js";
import { watchTables } from "../ui/scroll.js";
import { ask, isSignedOut } from "../ui/signed.js";
import { showTimes } from "../ui/time.js";

const board = document.getElementById("board");
const live = document.getElementById("live");

const help = document.getElementById("help");
const KEYS = {
  n: () => document.querySelector(".take-next").click(), "/": () => document.getElementById("find").focus(),
  j: () => go(1), k: () => go(-1), "?": () => help.showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  if (help.open || event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !KEYS[event.key]) return;
  if (!event.repeat || event.key !== "n") KEYS[event.key](); // a key that is held walks along, and takes one order
  event.preventDefault();
});

// go moves the focus along the orders.
function go(by) {
  const orders = [...board.querySelectorAll("table.queue tbody th a")];
  const at = orders.indexOf(document.activeElement);
  orders[Math.min(Math.max(at + by, 0), orders.length - 1)]?.focus();
}

function typing(element) {
  return element instanceof HTMLElement && (element.isContentEditable || element.matches("input, select, textarea"));
}

// came hears which version of the queue there is now. A board that shows another is replaced: what moved before the
// stream was there, or while it was not, has told nobody.
let version = board.dataset.version;
let shown = version;
function came(now) {
  version = now;
  if (version === shown) worked();
  else refresh();
}

// refresh replaces the board; whoever is in the middle of it stays where they are.
let running = false;
let again = false;
async function refresh() {
  if (running) {
    again = true;
    return;
  }
  running = true;
  const asked = version;
  try {
    const response = await ask(board.dataset.rows, { headers: { "X-Refresh": "1", Accept: "text/html" } });
    if (isSignedOut(response)) {
      close();
      return signedOut();
    }
    if (!response.ok) return failed();
    const html = await response.text();
    if (choosing()) return;
    const place = placeOf(document.activeElement);
    board.innerHTML = html;
    showTimes(board);
    watchTables(board);
    if (place) board.querySelector(place)?.focus({ preventScroll: true });
    shown = asked;
    worked();
  } catch {
    failed(); // the next event tries again
  } finally {
    running = false;
    if (again) {
      again = false;
      refresh();
    }
  }
}

function placeOf(element) {
  if (!board.contains(element)) return null;
  if (element.matches("select, input")) return `[name="${CSS.escape(element.name)}"]`;
  if (!(element instanceof HTMLAnchorElement)) return null;
  return `a[href="${CSS.escape(element.getAttribute("href")).replaceAll("\\/", "/")}"]`;
}

board.addEventListener("focusout", () => {
  if (version !== shown) setTimeout(refresh);
});

// The stream is open only while the page is seen: a hidden page costs no connection. It says every now and then which
// version there is. Nothing here keeps anybody signed in: the server does not count it as activity.
let source = null;
let timer = 0;
function open() {
  clearTimeout(timer);
  if (source || document.hidden) return;
  source = new EventSource("/desk/events");
  source.addEventListener("hello", (event) => came(event.data));
  source.addEventListener("changed", (event) => {
    const counts = JSON.parse(event.data);
    if (counts) live.textContent = board.dataset.live.replace("{n}", counts.queued ?? 0);
    came(event.lastEventId);
  });
  source.addEventListener("error", () => {
    if (!source) return;
    if (source.readyState !== EventSource.CLOSED) return failed(); // the browser tries again
    source = null;
    timer = setTimeout(open, 5000);
    refresh(); // tells why
  });
}
function close() {
  clearTimeout(timer);
  source?.close();
  source = null;
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return close();
  open();
  refresh();
});
new BroadcastChannel("assay-desk").addEventListener("message", () => { // signed in again, in another tab
  open();
  refresh();
});
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => {
  if (event.persisted) refresh();
  open();
});
open();
