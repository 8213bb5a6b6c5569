// The camera of the phone, with the example over the picture.

const dialog = document.getElementById("camera");
const video = document.getElementById("video");
const overlay = document.getElementById("overlay");
const overlayOn = document.getElementById("overlay-on");
let stream;
let taken = () => {};

/** Opens the camera and returns a photo, or nothing if it was closed. It fails where there is no camera. */
export async function takePhoto(example) {
  stream = await navigator.mediaDevices.getUserMedia({
    video: { facingMode: { ideal: "environment" }, width: { ideal: 3840 }, height: { ideal: 2160 } },
  });
  video.srcObject = stream;
  overlay.hidden = !example || !overlayOn.checked;
  overlayOn.closest("label").hidden = !example;
  if (example) overlay.src = example;
  else overlay.removeAttribute("src");
  dialog.showModal();
  return new Promise((resolve) => {
    taken = resolve;
  });
}

function close(photo) {
  for (const track of stream?.getTracks() ?? []) track.stop();
  video.srcObject = null;
  dialog.close();
  taken(photo);
}

document.getElementById("shoot").addEventListener("click", () => {
  if (video.videoWidth === 0) return; // not yet
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  canvas.toBlob((photo) => close(photo ?? undefined), "image/jpeg", 0.92);
});
dialog.querySelector("[data-camera-close]").addEventListener("click", () => close());
dialog.addEventListener("cancel", (event) => {
  event.preventDefault();
  close();
});
overlayOn.addEventListener("change", () => {
  overlay.hidden = !overlayOn.checked;
});
