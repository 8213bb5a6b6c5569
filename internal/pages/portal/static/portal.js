// Forms that only choose what is shown are sent as soon as a choice changes: <form method="get" data-auto>.
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement) form.requestSubmit();
  });
}

// The key / leads to the search.
document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && (target.isContentEditable || target.matches("input, select, textarea"))) return;
  const box = document.querySelector(".find-all input");
  if (!box) return;
  event.preventDefault();
  if (box.checkVisibility()) box.focus();
  else location.assign(box.form.action);
});
