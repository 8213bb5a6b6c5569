// Times: the server writes them in UTC; here they become the visitor's own, the time since, or a live countdown.
const locale = document.documentElement.lang || "en";
const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const units = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

function since(date, now) {
  const seconds = Math.round((date - now) / 1000);
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(Math.min(0, seconds), "second");
}

function countdown(date, now) {
  const left = Math.abs(Math.trunc((date - now) / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(left / 86400);
  const clock = `${two(Math.floor(left / 3600) % 24)}:${two(Math.floor(left / 60) % 60)}:${two(left % 60)}`;
  const day = days > 0 ? `${new Intl.NumberFormat(locale, { style: "unit", unit: "day", unitDisplay: "narrow" }).format(days)} ` : "";
  return day + clock;
}

function show(element, now) {
  const date = new Date(element.dateTime);
  switch (element.dataset.time) {
    case "local":
      element.textContent = moment.format(date);
      break;
    case "ago":
      element.textContent = since(date, now);
      break;
    case "clock": {
      const over = now >= date.getTime();
      element.textContent = over ? element.dataset.overdue.replace("{time}", countdown(date, now)) : countdown(date, now);
      element.classList.toggle("overdue", over);
      const tone = now >= Number(element.dataset.urgent) ? "bad" : now >= Number(element.dataset.soon) ? "warn" : "good";
      element.classList.remove("tone-good", "tone-warn", "tone-bad");
      element.classList.add(`tone-${tone}`);
      break;
    }
  }
  if (!element.title) element.title = full.format(date);
}

// showTimes brings all times below a node up to date: for parts of a page that a script has replaced.
export function showTimes(root = document) {
  const now = Date.now();
  for (const element of root.querySelectorAll("time[data-time]")) show(element, now);
}

showTimes();
let tick = 0;
setInterval(() => {
  if (document.hidden) return;
  const now = Date.now();
  for (const element of document.querySelectorAll("time[data-time=clock]")) show(element, now);
  if (++tick % 30 === 0) for (const element of document.querySelectorAll("time[data-time=ago]")) show(element, now);
}, 1000);
