// The page of a capture link: index by index a photo is taken, looked at, and sent.
import { takePhoto } from "./camera.js";
import { draw, fit, look } from "./checks.js";
import { Outbox, refusalOf, taken } from "./outbox.js";

const root = document.getElementById("capture");
const { path } = root.dataset;
const submit = document.getElementById("submit");
const alert = document.getElementById("alert");
const review = document.getElementById("review");
// What is told of a photo that the service has refused, by the code of the refusal.
const refusals = {
  RESOLUTION_TOO_LARGE: "resolution", RESOLUTION_MISSING: "format", INVALID_FILE_TYPE: "format",
  "empty-photo-file": "format", FILE_TOO_LARGE: "large", "storage-limit-reached": "storage",
  "capture-upload-limit-reached": "uploads", "photo-limit-exceeded": "full",
};
const seenKey = `assay-capture ${path}`;
const seen = readSeen(); // likenesses by the id of a photo, also of earlier visits
const outbox = new Outbox(path, told);

function readSeen() {
  try {
    return JSON.parse(localStorage.getItem(seenKey)) ?? {};
  } catch {
    return {};
  }
}

function remember(id, bits) {
  if (bits) seen[id] = bits;
  else delete seen[id];
  try {
    localStorage.setItem(seenKey, JSON.stringify(seen));
  } catch {
    // Without storage the likenesses are those of this visit.
  }
}

for (const shot of root.querySelectorAll(".shot")) {
  const file = shot.querySelector("[data-file]");
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    file.value = "";
    if (chosen) await accept(shot, chosen, () => file.click());
  });
  shot.querySelector("[data-take]").addEventListener("click", () => take(shot));
  shot.addEventListener("click", (event) => {
    const tile = event.target.closest("[data-drop]")?.closest("li");
    if (tile) drop(tile);
  });
  shot.addEventListener("change", refresh);
}

async function take(shot) {
  problem(shot, "");
  let photo;
  try {
    photo = await takePhoto(shot.querySelector(".shot-example")?.src);
  } catch {
    problem(shot, root.dataset.noCamera);
    return;
  }
  if (photo) await accept(shot, photo, () => take(shot));
}

async function accept(shot, file, again) {
  problem(shot, "");
  if (shot.querySelectorAll(".shots li").length >= Number(shot.dataset.max)) return problem(shot, root.dataset.full);
  if (file.type && !file.type.startsWith("image/")) return problem(shot, root.dataset.type);
  const { image, bits, problems } = await look(file, Object.values(seen));
  const blob = await fit(file, image, Number(root.dataset.maxSide), Number(root.dataset.maxPixels));
  if (blob.size > Number(root.dataset.maxBytes)) return problem(shot, root.dataset.large);
  if (problems.length > 0 && !(await keep(image, problems))) return again();
  const id = crypto.randomUUID?.() ?? randomID();
  remember(id, bits);
  addTile(shot, id, image);
  outbox.add({ id, index: shot.dataset.index, blob });
  refresh();
  next(shot);
}

/** A random id where the page has no secure context. */
function randomID() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Asks whether a photo with problems is to be used. */
function keep(image, problems) {
  draw(image, 320, document.getElementById("preview"));
  document.getElementById("problems").replaceChildren(
    ...problems.map((name) => Object.assign(document.createElement("li"), { textContent: root.dataset[name] })),
  );
  review.returnValue = "";
  review.showModal();
  return new Promise((resolve) => {
    review.addEventListener("close", () => resolve(review.returnValue === "use"), { once: true });
  });
}

document.getElementById("use").addEventListener("click", () => review.close("use"));
document.getElementById("again").addEventListener("click", () => review.close());

function addTile(shot, id, image) {
  const tile = document.createElement("li");
  tile.dataset.key = id;
  const picture = image ? draw(image, 192) : document.createElement("canvas");
  const state = Object.assign(document.createElement("span"), { className: "shot-state" });
  const button = Object.assign(document.createElement("button"), { type: "button", className: "small quiet" });
  button.dataset.drop = "";
  button.textContent = root.dataset.remove;
  tile.append(picture, state, button);
  shot.querySelector(".shots").append(tile);
}

function drop(tile) {
  const id = tile.dataset.key;
  outbox.remove(id);
  remember(id);
  tile.remove();
  refresh();
}

function told(id, state, code) {
  const tile = root.querySelector(`li[data-key="${id}"]`);
  const pauses = state === "offline" || state === "busy";
  tell(pauses ? state : "");
  if (tile && state === "failed") {
    problem(tile.closest(".shot"), root.dataset[refusals[code] ?? "failed"]);
    remember(id);
    tile.remove();
  } else if (tile) {
    tile.querySelector(".shot-state").textContent = root.dataset[pauses ? "waiting" : state];
    tile.classList.toggle("is-sent", state === "sent");
  }
  refresh();
}

function tell(name) {
  alert.textContent = name ? root.dataset[name] : "";
}

function problem(shot, text) {
  const line = shot.querySelector(".shot-problem");
  line.textContent = text;
  line.hidden = text === "";
}

function unable(shot) {
  return shot.querySelector("input[name=unable]")?.checked ?? false;
}

function complete(shot) {
  return shot.querySelector("li") !== null || unable(shot) || !("required" in shot.dataset);
}

/** Submitting waits for every photo to be sent, and for every removed one to be gone. */
function refresh() {
  const shots = [...root.querySelectorAll(".shot")];
  const some = shots.some((shot) => shot.querySelector("li") !== null || unable(shot));
  submit.disabled = !some || outbox.size > 0 || !shots.every(complete);
  for (const shot of shots) {
    const full = shot.querySelectorAll("li").length >= Number(shot.dataset.max) || unable(shot);
    for (const control of shot.querySelectorAll("[data-take], [data-file]")) control.disabled = full;
    const box = shot.querySelector("input[name=unable]");
    if (box) box.disabled = shot.querySelector("li") !== null;
  }
}

/** Shows the next index that needs a photo. */
function next(shot) {
  const shots = [...root.querySelectorAll(".shot")];
  const open = [...shots.slice(shots.indexOf(shot)), ...shots].find((other) => !complete(other));
  (open ?? submit).scrollIntoView({ block: "center" });
}

/** Says why the photos were not taken. Where the service has none of an index, there is none to be shown. */
function refuse({ code, details }) {
  const missing = code === "missing-photo-indexes" ? details?.missing_index_codes ?? [] : [];
  const shots = [...root.querySelectorAll(".shot")].filter((shot) => missing.includes(shot.dataset.index));
  for (const shot of shots) {
    for (const tile of shot.querySelectorAll(".shots li")) {
      remember(tile.dataset.key);
      tile.remove();
    }
    problem(shot, root.dataset.missing);
  }
  tell(shots.length > 0 ? "incomplete" : "refused");
  (shots[0] ?? alert).scrollIntoView({ block: "center" });
}

submit.addEventListener("click", async () => {
  const label = submit.querySelector("span");
  const text = label.textContent;
  submit.disabled = true;
  label.textContent = root.dataset.submitting;
  const form = new URLSearchParams();
  for (const box of root.querySelectorAll("input[name=unable]:checked:not(:disabled)")) form.append("unable", box.value);
  try {
    const answer = await fetch(path, { method: "POST", body: form });
    if (taken(answer) || answer.status === 410) {
      try {
        localStorage.removeItem(seenKey);
      } catch {
        // Nothing was kept.
      }
      return location.replace(path);
    }
    if (answer.status === 429) tell("busy");
    else if (answer.ok || answer.status >= 500) tell("offline");
    else refuse(await refusalOf(answer));
  } catch {
    tell("offline");
  }
  label.textContent = text;
  refresh();
});

for (const photo of await outbox.open()) {
  if (photo.removed) {
    root.querySelector(`li[data-key="${photo.id}"]`)?.remove();
    continue;
  }
  const shot = [...root.querySelectorAll(".shot")].find((other) => other.dataset.index === photo.index);
  if (!shot || shot.querySelector(`li[data-key="${photo.id}"]`)) continue;
  const { image } = await look(photo.blob, []);
  addTile(shot, photo.id, image);
}
refresh();
