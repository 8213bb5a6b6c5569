// A form that changes something is sent once: what comes while it is under way, from a second click or a key that is
// pressed twice, is dropped. Forms that a module of the page holds back are not under way, and one whose answer leaves
// the page where it is can be sent again after a while.
const WHILE = 10000;
let sent = new WeakMap(); // when, by form

addEventListener("submit", (event) => { // the last to hear of it
  const form = event.target;
  if (event.defaultPrevented || form.getAttribute("method") !== "post") return;
  const now = performance.now();
  if (now - sent.get(form) < WHILE) event.preventDefault();
  else sent.set(form, now);
});
addEventListener("pageshow", (event) => {
  if (event.persisted) sent = new WeakMap();
});
