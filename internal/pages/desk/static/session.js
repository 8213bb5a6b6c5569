// Forms that must not lose what is typed into them: <form data-beside>. Before one is sent, the server is asked whether one
// is still signed in; who is not signs in beside it, in another tab, and sends it then.
import { ask, isSignedOut } from "../ui/signed.js";

for (const form of document.querySelectorAll("form[data-beside]")) {
  let asked = false;
  const note = (name) => {
    for (const element of form.querySelectorAll("[data-note]")) element.hidden = element.dataset.note !== name;
  };
  const lock = (locked) => {
    for (const button of form.querySelectorAll("button:not([type=button])")) button.disabled = locked;
  };
  form.addEventListener("submit", async (event) => {
    if (asked) return void setTimeout(lock, 0, true); // a form is sent once
    event.preventDefault();
    const { submitter } = event;
    lock(true);
    const answer = await ask("/desk/signed-in", { method: "HEAD" }).catch(() => null);
    lock(false);
    asked = Boolean(answer?.ok);
    note(asked ? null : isSignedOut(answer) ? "signed-out" : "unsaved");
    if (asked) form.requestSubmit(submitter);
    else form.querySelector("[data-note]:not([hidden])")?.scrollIntoView({ block: "nearest" });
  });
  addEventListener("pageshow", () => {
    asked = false;
    lock(false);
  });
  new BroadcastChannel("assay-desk").addEventListener("message", () => note(null));
}
