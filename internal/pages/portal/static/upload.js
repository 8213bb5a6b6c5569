// Uploads: files can be dropped onto their field, and the way is shown while they are sent. Without this module the form is
// sent by the browser itself.
import { showCopyButtons } from "../ui/copy.js";
import { watchTables } from "../ui/scroll.js";
import { showTimes } from "../ui/time.js";

function enhance(root) {
  for (const zone of root.querySelectorAll(".drop")) takeDrops(zone);
  for (const form of root.querySelectorAll("form[data-upload]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
  }
}

function takeDrops(zone) {
  const input = zone.querySelector("input[type=file]");
  if (!input) return;
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    const files = new DataTransfer();
    for (const file of event.dataTransfer.files) {
      if (files.items.length === 0 || input.multiple) files.items.add(file);
    }
    input.files = files.files;
  });
}

// What is told of an answer that has no page for the form, by its status. Whatever it is, the form keeps its files.
const notes = {
  0: "unreachable", 401: "signed-out", 409: "changed", 413: "large", 429: "many",
  502: "unreachable", 503: "unreachable", 504: "unreachable",
};

// keepFiles gives the files that were chosen in a form to the same fields of the page that answers it. A field with which
// something is wrong stays empty: its files were refused.
function keepFiles(form, main) {
  for (const old of form.querySelectorAll("input[type=file]")) {
    const input = main.querySelector(`input[type=file][name="${CSS.escape(old.name)}"]`);
    if (input && old.files.length > 0 && input.getAttribute("aria-invalid") !== "true") input.files = old.files;
  }
}

function send(form) {
  const progress = form.querySelector("progress");
  const button = form.querySelector("button.primary");
  const label = button.lastChild.textContent;
  const show = (name) => {
    for (const note of form.querySelectorAll("[data-note]")) note.hidden = note.dataset.note !== name;
  };
  const stay = (name) => {
    button.disabled = false;
    button.lastChild.textContent = label;
    progress.hidden = true;
    progress.value = 0;
    show(name);
    form.querySelector("[data-note]:not([hidden])")?.scrollIntoView({ block: "nearest" });
  };
  show();
  button.disabled = true;
  button.lastChild.textContent = form.dataset.sending;
  progress.hidden = false;
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (step) => {
    if (step.lengthComputable) progress.value = step.loaded / step.total;
  });
  request.addEventListener("load", () => {
    const to = request.getResponseHeader("Location");
    if (to) {
      delete form.dataset.entered; // it has arrived
      location.assign(to);
      return;
    }
    if (request.responseURL !== form.action) return stay("signed-out"); // led away, which only happens there
    const main = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("main");
    if (request.status !== 422 || !main) return stay(notes[request.status] ?? "failed");
    // The answer is the page with what is wrong.
    document.querySelector("main").replaceWith(main);
    keepFiles(form, main);
    enhance(main);
    showTimes(main);
    showCopyButtons(main);
    watchTables(main);
    const alert = main.querySelector("[role=alert]:not([hidden])");
    if (!alert) return;
    alert.tabIndex = -1;
    alert.focus({ preventScroll: true });
    alert.scrollIntoView({ block: "center" });
  });
  request.addEventListener("error", () => stay(notes[0]));
  request.open("POST", form.action);
  request.setRequestHeader("X-Upload", "script");
  request.send(new FormData(form));
}

enhance(document);
document.addEventListener("refreshed", (event) => enhance(event.target));
