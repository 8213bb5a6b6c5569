// The camera of the phone, with the example over the picture.

const dialog = document.getElementById("camera");
const video = document.getElementById("video");
const overlay = document.getElementById("overlay");
const overlayOn = document.getElementById("overlay-on");
let opening = false; // the browser asks whether the camera may be used
let stream;
let photo; // that was taken
let taken;

/** Opens the camera and returns a photo, or nothing if it was closed, or is being opened. It fails where there is no
 * camera. */
export async function takePhoto(example) {
  if (opening || dialog.open) return undefined;
  opening = true;
  try {
    stream = await navigator.mediaDevices.getUserMedia({
      video: { facingMode: { ideal: "environment" }, width: { ideal: 3840 }, height: { ideal: 2160 } },
    });
  } finally {
    opening = false;
  }
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

document.getElementById("shoot").addEventListener("click", () => {
  if (video.videoWidth === 0) return; // not yet
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  const source = stream;
  canvas.toBlob((blob) => {
    if (source !== stream) return; // closed in the meantime
    photo = blob ?? undefined;
    dialog.close();
  }, "image/jpeg", 0.92);
});
dialog.querySelector("[data-camera-close]").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => { // whatever has closed it
  for (const track of stream.getTracks()) track.stop();
  video.srcObject = null;
  stream = undefined;
  taken(photo);
  photo = undefined;
});
overlayOn.addEventListener("change", () => {
  overlay.hidden = !overlayOn.checked;
});
