// Whoever leaves a page is asked before what was entered into a form with data-entered is lost. What the server has put
// into the form counts as well where data-entered says so.
let sending = false;

addEventListener("submit", (event) => {
  if (!event.defaultPrevented) sending = true;
});
addEventListener("pageshow", () => { sending = false; });
addEventListener("beforeunload", (event) => {
  if (!sending && [...document.querySelectorAll("form[data-entered]")].some(lost)) event.preventDefault();
});

const lost = (form) => form.dataset.entered === "before" || [...form.elements].some(changed);

function changed(field) {
  switch (field.type) {
    case "checkbox":
    case "radio":
      return field.checked !== field.defaultChecked;
    case "file":
      return field.files.length > 0;
    case "select-one":
      return field.selectedIndex !== Math.max(0, [...field.options].findIndex((o) => o.defaultSelected));
    case "textarea":
    case "text":
    case "url":
    case "number":
      return field.value !== field.defaultValue;
  }
  return false;
}
