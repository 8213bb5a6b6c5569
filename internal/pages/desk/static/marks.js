// The checklist: radios and boxes of the page hold it; keys and buttons set it. A mark is set, never toggled, and what a
// change takes away can be brought back.
const checks = (code) => [...document.querySelectorAll(`input[name="check.${CSS.escape(code)}"]`)];
const box = (code) => document.getElementById(`a-${code}`);
const codes = [...document.querySelectorAll("section.index")].map((section) => section.dataset.index).filter(box);

const look = (code) => ({ mark: checks(code).find((c) => c.checked)?.value ?? "", affected: box(code).checked });
const known = new Map(codes.map((code) => [code, look(code)]));
const done = []; // what was changed, the latest last: {code, before, after}
const listeners = new Set();

// onMarks calls a function after every change of the checklist.
export function onMarks(listener) { listeners.add(listener); }

// markOf returns the mark of an index, "" when there is none yet, null when the index has no checklist.
export function markOf(code) { return known.get(code)?.mark ?? null; }

// setMark sets the mark of an index and reports whether there is such a check.
export function setMark(code, mark) {
  if (!known.has(code)) return false;
  put(code, { mark, affected: mark === "fail" });
  return true;
}

// undo takes the latest change back.
export function undo() {
  const last = done.pop();
  if (last) {
    write(last.code, last.before);
    tell(null);
  }
}

function write(code, state) {
  for (const check of checks(code)) check.checked = check.value === state.mark;
  box(code).checked = state.affected;
  known.set(code, state);
}

function put(code, after) {
  const before = known.get(code);
  write(code, after);
  if (before.mark === after.mark && before.affected === after.affected) return;
  done.push({ code, before, after });
  tell(done.at(-1));
}

const OFFERED = 20000; // for so long the way back is shown; its key goes on working
let offered = 0;

// tell shows what a change took away, with the way back, and calls the listeners.
function tell(change) {
  clearTimeout(offered);
  offered = setTimeout(() => { for (const bar of document.querySelectorAll(".undo")) bar.hidden = true; }, OFFERED);
  const taken = change && change.before.mark !== "" && change.before.mark !== change.after.mark ||
    change && change.before.affected && !change.after.affected;
  for (const bar of document.querySelectorAll(".undo")) {
    bar.hidden = !taken;
    if (!taken) continue;
    const name = document.getElementById(`index-${change.code}-name`).textContent;
    const word = (state) => bar.dataset[state.mark === "" ? (state.affected ? "affected" : "open") : camel(state.mark)];
    bar.querySelector("[data-words]").textContent = `${name}: ${word(change.before)} → ${word(change.after)}`;
  }
  for (const listener of listeners) listener();
}

const camel = (words) => words.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

// A mouse or a key has changed a field of the checklist.
document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement)) return;
  if (target.name.startsWith("check.")) {
    setMark(target.name.slice("check.".length), target.value);
  } else if (target.name === "index_codes" && known.has(target.value)) {
    const { mark } = known.get(target.value);
    // what gives nothing away has not failed
    put(target.value, { mark: mark === "fail" && !target.checked ? "" : mark, affected: target.checked });
  }
});
document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-undo]")) undo();
});

// refresh reads the fields again, after something else has filled them in.
export function refresh() {
  for (const code of codes) known.set(code, look(code));
  done.length = 0;
  tell(null);
}
