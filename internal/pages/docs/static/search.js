// Results while somebody types. Without this the form leads to the page of the search.
const form = document.querySelector("form.search");
const input = form.querySelector("input");
const panel = form.querySelector(".found-panel");
let running;
let timer;

const close = () => {
  panel.hidden = true;
  running?.abort();
};

const ask = async () => {
  const query = input.value.trim();
  running?.abort();
  if (query.length < 2) return close();
  running = new AbortController();
  try {
    const answer = await fetch(`${form.action}?part=found&q=${encodeURIComponent(query)}`, { signal: running.signal });
    if (!answer.ok) return;
    panel.innerHTML = await answer.text(); // made by the server, which escapes
    panel.hidden = false;
  } catch { /* typed on, or no network: Enter still leads to the page */ }
};

input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, 120);
});
input.addEventListener("focus", () => {
  if (panel.innerHTML.trim() && input.value.trim().length > 1) panel.hidden = false;
});
document.addEventListener("click", (event) => {
  if (!form.contains(event.target)) close();
  if (event.target.closest?.(".found-panel a")) panel.hidden = true;
});

// Arrow keys go through the results, Escape leaves them, a slash begins.
form.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key === "Escape") {
    close();
    input.focus();
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [input, ...panel.querySelectorAll("a")];
  if (panel.hidden || stops.length < 2) return;
  const at = stops.indexOf(document.activeElement);
  const next = stops[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) {
    event.preventDefault();
    next.focus();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select")) return;
  event.preventDefault();
  input.focus();
});
