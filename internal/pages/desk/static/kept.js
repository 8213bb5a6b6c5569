// The copies that this browser keeps of what is entered into a form and not sent yet, each under a name of its own.
const PREFIX = "assay.draft.";
const LIFE = 7 * 24 * 3600 * 1000;
const ASIDE = new Set(["draft_version", "as", "despite"]); // of the form itself, or to be said anew each time

// entered returns what is entered into a form, as one text.
export function entered(form) {
  return JSON.stringify([...new FormData(form)].filter(([name]) => !ASIDE.has(name)));
}

// fill enters such a text again.
export function fill(form, text) {
  const entries = JSON.parse(text);
  for (const field of form.elements) {
    if (!field.name || ASIDE.has(field.name) || !field.matches("input:not([type=hidden]), select, textarea")) continue;
    if (field.matches("[type=checkbox], [type=radio]")) {
      field.checked = entries.some(([name, value]) => name === field.name && value === field.value);
    } else {
      field.value = entries.find(([name]) => name === field.name)?.[1] ?? "";
    }
  }
}

// keep stores a copy: {entered: a text of entered, …}.
export function keep(name, copy) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify({ ...copy, at: Date.now() }));
  } catch {
    // full, or not allowed: the page itself still has it
  }
}

export function forget(name) {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // as above
  }
}

// kept returns a copy, null where there is none, and ends those that nobody came back for.
export function kept(name) {
  let copy = null;
  try {
    for (const key of Object.keys(localStorage).filter((k) => k.startsWith(PREFIX))) {
      const found = JSON.parse(localStorage.getItem(key));
      if (!(found?.at > Date.now() - LIFE)) localStorage.removeItem(key);
      else if (key === PREFIX + name) copy = found;
    }
  } catch {
    // not allowed, or not ours
  }
  return copy;
}
