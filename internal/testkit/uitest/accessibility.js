// An accessibility check of the page as it stands: returns what would keep people from using it.
() => {
  const problems = [];
  const name = (e) => {
    const id = e.id ? `#${e.id}` : "";
    const cls = typeof e.className === "string" && e.className ? `.${e.className.trim().split(/\s+/).join(".")}` : "";
    return `<${e.localName}${id}${cls}> "${(e.textContent || "").trim().slice(0, 40)}"`;
  };
  const say = (what, e) => problems.push(e ? `${what}: ${name(e)}` : what);
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)];
  const byIds = (ids) => (ids || "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id));

  // The document.
  if (!document.documentElement.lang) say("the page has no language");
  if (!document.title.trim()) say("the page has no title");
  if (all("main").length !== 1) say(`the page has ${all("main").length} main elements`);
  const h1 = all("h1").filter(shown);
  if (h1.length !== 1) say(`the page has ${h1.length} headings of the first level`);
  let level = 0;
  for (const h of all("h1,h2,h3,h4,h5,h6").filter(shown)) {
    const n = Number(h.localName[1]);
    if (level && n > level + 1) say(`a heading skips from level ${level} to ${n}`, h);
    level = n;
  }
  const ids = new Set();
  for (const e of all("[id]")) {
    if (ids.has(e.id)) say(`the id ${e.id} stands twice`, e);
    ids.add(e.id);
  }
  for (const e of all("[aria-labelledby],[aria-describedby],[aria-controls]")) {
    for (const a of ["aria-labelledby", "aria-describedby"]) {
      if (e.hasAttribute(a) && byIds(e.getAttribute(a)).some((x) => !x)) say(`${a} names nothing`, e);
    }
  }

  // Names.
  const accessibleName = (e) => {
    const parts = [e.getAttribute("aria-label"), ...byIds(e.getAttribute("aria-labelledby")).map((x) => x?.textContent), e.title];
    if (e.labels) parts.push(...[...e.labels].map((l) => l.textContent));
    if (["a", "button", "summary", "th", "legend"].includes(e.localName) || e.getAttribute("role")) {
      parts.push(e.textContent, ...[...e.querySelectorAll("img[alt]")].map((i) => i.alt));
    }
    if (e.localName === "input" && ["submit", "button", "reset"].includes(e.type)) parts.push(e.value);
    return parts.some((p) => p && p.trim());
  };
  for (const e of all("img")) if (!e.hasAttribute("alt")) say("an image has no alt", e);
  for (const e of all("svg[role=img]")) {
    if (!e.getAttribute("aria-label") && !byIds(e.getAttribute("aria-labelledby")).some(Boolean)) say("a drawing has no name", e);
  }
  for (const e of all("svg:not([role]):not([aria-hidden=true])")) if (!e.closest("[aria-hidden=true]")) say("a drawing is neither named nor hidden", e);
  for (const e of all("a[href],button,summary").filter(shown)) if (!accessibleName(e)) say("a control has no name", e);
  for (const e of all("input:not([type=hidden]),select,textarea").filter(shown)) if (!accessibleName(e)) say("a field has no label", e);
  for (const e of all("fieldset")) if (!e.querySelector("legend") && !accessibleName(e)) say("a group of fields has no legend", e);
  for (const e of all("dialog")) if (!accessibleName(e)) say("a dialog has no name", e);
  for (const e of all("nav")) if (all("nav").length > 1 && !accessibleName(e)) say("one of several navigations has no name", e);
  for (const e of all("table")) if (!e.querySelector("th")) say("a table has no headers", e);
  for (const e of all("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) say("a positive tabindex", e);
  for (const e of all("ul,ol")) {
    for (const child of e.children) if (!["li", "script", "template"].includes(child.localName)) say("a list holds something else than items", child);
  }
  for (const e of all("dl")) {
    for (const child of e.children) if (!["dt", "dd", "div", "script", "template"].includes(child.localName)) say("a list of facts holds something else", child);
  }
  for (const e of all("[aria-hidden=true]")) if (e.querySelector("a[href],button,input,select,textarea")) say("something hidden can have the focus", e);

  // Contrast, after WCAG 2: 4.5, or 3 for large text.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const cache = new Map();
  const rgba = (colour) => {
    if (!cache.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      cache.set(colour, [r, g, b, a / 255]);
    }
    return cache.get(colour);
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const background = (e) => {
    const layers = [];
    for (let x = e; x; x = x.parentElement) {
      const c = rgba(getComputedStyle(x).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, c) => over(c, below), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const luminance = ([r, g, b]) => {
    const f = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(e) || !shown(e) || e.closest("svg,script,style,noscript,[aria-hidden=true],.sr,:disabled,[aria-disabled=true]")) continue;
    seen.add(e);
    const box = e.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const style = getComputedStyle(e);
    const ground = background(e);
    const text = over(rgba(style.color), ground);
    const [a, b] = [luminance(text), luminance(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) say(`contrast of ${ratio.toFixed(2)} (${style.color} on ${ground.map(Math.round).slice(0, 3)})`, e);
  }

  // Small screens: the page itself does not scroll sideways.
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1) {
    say(`the page is ${document.documentElement.scrollWidth} wide on a screen of ${document.documentElement.clientWidth}`);
  }
  return problems;
}
