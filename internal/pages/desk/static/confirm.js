// A page of confirmation: Ctrl+Enter sends it and takes the next order. A verdict cannot be undone, so one key is too few.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  document.querySelector("button[name=then][value=next]")?.click();
});

// A form is sent once.
for (const form of document.querySelectorAll(".confirm-actions")) {
  const lock = (locked) => {
    for (const button of form.querySelectorAll("button")) button.disabled = locked;
  };
  form.addEventListener("submit", () => setTimeout(lock, 0, true));
  addEventListener("pageshow", () => lock(false));
}
