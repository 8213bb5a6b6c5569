// Forms that only choose what is shown: <form method="get" data-auto>. What the pointer chooses is applied at once. With
// the keyboard every arrow key chooses something on the way, so the choice counts with Enter, or when the field is
// left. The field has the focus again in the page that follows. data-with names another form whose fields are sent
// along, so that the next page has them, too.
const FOCUS = "assay.filter";
let used = null; // the list that somebody is choosing from
let keyed = false; // with the keyboard

const listOf = ({ target }) =>
  target instanceof HTMLSelectElement && target.form?.matches("form[data-auto]") ? target : null;
const changed = (list) =>
  list.selectedIndex !== Math.max([...list.options].findIndex((option) => option.defaultSelected), 0);

/** Tells whether somebody is choosing from a list: it must not be replaced under their hands. */
export const choosing = () => used !== null;

function apply(form, focus) {
  used = null;
  try {
    if (focus) sessionStorage.setItem(FOCUS, JSON.stringify([location.pathname, focus]));
  } catch {
    // not allowed: the next page begins at its top
  }
  form.requestSubmit();
}

document.addEventListener("pointerdown", (event) => {
  const list = listOf(event);
  if (!list) return;
  used = list;
  keyed = false;
});
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  const list = listOf(event);
  if (!list || event.key === "Tab" || event.key === "Shift") return;
  if (event.key === "Enter" && changed(list)) {
    event.preventDefault();
    apply(list.form, list.name);
    return;
  }
  used = list;
  keyed = true;
});
document.addEventListener("change", (event) => {
  const { target } = event;
  if (listOf(event)) {
    if (!keyed) apply(target.form, target.name);
  } else if (target instanceof HTMLInputElement && target.type === "checkbox" && target.form?.matches("form[data-auto]")) {
    apply(target.form, target.name);
  }
});
document.addEventListener("focusout", (event) => {
  const list = listOf(event);
  if (!list || document.activeElement === list) return; // it is the window that is left
  used = null;
  if (!keyed || !changed(list)) return;
  const next = event.relatedTarget;
  apply(list.form, next?.form === list.form ? next.name : "");
});
document.addEventListener("formdata", ({ target, formData }) => {
  const other = target.dataset.with && document.getElementById(target.dataset.with);
  if (!other) return;
  for (const [name, value] of new FormData(other)) {
    if (typeof value === "string" && value !== "" && !target.elements.namedItem(name)) formData.append(name, value);
  }
});

try {
  const [path, name] = JSON.parse(sessionStorage.getItem(FOCUS)) ?? [];
  sessionStorage.removeItem(FOCUS);
  if (path === location.pathname) {
    document.querySelector(`form[data-auto] [name="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
  }
} catch {
  // nothing was kept
}
