// What the server has written last into each part of a page that is brought up to date, by its name: read here before any
// other module changes it, and kept by live.js.
export const written = new Map(
  [...document.querySelectorAll("[data-live]")].map((region) => [region.dataset.live, region.innerHTML]),
);
