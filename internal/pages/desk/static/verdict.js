// The verdict: checks fill in the affected indexes, reasons can be filtered, and what is entered is kept while one works.
const form = document.getElementById("verdict");
if (form) {
  const box = (code) => document.getElementById(`a-${code}`);
  const mark = (code, value) => document.querySelector(`input[name="check.${CSS.escape(code)}"][value="${value}"]`);

  document.addEventListener("change", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) || field.form !== form) return;
    if (field.name.startsWith("check.")) {
      box(field.name.slice("check.".length)).checked = field.value === "fail";
    } else if (field.name === "index_codes" && !field.checked && mark(field.value, "fail").checked) {
      mark(field.value, "").checked = true; // what gives nothing away has not failed
    }
    show();
    save();
  });
  form.addEventListener("input", (event) => {
    if (event.target instanceof HTMLTextAreaElement) save();
  });

  // show repeats the affected indexes beside the reasons.
  const chips = form.querySelector(".chips");
  function show() {
    const items = [];
    for (const section of document.querySelectorAll("section.index")) {
      const affected = box(section.dataset.index).checked;
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
  show();

  // save sends the draft a moment after the last change.
  const saved = form.querySelector(".saved");
  let waiting = 0;
  let dirty = false;
  function save() {
    dirty = true;
    clearTimeout(waiting);
    waiting = setTimeout(send, 700);
  }
  async function send() {
    if (!dirty) return;
    dirty = false;
    try {
      const response = await fetch(form.dataset.draft, { method: "POST", body: new URLSearchParams(new FormData(form)), keepalive: true });
      if (response.ok) saved.textContent = saved.dataset.saved;
      else if (response.status === 409) location.reload(); // somebody else has it now: the page says who
    } catch {
      dirty = true; // with the next change
    }
  }
  document.addEventListener("visibilitychange", () => document.hidden && send());
  form.addEventListener("submit", () => {
    clearTimeout(waiting);
    dirty = false;
  });

  for (const input of form.querySelectorAll(".reason-filter")) {
    const choices = [...input.closest("fieldset").querySelectorAll(".choice")];
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const choice of choices) {
        choice.hidden = wanted !== "" && !choice.textContent.toLowerCase().includes(wanted) && !choice.querySelector("input").checked;
      }
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      const found = choices.filter((c) => !c.hidden);
      if (found.length > 0) found[0].querySelector("input").click();
    });
  }
}

// markIndex sets the check of an index, or takes it back when it is set already. It reports whether there is such a check.
export function markIndex(code, value) {
  const name = `input[name="check.${CSS.escape(code)}"]`;
  const input = document.querySelector(`${name}[value="${value}"]`);
  if (!input) return false;
  const target = input.checked ? document.querySelector(`${name}[value=""]`) : input;
  target.checked = true;
  target.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

// markOf returns the check of an index, null when there is no checklist.
export function markOf(code) {
  return document.querySelector(`input[name="check.${CSS.escape(code)}"]:checked`)?.value ?? null;
}
