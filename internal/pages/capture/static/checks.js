// What can be seen of a photo before it is sent: whether it is blurred, dark, small, or like another one.

const longSide = 512; // pixels of the copy that is looked at
const minShortSide = 480;
const minBrightness = 38; // mean of 0 to 255
const minSharpness = 22; // variance of the Laplacian

/** Draws an image into a canvas, no larger than a side. */
export function draw(image, side, canvas = document.createElement("canvas")) {
  const scale = Math.min(1, side / Math.max(image.width, image.height));
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  canvas.getContext("2d", { willReadFrequently: true }).drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** Returns a photo with no more pixels than the service takes: the same one, or a smaller copy. */
export async function fit(blob, image, maxSide, maxPixels) {
  if (!image) return blob; // of a format that the browser cannot show
  const { width, height } = image;
  if (Math.max(width, height) <= maxSide && width * height <= maxPixels) return blob;
  const side = Math.min(maxSide, Math.floor(Math.max(width, height) * Math.sqrt(maxPixels / (width * height))));
  const canvas = draw(image, side - 1); // a side that is rounded up does not lead over the limit
  return (await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92))) ?? blob;
}

function grey(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const values = new Float32Array(canvas.width * canvas.height);
  for (let i = 0; i < values.length; i++) {
    values[i] = 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2];
  }
  return values;
}

/** Mean of grey values. */
export function brightness(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Variance of the Laplacian: low where nothing has an edge. */
export function sharpness(values, width, height) {
  let sum = 0;
  let squares = 0;
  let n = 0;
  for (let y = 1; y < height - 1; y++) {
    for (let x = 1; x < width - 1; x++) {
      const i = y * width + x;
      const edge = values[i - 1] + values[i + 1] + values[i - width] + values[i + width] - 4 * values[i];
      sum += edge;
      squares += edge * edge;
      n++;
    }
  }
  return n === 0 ? 0 : squares / n - (sum / n) ** 2;
}

/** 64 bits that are alike for pictures that look alike: whether each of 8 by 8 fields is brighter than its neighbour. */
function likeness(image) {
  const canvas = document.createElement("canvas");
  canvas.width = 9;
  canvas.height = 8;
  canvas.getContext("2d").drawImage(image, 0, 0, 9, 8);
  const values = grey(canvas);
  let bits = "";
  for (let y = 0; y < 8; y++) {
    for (let x = 0; x < 8; x++) bits += values[9 * y + x] > values[9 * y + x + 1] ? "1" : "0";
  }
  return bits;
}

function distance(a, b) {
  let n = 0;
  for (let i = 0; i < a.length; i++) n += a[i] === b[i] ? 0 : 1;
  return n;
}

/** Looks at a photo. others are the likenesses of those that were taken before. A format that the browser cannot show has
 * no findings: the service looks at it. */
export async function look(blob, others) {
  let image;
  try {
    image = await createImageBitmap(blob);
  } catch {
    return { problems: [] };
  }
  const canvas = draw(image, longSide);
  const values = grey(canvas);
  const bits = likeness(image);
  const problems = [];
  if (Math.min(image.width, image.height) < minShortSide) problems.push("small");
  if (brightness(values) < minBrightness) problems.push("dark");
  else if (sharpness(values, canvas.width, canvas.height) < minSharpness) problems.push("blur");
  if (others.some((other) => distance(other, bits) <= 3)) problems.push("duplicate");
  return { image, bits, problems };
}
