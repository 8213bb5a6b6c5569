// Comfort for the reference pages; everything can be read without it.

const page = document.querySelector(".reference");

// Samples name the default address; the reader wants the address of the service that shows the page.
const server = new URL(page.dataset.server);
for (const sample of page.querySelectorAll("[data-sample]")) {
  sample.textContent = sample.textContent.replaceAll(server.origin, location.origin);
}

if (navigator.clipboard) {
  for (const block of page.querySelectorAll(".sample")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = page.dataset.copy;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = page.dataset.copied;
      } catch {
        button.textContent = page.dataset.refused;
      }
      setTimeout(() => (button.textContent = page.dataset.copy), 1500);
    });
    block.prepend(button);
  }
}

// What does not fit is scrolled by the arrow keys, too.
const fit = (block) => (block.scrollWidth > block.clientWidth ? (block.tabIndex = 0) : block.removeAttribute("tabindex"));
const sizes = new ResizeObserver((changes) => changes.forEach((change) => fit(change.target)));
for (const block of page.querySelectorAll("pre")) sizes.observe(block);

const filter = document.getElementById("filter");
filter.hidden = false;
filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  for (const entry of document.querySelectorAll("[data-find]")) {
    entry.hidden = !entry.dataset.find.includes(wanted);
  }
});

// A narrow screen has no room for the contents beside the text.
const menu = document.querySelector(".menu");
const narrow = matchMedia("(max-width: 60rem)");
const fold = () => (menu.open = !narrow.matches);
narrow.addEventListener("change", fold);
fold();
menu.addEventListener("click", (event) => {
  if (narrow.matches && event.target.closest("a")) menu.open = false;
});

// The entry of what is being read is marked in the contents.
const entries = new Map();
for (const a of document.querySelectorAll(".contents a[href^='#']")) entries.set(a.hash.slice(1), a);
const targets = [...entries.keys()].map((id) => document.getElementById(id)).filter(Boolean);
let marked;
const mark = () => {
  const line = 120;
  const current = targets.findLast((t) => t.getBoundingClientRect().top <= line) ?? targets[0];
  const entry = entries.get(current.id);
  if (entry === marked) return;
  marked?.removeAttribute("aria-current");
  entry.setAttribute("aria-current", "true");
  if (!narrow.matches) entry.scrollIntoView({ block: "nearest" });
  marked = entry;
};
targets.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
let waiting = false;
addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    mark();
  });
}, { passive: true });
mark();
