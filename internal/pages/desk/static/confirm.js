// A page of confirmation: Ctrl+Enter sends it and takes the next order. A verdict cannot be undone, so one key is too few,
// and so is one that is still held from the page before.
import "./shots.js";
import "./entry.js";

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  if (!event.repeat) document.querySelector("button[name=then][value=next]")?.click();
});
