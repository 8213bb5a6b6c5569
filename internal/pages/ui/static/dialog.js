// Dialogs: <a href="/page" data-dialog="id"> opens <dialog id="id">. Without this module the link leads to a page that
// asks the same. A button with data-close closes the dialog it is in, and so does a click beside one that does not say
// itself what closes it (closedby).
let pressed = false; // beside the dialog: text that is marked from inside to outside ends with a click on it, too

document.addEventListener("pointerdown", (event) => {
  pressed = isBeside(event);
});

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
  if (pressed && isBeside(event) && !event.target.hasAttribute("closedby")) event.target.close();
});

/** Tells whether somebody points at the backdrop. The edge of a dialog is a part of it. */
function isBeside(event) {
  if (!(event.target instanceof HTMLDialogElement)) return false;
  const box = event.target.getBoundingClientRect();
  const { clientX: x, clientY: y } = event;
  return x < box.left || x >= box.right || y < box.top || y >= box.bottom;
}
