// A check of the layout as it stands on this screen: returns what is cut off, lies over something else, leaves its box,
// or is broken where it should not be. An open dialog is all that is looked at.
() => {
  const problems = [];
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  const root = dialog ?? document.body;
  const name = (e) => {
    const id = e.id ? `#${e.id}` : "";
    const cls = typeof e.className === "string" && e.className ? `.${e.className.trim().split(/\s+/).join(".")}` : "";
    return `<${e.localName}${id}${cls}> "${(e.textContent || e.value || "").trim().replace(/\s+/g, " ").slice(0, 40)}"`;
  };
  const say = (what, e) => problems.push(`${what}: ${name(e)}`);
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const styles = new Map();
  const styleOf = (e) => styles.get(e) ?? (styles.set(e, getComputedStyle(e)), styles.get(e));
  const boxes = new Map();
  const boxOf = (e) => boxes.get(e) ?? (boxes.set(e, e.getBoundingClientRect()), boxes.get(e));
  const slack = 2; // pixels: glyphs and rounding
  // Code keeps its lines and is scrolled.
  const unseen = ".sr, .skip, pre, svg, script, style, noscript, template, option, [aria-hidden=true], dialog:not([open])";
  const hides = (value) => value === "hidden" || value === "clip";
  const scrolls = (value) => value === "auto" || value === "scroll";
  const clear = (colour) => colour === "transparent" || /[,/] ?0\)$/.test(colour);
  const painted = (s) => !clear(s.backgroundColor) || ["Left", "Right"].every((side) => parseFloat(s[`border${side}Width`]) > 0);

  // What people look at: lines of text, fields, pictures. Each is seen within the boxes that clip it.
  const atoms = [];
  const seen = (e, rect) => {
    if (rect.width < 2 || rect.height < 2) return;
    let { left, right, top, bottom } = rect;
    let fixed = false;
    let stated = false;
    for (let x = e; x; x = x.parentElement) if (styleOf(x).clipPath === "inset(50%)") return; // for screen readers
    for (let x = e; x && x !== root; x = x.parentElement) {
      const s = styleOf(x);
      if (s.position === "fixed") fixed = true;
      if (s.display === "inline") continue;
      const box = boxOf(x);
      const clipsX = hides(s.overflowX) || scrolls(s.overflowX);
      const clipsY = hides(s.overflowY) || scrolls(s.overflowY);
      const outX = left < box.left - slack || right > box.right + slack;
      const outY = top < box.top - slack || bottom > box.bottom + slack;
      // What ends in dots says that it does.
      const meant = s.textOverflow === "ellipsis" || x.matches("textarea, input, .cover, .frame");
      if (!stated && !meant && outX && clipsX) stated = say(`cut off at the side by ${name(x).slice(0, 50)}`, e) || true;
      if (!stated && !meant && outY && hides(s.overflowY)) stated = say(`cut off by ${name(x).slice(0, 50)}`, e) || true;
      if (!stated && (outX || outY) && !clipsX && !clipsY && painted(s) && !fixed && s.position !== "absolute") {
        stated = say(`leaves its box ${name(x).slice(0, 50)}`, e) || true;
      }
      if (clipsX) [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      if (clipsY) [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      if (right - left < 2 || bottom - top < 2) return;
    }
    if (!stated && !fixed && (left < -slack || right > document.documentElement.clientWidth + slack)) say("outside the screen", e);
    const hidden = dialog && !scrolls(styleOf(dialog).overflowY) && (top < -slack || bottom > innerHeight + slack);
    if (!stated && hidden) say("above or below the screen", e);
    if (!fixed) atoms.push({ e, left, right, top, bottom });
  };
  const range = document.createRange();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const e = node.parentElement;
    if (!node.data.trim() || e.closest(unseen) || !shown(e)) continue;
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter((r) => r.width > 1);
    for (const line of lines) seen(e, line);
    if (lines.length < 2 || boxOf(e).width < 2) continue;
    if (e.closest("time, .badge, .clock, .count") && new Set(lines.map((l) => Math.round(l.top / 4))).size > 1) {
      say("is broken into lines", e);
    }
    if (e.closest("code, pre, .as-written, .hash")) continue;
    for (const word of node.data.matchAll(/[A-Za-z]{3,}/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const parts = [...range.getClientRects()].filter((r) => r.width > 1);
      if (parts.length > 1 && parts.at(-1).top > parts[0].top + 4 && !/[@/.\w-]{18,}/.test(e.textContent)) {
        say(`the word "${word[0]}" is broken`, e);
      }
    }
  }
  const controls = new Set(root.querySelectorAll("input:not([type=hidden]), select, textarea, button, a.button, img"));
  for (const e of controls) if (shown(e) && !e.closest(unseen)) seen(e, boxOf(e));

  // Nothing lies over anything else.
  const related = (a, b) => a === b || a.contains(b) || b.contains(a);
  atoms.sort((a, b) => a.top - b.top);
  for (const [i, a] of atoms.entries()) {
    for (let k = i + 1; k < atoms.length && atoms[k].top < a.bottom - slack; k++) {
      const b = atoms[k];
      if (related(a.e, b.e) || a.e.parentElement === b.e.parentElement && !controls.has(a.e) && !controls.has(b.e)) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide <= slack || high <= 4) continue;
      // What stands on a picture, or in a corner of its field, is meant to.
      const over = [a.e, b.e].some((x) => x.localName === "img" || x.closest("[data-over]")) ||
        [a.e, b.e].some((x) => { for (let p = x; p && p !== root; p = p.parentElement) if (["absolute", "sticky"].includes(styleOf(p).position)) return true; return false; });
      if (!over) say(`lies over ${name(b.e).slice(0, 60)}`, a.e);
    }
  }

  // The label of a box stands beside it.
  for (const e of root.querySelectorAll("input[type=checkbox], input[type=radio]")) {
    if (!shown(e) || e.closest(unseen) || !e.labels?.length || !shown(e.labels[0]) || e.labels[0].matches(unseen)) continue;
    const words = document.createTreeWalker(e.labels[0], NodeFilter.SHOW_TEXT);
    while (words.nextNode() && (!words.currentNode.data.trim() || words.currentNode.parentElement.closest(unseen)));
    if (words.currentNode === e.labels[0] || words.currentNode.parentElement.closest(unseen)) continue;
    range.selectNodeContents(words.currentNode);
    const lines = [...range.getClientRects()].filter((r) => r.width > 2);
    const box = boxOf(e);
    if (box.width > 2 && lines.length > 0 && (lines[0].top > box.bottom || lines.at(-1).bottom < box.top)) say("the label stands below or above its box", e.labels[0]);
  }

  // Where one is can be seen in every navigation.
  for (const e of document.querySelectorAll("nav [aria-current]")) {
    const strip = e.closest("nav");
    if (!shown(e) || strip.scrollWidth <= strip.clientWidth + 1) continue;
    const [a, b] = [boxOf(e), boxOf(strip)];
    if (a.left < b.left - slack || a.right > b.right + slack) say("the current one is out of sight", e);
  }

  // The letters of drawings are as large as others.
  for (const e of document.querySelectorAll("svg text")) {
    if (!shown(e)) continue;
    const size = parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a;
    if (size < 8.5 || size > 16.5) { say(`letters of ${size.toFixed(1)} px in a drawing`, e); break; }
  }
  return [...new Set(problems)];
}
