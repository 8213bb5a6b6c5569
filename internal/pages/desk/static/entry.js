// Forms that are sent once, <form data-kept="NAME">: what is entered is kept in this browser until then, and is there
// again when a tab was closed or the machine failed. Where the server has filled in what was entered before, it is newer.
import { entered, fill, forget, keep, kept } from "./kept.js";

for (const form of document.querySelectorAll("form[data-kept]")) {
  const name = form.dataset.kept;
  const before = form.dataset.entered === "before";
  const fresh = before ? null : entered(form);
  const store = () => {
    const now = entered(form);
    if (now === fresh) forget(name);
    else keep(name, { entered: now });
  };
  const copy = kept(name);
  if (!before && copy && copy.entered !== fresh) {
    fill(form, copy.entered);
    document.querySelector("[data-note=restored]").hidden = false;
  } else {
    store();
  }
  for (const event of ["input", "change"]) form.addEventListener(event, store);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-kept-drop]");
  if (!button) return;
  for (const form of document.querySelectorAll("form[data-kept]")) {
    form.reset();
    forget(form.dataset.kept);
  }
  button.closest("[data-note]").hidden = true;
});
