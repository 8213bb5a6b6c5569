// Wide tables. One that does not fit is folded: each row becomes a block, each cell a line with its heading. What still
// does not fit can have the focus and is scrolled by the arrow keys.
const named = (box) => (box.closest("section, main") ?? document).querySelector("h2, h1")?.textContent.trim() ?? "";

// label gives cells the headings of their columns, but those that only screen readers are told.
const label = (table) => {
  const heads = [...table.querySelectorAll("thead :is(th, td)")].map((head) =>
    head.querySelector(":scope > .sr") ? "" : head.textContent.trim());
  for (const row of table.tBodies[0]?.rows ?? []) {
    for (const [i, cell] of [...row.cells].entries()) {
      if (cell.colSpan === 1 && heads[i] && !cell.hasAttribute("data-label")) cell.dataset.label = heads[i];
    }
  }
};

const fit = (box) => {
  const table = box.querySelector(":scope > table:not(.figures)");
  if (table) {
    table.classList.remove("folded");
    if (box.scrollWidth > box.clientWidth) {
      label(table);
      table.classList.add("folded");
    }
  }
  if (box.scrollWidth <= box.clientWidth) {
    for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
    return;
  }
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", named(box));
};

// Only the width matters: folding changes the height.
const widths = new WeakMap();
const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (widths.get(target) === target.clientWidth) continue;
    widths.set(target, target.clientWidth);
    fit(target);
  }
});

// watchTables looks after the tables below a node: also for parts of a page that a script has replaced.
export function watchTables(root = document) {
  for (const box of root.querySelectorAll(".scroll")) {
    fit(box);
    watch.observe(box);
  }
}

watchTables();
