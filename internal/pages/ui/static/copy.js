// Buttons that copy: <button data-copy="text" data-copied="Copied" hidden>. They appear only where copying works.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
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
