// Dialogs: <a href="/page" data-dialog="id"> opens <dialog id="id">. Without this module the link leads to a page that
// asks the same. A button with data-close closes the dialog it is in, and so does a click beside it.
document.addEventListener("click", (event) => {
  const opener = event.target.closest?.("[data-dialog]");
  if (opener && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    const dialog = document.getElementById(opener.dataset.dialog);
    if (dialog instanceof HTMLDialogElement) {
      event.preventDefault();
      dialog.showModal();
      dialog.querySelector("[data-focus]")?.focus();
    }
    return;
  }
  const closer = event.target.closest?.("dialog [data-close]");
  if (closer) {
    event.preventDefault();
    closer.closest("dialog").close();
    return;
  }
  if (event.target instanceof HTMLDialogElement) event.target.close();
});
