// Photos that did not arrive: beside the place of each there is a way to try again, and all are asked for once more when
// the network is back.
const again = document.getElementById("shot-again");
const missing = new Map(); // images, with the button beside each

function failed(img) {
  if (missing.has(img)) return;
  const button = again.content.firstElementChild.cloneNode(true);
  button.addEventListener("click", retry);
  img.closest(".shot").classList.add("missing");
  img.closest("a").after(button);
  missing.set(img, button);
}

function arrived(img) {
  const button = missing.get(img);
  if (!button) return;
  if (button === document.activeElement) img.closest("a").focus();
  button.remove();
  img.closest(".shot").classList.remove("missing");
  missing.delete(img);
}

function retry() { for (const img of missing.keys()) img.src = img.src; }

for (const img of again ? document.querySelectorAll(".shot img") : []) {
  img.addEventListener("error", () => failed(img));
  img.addEventListener("load", () => arrived(img));
  if (img.complete && img.naturalWidth === 0) failed(img);
}
addEventListener("online", retry);
