// The key / leads to the search.
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  const { target } = event;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && (target.isContentEditable || target.matches("input, select, textarea"))) return;
  const box = document.querySelector(".find-all input");
  if (!box) return;
  event.preventDefault();
  if (box.checkVisibility()) box.focus();
  else location.assign(box.form.action);
});
