// Times: the server writes them in UTC; here they become the visitor's own, the time since, or a live countdown.
const locale = document.documentElement.lang || "en";
const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const instant = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });
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

// Seconds matter in the last minutes only; before and after them a clock that ticks says nothing more.
const TICKING = 5 * 60;
const length = (value, unit) => new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short" }).format(value);

function rough(seconds) {
  const minutes = Math.floor(seconds / 60);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60)];
  if (days > 0) return `${length(days, "day")} ${length(hours % 24, "hour")}`;
  return hours > 0 ? `${length(hours, "hour")} ${length(minutes % 60, "minute")}` : length(minutes, "minute");
}

function countdown(date, now) {
  const left = Math.abs(Math.trunc((date - now) / 1000));
  if (now >= date.getTime() || left >= TICKING) return rough(left);
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

function show(element, now) {
  const date = new Date(element.dateTime);
  switch (element.dataset.time) {
    case "local":
      element.textContent = moment.format(date);
      break;
    case "instant":
      element.textContent = instant.format(date);
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
