// The verdict: the affected indexes beside the reasons, the filter of the reasons, and the draft.
import { Draft } from "./draft.js";
import { onMarks, refresh } from "./marks.js";

const form = document.getElementById("verdict");
if (form) {
  const draft = new Draft(form, () => refresh());
  const mine = (field) => field instanceof HTMLElement && field.form === form && !field.matches(".reason-filter");

  document.addEventListener("change", ({ target }) => mine(target) && draft.changed());
  document.addEventListener("input", ({ target }) => mine(target) && target.matches("textarea") && draft.changed());
  onMarks(() => {
    show();
    draft.changed();
  });
  show();

  // What is entered is stored before the page is left, so that who is signed out or offline stays where the work is.
  let stored = false;
  form.addEventListener("submit", async (event) => {
    if (stored) return;
    event.preventDefault();
    const button = form.querySelector("button.primary");
    if (button.disabled) return;
    button.disabled = true;
    stored = await draft.confirm();
    button.disabled = false;
    if (stored) form.requestSubmit();
    else draft.reveal();
  });
  addEventListener("pageshow", () => { stored = false; });
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.repeat) return;
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const within = event.target.form ?? event.target.closest?.("form"); // another form has a way of its own
    if ((within && within !== form) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    form.requestSubmit();
  });

  for (const way of document.querySelectorAll("[data-after-draft]")) after(draft, way);
  for (const input of form.querySelectorAll(".reason-filter")) filter(input);
}

// after makes a form or a link wait until the draft is stored: what follows reads it, or ends the right to change it.
function after(draft, way) {
  const isForm = way.matches("form");
  let waiting = false, ready = false;
  way.addEventListener(isForm ? "submit" : "click", async (event) => {
    if (ready || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (waiting) return;
    waiting = true;
    const stored = await draft.settle();
    setTimeout(() => { // a form cannot be sent while the event of its sending is under way
      waiting = false;
      ready = stored;
      if (stored && isForm) way.requestSubmit(event.submitter);
      else if (stored) way.click();
      ready = false;
    });
  });
}

// show repeats the affected indexes beside the reasons.
function show() {
  const chips = form.querySelector(".affected-list .chips");
  const items = [];
  for (const section of document.querySelectorAll("section.index")) {
    const affected = document.getElementById(`a-${section.dataset.index}`).checked;
    section.classList.toggle("affected", affected);
    if (!affected) continue;
    const link = document.createElement("a");
    link.href = `#${section.id}`;
    link.textContent = section.querySelector("h3").textContent;
    const item = document.createElement("li");
    item.append(link);
    items.push(item);
  }
  if (items.length === 0) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = chips.dataset.none;
    items.push(none);
  }
  chips.replaceChildren(...items);
}

// filter makes a field show the reasons that have its words; Enter chooses the first.
function filter(input) {
  const choices = [...input.closest("fieldset").querySelectorAll(".choice")];
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const choice of choices) {
      choice.hidden = wanted !== "" && !choice.textContent.toLowerCase().includes(wanted) && !choice.querySelector("input").checked;
    }
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const wanted = input.value.trim().toLowerCase();
    const found = choices.find((c) => wanted !== "" && c.textContent.toLowerCase().includes(wanted) && !c.querySelector("input").checked);
    if (!found) return;
    found.querySelector("input").click();
    input.value = "";
    input.dispatchEvent(new Event("input"));
  });
}

// choose sets the outcome and leads to what it needs next.
export function choose(outcome) {
  const input = document.getElementById(`o-${outcome}`);
  if (!input) return false;
  if (!input.checked) input.click();
  const reasons = form.querySelector('.reasons[data-outcome="fake"]');
  const next = outcome === "fake" && reasons?.querySelector(".reason-filter, .choice input");
  (next || input).focus();
  return true;
}
