// Times: the server writes them in UTC; here they become the visitor's own, the time since, or a live countdown. Dates
// are written as the server does: 2 Jan 2006, 15:04, or 2006/1/2 15:04.
const locale = document.documentElement.lang || "en";
const japanese = locale === "ja";
const parts = new Intl.DateTimeFormat("en-US", {
  year: "numeric", month: japanese ? "numeric" : "short", day: "numeric", hour: "2-digit", minute: "2-digit",
  second: "2-digit", hourCycle: "h23", timeZoneName: "short",
});
const full = new Intl.DateTimeFormat(japanese ? "ja" : "en-GB", { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const units = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

function since(date, now) {
  const seconds = Math.round((date - now) / 1000);
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(Math.min(0, seconds), "second");
}

function written(date, exact) {
  const { year, month, day, hour, minute, second, timeZoneName } =
    Object.fromEntries(parts.formatToParts(date).map(({ type, value }) => [type, value]));
  const time = exact ? `${hour}:${minute}:${second} ${timeZoneName}` : `${hour}:${minute}`;
  return japanese ? `${year}/${month}/${day} ${time}` : `${day} ${month} ${year}, ${time}`;
}

// moment writes a time of today as hour and minute, and any other with its date.
export function moment(date) {
  const today = date.toDateString() === new Date().toDateString();
  return today ? written(date, false).split(" ").at(-1) : written(date, false);
}

// Seconds matter in the last minutes only; before and after them a clock that ticks says nothing more.
const TICKING = 5 * 60;
const DAY = japanese ? "日" : "d", HOUR = japanese ? "時間" : "h", MINUTE = japanese ? "分" : "min"; // as ui.duration has them

function rough(seconds) {
  const minutes = Math.floor(seconds / 60);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60)];
  if (days > 0) return `${days} ${DAY} ${hours % 24} ${HOUR}`;
  return hours > 0 ? `${hours} ${HOUR} ${minutes % 60} ${MINUTE}` : `${minutes} ${MINUTE}`;
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
      element.textContent = written(date, false);
      break;
    case "instant":
      element.textContent = written(date, true);
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
