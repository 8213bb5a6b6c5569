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
// Strips that scroll begin where one is.
for (const current of document.querySelectorAll(".sidebar nav [aria-current], .tabs [aria-current]")) {
  const strip = current.closest("nav");
  if (strip.scrollWidth <= strip.clientWidth) continue;
  const [a, b] = [current.getBoundingClientRect(), strip.getBoundingClientRect()];
  strip.scrollLeft += a.left - b.left - (b.width - a.width) / 2;
}

const watch = new ResizeObserver((entries) => { for (const entry of entries) fit(entry.target); });
for (const box of document.querySelectorAll(".scroll")) watch.observe(box);
