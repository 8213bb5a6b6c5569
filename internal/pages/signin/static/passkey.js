// Passkeys: the browser asks the device, and a form carries the answer. Without this module, and where passkeys do not work,
// these forms stay hidden and everything else works as before.
const renewal = 4 * 60 * 1000; // a challenge lives for five minutes
const renewals = 15; // a page that nobody uses stops asking after an hour

function encode(buffer) {
  let bytes = "";
  for (const byte of new Uint8Array(buffer)) bytes += String.fromCharCode(byte);
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decode(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

// send hands the answer of the device over. Of what the browser adds for itself nothing is used.
function send(form, credential, response) {
  form.elements.answer.value = JSON.stringify({
    id: credential.id, rawId: encode(credential.rawId), type: credential.type, clientExtensionResults: {}, response,
  });
  HTMLFormElement.prototype.submit.call(form);
}

async function create(form) {
  const options = JSON.parse(form.dataset.passkeyCreate);
  const credential = await navigator.credentials.create({ publicKey: {
    ...options,
    challenge: decode(options.challenge),
    user: { ...options.user, id: decode(options.user.id) },
    excludeCredentials: (options.excludeCredentials ?? []).map((c) => ({ ...c, id: decode(c.id) })),
  } });
  const { clientDataJSON, attestationObject } = credential.response;
  send(form, credential, {
    clientDataJSON: encode(clientDataJSON), attestationObject: encode(attestationObject), transports: credential.response.getTransports?.() ?? [],
  });
}

async function signIn(form, how) {
  const answer = await fetch(form.dataset.passkeyGet, { method: "POST" });
  if (!answer.ok) throw new Error(`the challenge was refused: ${answer.status}`);
  const { options, ceremony } = await answer.json();
  const credential = await navigator.credentials.get({ ...how, publicKey: { ...options, challenge: decode(options.challenge) } });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  form.elements.ceremony.value = ceremony;
  send(form, credential, {
    clientDataJSON: encode(clientDataJSON), authenticatorData: encode(authenticatorData), signature: encode(signature),
    userHandle: userHandle ? encode(userHandle) : undefined,
  });
}

// offer lets the browser list passkeys beside what it knows for the field of the email, where it can. The offer is renewed
// before its challenge is too old, and taken back when the visitor presses the button.
let offered;
async function offer(form) {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  for (let i = 0; i < renewals; i++) {
    offered = new AbortController();
    let old = false;
    const timer = setTimeout(() => {
      old = true;
      offered.abort();
    }, renewal);
    try {
      await signIn(form, { mediation: "conditional", signal: offered.signal });
      return;
    } catch {
      if (!old) return;
    } finally {
      clearTimeout(timer);
    }
  }
}

// attempt asks the device and tells when nothing came of it: the visitor has changed their mind, or the device cannot.
async function attempt(form, ask) {
  const problem = form.querySelector("[role=alert]");
  const button = form.querySelector("button");
  problem.textContent = "";
  button.disabled = true;
  try {
    await ask(form);
  } catch (error) {
    problem.textContent = (error.name === "InvalidStateError" && form.dataset.exists) || form.dataset.failed;
  } finally {
    button.disabled = false;
  }
}

for (const place of document.querySelectorAll("[data-passkey-origin]")) {
  const state = !(window.PublicKeyCredential && navigator.credentials) ? "unsupported" : place.dataset.passkeyOrigin === location.origin ? "here" : "elsewhere";
  for (const part of place.querySelectorAll("[data-passkey]")) part.hidden = part.dataset.passkey !== state;
  if (state !== "here") continue;
  for (const form of place.querySelectorAll("form[data-passkey-create]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(form, create);
    });
  }
  for (const form of place.querySelectorAll("form[data-passkey-get]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      offered?.abort();
      attempt(form, signIn);
    });
    offer(form);
  }
}
