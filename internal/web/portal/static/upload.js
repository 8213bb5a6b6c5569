// Uploads: files can be dropped onto their field, and the way is shown while they are sent. Without this module the form is
// sent by the browser itself.
for (const zone of document.querySelectorAll(".drop")) {
  const input = zone.querySelector("input[type=file]");
  if (!input) continue;
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

for (const form of document.querySelectorAll("form[data-upload]")) {
  const progress = form.querySelector("progress");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = form.querySelector("button.primary");
    button.disabled = true;
    button.lastChild.textContent = form.dataset.sending;
    progress.hidden = false;
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (step) => {
      if (step.lengthComputable) progress.value = step.loaded / step.total;
    });
    request.addEventListener("load", () => {
      // The answer is the page to show: that of the order, or this one with what is wrong.
      history.replaceState(null, "", request.responseURL);
      document.open();
      document.write(request.responseText);
      document.close();
    });
    request.addEventListener("error", () => HTMLFormElement.prototype.submit.call(form));
    request.open("POST", form.action);
    request.send(new FormData(form));
  });
}
