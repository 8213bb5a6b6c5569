// Comfort for the documentation; everything can be read without it.
import "./search.js";
import "./try.js";

const page = document.querySelector(".docs");

// Every piece of code can be copied, with a button that is always there: by mouse, touch and keyboard.
if (navigator.clipboard && page.dataset.copy) {
  for (const block of page.querySelectorAll(".sample")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = page.dataset.copy;
    button.setAttribute("aria-live", "polite");
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
for (const block of page.querySelectorAll("pre, .diagram")) sizes.observe(block);

// The language of code is chosen once, for all pages.
const choose = (language) => {
  for (const tab of page.querySelectorAll(`.tabs input[value="${language}"]`)) tab.checked = true;
};
try {
  const chosen = localStorage.getItem("docs-language");
  if (/^[a-z]+$/.test(chosen ?? "")) choose(chosen);
} catch { /* a browser may refuse to remember */ }
page.addEventListener("change", (event) => {
  const tab = event.target.closest?.(".tabs input");
  if (!tab) return;
  const before = tab.getBoundingClientRect().top;
  choose(tab.value);
  scrollBy(0, tab.getBoundingClientRect().top - before); // what is being read stays where it is
  try {
    localStorage.setItem("docs-language", tab.value);
  } catch { /* as above */ }
});

// A narrow screen has no room for the contents beside the text.
const menu = page.querySelector(".menu");
const narrow = matchMedia("(max-width: 60rem)");
const fold = () => (menu.open = !narrow.matches);
narrow.addEventListener("change", fold);
fold();
const here = page.querySelector(".contents [aria-current]");
const contents = page.querySelector(".contents");
if (here && !narrow.matches) contents.scrollTop = Math.max(0, here.offsetTop - contents.clientHeight / 2);

// The entry of what is being read is marked beside the text.
const entries = new Map();
for (const a of page.querySelectorAll(".beside a[href^='#']")) entries.set(decodeURIComponent(a.hash.slice(1)), a);
const targets = [...entries.keys()].map((id) => document.getElementById(id)).filter(Boolean);
if (targets.length > 0) {
  let marked;
  const mark = () => {
    const current = targets.findLast((t) => t.getBoundingClientRect().top <= 120) ?? targets[0];
    const entry = entries.get(current.id);
    if (entry === marked) return;
    marked?.removeAttribute("aria-current");
    entry.setAttribute("aria-current", "true");
    marked = entry;
  };
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
}
