// Buttons that copy: <button data-copy="text" data-copied="Copied" hidden>. They appear only where copying works.
// showCopyButtons shows those below a node: for parts of a page that a script has replaced.
export function showCopyButtons(root = document) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
}

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
    const before = label.textContent;
    label.textContent = button.dataset.copied;
    button.setAttribute("aria-live", "polite");
    setTimeout(() => { label.textContent = before; }, 1500);
  });
}
