// The page of an order: the viewer, the keys, the checklist and the draft of the verdict.
import { openViewer, viewerOpen } from "./viewer.js";
import "./verdict.js";

const shots = [...document.querySelectorAll("a[data-photo], a[data-example]")];
for (const shot of shots) {
  shot.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openViewer(shots, shot);
  });
}

function typing(element) {
  return element instanceof HTMLElement && (element.isContentEditable || element.matches("select, textarea, input:not([type=checkbox], [type=radio])"));
}

document.addEventListener("keydown", (event) => {
  if (viewerOpen() || event.ctrlKey || event.metaKey || typing(event.target)) return;
  if (event.altKey) {
    const outcome = document.querySelectorAll("#verdict input[name=outcome]")[Number(event.code.replace("Digit", "")) - 1];
    if (!outcome) return;
    outcome.click();
    outcome.focus();
    event.preventDefault();
    return;
  }
  const photos = shots.filter((s) => s.dataset.photo);
  const at = photos.indexOf(document.activeElement);
  switch (event.key) {
    case "j":
      photos[Math.min(at + 1, photos.length - 1)]?.focus();
      break;
    case "k":
      photos[Math.max(at - 1, 0)]?.focus();
      break;
    case "?":
      document.getElementById("help").showModal();
      break;
    default:
      return;
  }
  event.preventDefault();
});

// A menu closes when somebody goes elsewhere.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.more[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.more[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
