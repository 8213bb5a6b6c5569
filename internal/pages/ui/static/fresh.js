// The line that tells when a page which brings itself up to date no longer does: after two failures in a row, or at once
// where it does not try any more. It goes away when it works again.
import { moment } from "./time.js";

const line = document.getElementById("stale");
let failures = 0;
let last = Date.now(); // that the page was known to be up to date

const say = (words, link) => {
  if (!line || line.dataset.said === words) return; // said once
  line.dataset.said = words;
  const again = document.createElement("a");
  again.href = location.pathname + location.search; // with a fragment it would lead nowhere new
  again.textContent = link;
  line.replaceChildren(words, " ", again);
};

// worked is to be called whenever the page is known to be up to date.
export function worked() {
  failures = 0;
  last = Date.now();
  if (!line) return;
  line.replaceChildren();
  delete line.dataset.said;
}

// failed is to be called whenever the page could not be brought up to date, and will be tried again.
export function failed() {
  if (++failures > 1) stopped();
}

// stopped is to be called when nothing is tried any more.
export function stopped() {
  if (line) say(line.dataset.since.replace("{time}", moment(new Date(last))), line.dataset.reload);
}

// signedOut is to be called when the server no longer knows who this is.
export function signedOut() {
  if (line) say(line.dataset.signedOut, line.dataset.signIn);
}
