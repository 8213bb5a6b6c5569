// Wide tables for people without a mouse: what does not fit can have the focus and is scrolled by the arrow keys.
const named = (box) => (box.closest("section, main") ?? document).querySelector("h2, h1")?.textContent.trim() ?? "";
const fit = (box) => {
  if (box.scrollWidth <= box.clientWidth) {
    for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
    return;
  }
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", named(box));
};
const watch = new ResizeObserver((entries) => { for (const entry of entries) fit(entry.target); });
for (const box of document.querySelectorAll(".scroll")) watch.observe(box);
