// The draft of a verdict: what is entered is kept in this browser at once and on the server a moment later. The page says
// which of both is true, tries again by itself, and loses nothing when the network, the session or the order goes away.
import { ask, isSignedOut } from "../ui/signed.js";
import { entered, fill, forget, keep, kept } from "./kept.js";

const WAIT = 700; // after the last change
const RETRY = [2000, 4000, 8000, 15000, 30000];
const KEEPALIVE = 60000; // bytes: browsers refuse to finish more than 64 KiB for a page that is gone
const OPEN = new Set(["unsaved", "signed-out", "other", "newer", "lost", "ended"]); // the server may lack something
const GONE = new Set(["lost", "ended"]); // the order is no longer theirs, for a while or for good
const HELD = new Set(["newer", "ended"]); // nothing is sent

export class Draft {
  // restored is called after fields were filled in from what this browser had kept.
  constructor(form, restored) {
    this.form = form;
    this.restored = restored;
    this.key = form.dataset.key;
    this.version = form.elements.draft_version;
    this.page = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
    this.saves = 0;
    this.state = "same"; // as the server has it
    this.tries = 0;
    this.sending = null;
    this.sent = null; // what was sent last
    this.timer = 0;
    this.saved = this.read(); // what the server has
    this.channel = new BroadcastChannel("assay-desk");
    this.channel.addEventListener("message", (event) => {
      if (event.data === "signed-in" && OPEN.has(this.state)) this.send();
    });
    for (const event of ["online", "focus"]) addEventListener(event, () => this.again());
    document.addEventListener("visibilitychange", () => (document.hidden ? this.send() : this.again()));
    addEventListener("pagehide", () => this.leave());
    addEventListener("pageshow", (event) => event.persisted && this.returned());
    addEventListener("beforeunload", (event) => {
      if (OPEN.has(this.state) && !(GONE.has(this.state) && this.read() === this.saved)) event.preventDefault();
    });
    document.addEventListener("click", (event) => this.act(event));
    this.recover();
  }

  // read returns what is entered, as one text.
  read() { return entered(this.form); }

  // changed is to be called after every change.
  changed() {
    if (this.state === "ended") return;
    this.recovered = false;
    // While something is open, what the server has is not known: the answer to the last save may have been lost.
    if (this.read() === this.saved && !this.sending && !OPEN.has(this.state)) {
      this.forget();
      return this.show("saved");
    }
    this.keep();
    if (this.state === "newer") return; // somebody has to decide first
    if (!OPEN.has(this.state)) this.show("saving");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), WAIT);
  }

  // send stores the draft and reports whether the server has it.
  async send() {
    clearTimeout(this.timer);
    if (this.sending) {
      await this.sending;
      return this.read() === this.saved ? this.state === "saved" : this.send();
    }
    if (HELD.has(this.state)) return false;
    if (this.read() === this.saved && !OPEN.has(this.state)) return true;
    return this.post();
  }

  // confirm is send that asks the server in any case: whether one is signed in and has the order.
  async confirm() {
    if (this.sending) await this.sending;
    return HELD.has(this.state) ? false : this.post();
  }

  // settle is send for those who leave the page: it reports whether nothing is left to be stored, and leads to the note
  // that says why where something is.
  async settle() {
    if (await this.send() || GONE.has(this.state)) return true;
    this.reveal();
    return false;
  }

  // leave is send for a page that is gone in a moment: it does not wait for the save that is under way.
  leave() {
    if (!this.sending) this.send();
    else if (!HELD.has(this.state) && this.read() !== this.sent) this.exchange();
  }

  // returned is to be called when a page that the browser had kept whole is shown again: another one may have gone on.
  returned() {
    if (OPEN.has(this.state)) this.confirm();
    else location.reload(); // what was not stored is kept in this browser
  }

  // reveal brings the note that is shown into sight.
  reveal() { document.querySelector("[data-note]:not([hidden])")?.scrollIntoView({ block: "nearest" }); }

  // post sends what is entered, one at a time, and reports whether the server has it.
  post() {
    this.sending ??= this.exchange().finally(() => { this.sending = null; });
    return this.sending;
  }

  async exchange() {
    const entered = this.read();
    this.sent = entered;
    const body = new URLSearchParams(new FormData(this.form));
    body.set("draft_page", this.page); // a page goes on from what it stored itself, even when the answer was lost
    body.set("draft_save", ++this.saves);
    if (!OPEN.has(this.state)) this.show("saving");
    const response = await ask(this.form.dataset.draft, {
      method: "POST", body, keepalive: String(body).length < KEEPALIVE,
    }).catch(() => null);
    const refusal = response?.status === 409 ? await response.json().catch(() => null) : null;
    if (response?.ok) {
      this.version.value = response.headers.get("Draft-Version");
      this.saved = entered;
      this.tries = 0;
      this.forget();
      this.show("saved");
      if (this.read() !== entered) this.changed();
      return true;
    }
    if (refusal) {
      this.newest = refusal.version;
      if (refusal.kind === "ended") this.forget();
      this.show(refusal.kind, refusal.message);
    } else if (isSignedOut(response)) {
      this.show("signed-out");
    } else {
      this.show("unsaved");
      this.timer = setTimeout(() => this.send(), RETRY[Math.min(this.tries++, RETRY.length - 1)]);
    }
    return false;
  }

  // again tries at once what could not be stored.
  again() {
    if (!document.hidden && OPEN.has(this.state)) this.send();
  }

  act(event) {
    const what = event.target.closest?.("[data-draft-do]")?.dataset.draftDo;
    if (what === "retry") this.send();
    if (what === "keep") {
      this.version.value = this.newest; // the other one has been seen and is replaced
      this.show("saving");
      this.post();
    }
    if (what === "drop") {
      this.forget();
      this.show("same");
      location.reload();
    }
  }

  // keep stores what is entered in this browser.
  keep() { keep(this.key, { entered: this.read(), version: Number(this.version.value), page: this.page }); }

  forget() { forget(this.key); }

  // recover fills in what this browser has kept and the server does not have.
  recover() {
    const copy = kept(this.key);
    if (!copy || copy.entered === this.saved) return this.forget();
    fill(this.form, copy.entered);
    this.restored();
    const own = copy.page && copy.page === this.form.dataset.storedBy; // its answer did not arrive
    if (own || copy.version === Number(this.version.value)) {
      this.note("restored");
      this.changed();
      this.recovered = true; // what the page says until the next change
      this.send(); // at once: the last save of the former page may still be under way, and is the same
    } else {
      this.newest = this.version.value;
      this.show("newer");
    }
  }

  // show says in which state the draft is.
  show(state, message) {
    this.state = state;
    document.documentElement.dataset.draft = state;
    for (const place of document.querySelectorAll(".draft-state")) {
      place.dataset.state = state;
      place.textContent = place.dataset[state.replace(/-(.)/g, (_, letter) => letter.toUpperCase())] ?? "";
    }
    const calm = this.recovered ? "restored" : null;
    if (state !== "saving") this.note(OPEN.has(state) ? state : calm, message);
  }

  // note shows one of the notes above the form.
  note(name, message) {
    for (const note of document.querySelectorAll("[data-note]")) {
      note.hidden = note.dataset.note !== name;
      if (!note.hidden && message) note.querySelector("[data-message]").textContent = message;
    }
  }
}
