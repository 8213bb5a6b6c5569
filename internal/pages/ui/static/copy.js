// Buttons that copy: <button data-copy="text" data-copied="Copied" hidden>. They appear only where copying works.
// showCopyButtons shows those below a node: for parts of a page that a script has replaced.
export function showCopyButtons(root = document) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
}

const WHILE = 1500; // a button says that it has copied
const labels = new WeakMap(); // of buttons that say so, with what they say otherwise

showCopyButtons();
if (navigator.clipboard) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      return;
    }
    const label = button.querySelector("span") ?? button;
    const { before, timer } = labels.get(button) ?? { before: label.textContent };
    clearTimeout(timer);
    label.textContent = button.dataset.copied;
    button.setAttribute("aria-live", "polite");
    const back = () => {
      label.textContent = before;
      labels.delete(button);
    };
    labels.set(button, { before, timer: setTimeout(back, WHILE) });
  });
}
