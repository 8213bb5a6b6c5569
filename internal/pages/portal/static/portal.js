// Forms that only choose what is shown are sent as soon as a choice changes: <form method="get" data-auto>.
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement) form.requestSubmit();
  });
}
