// Switches the theme at once and lets the server remember it in the background.
const root = document.documentElement;

for (const form of document.querySelectorAll("form[data-theme-switch]")) {
  form.addEventListener("submit", (event) => {
    const theme = event.submitter?.value;
    if (!theme) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    fetch(form.action, { method: "POST", body, redirect: "manual", keepalive: true }).catch(() => {});
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    for (const button of form.querySelectorAll("button[name=theme]")) {
      button.setAttribute("aria-pressed", String(button.value === theme));
    }
  });
}
