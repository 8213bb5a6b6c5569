// Sends a request to the Test environment with the visitor's own key. The key is in the fields of this page and nowhere
// else: it is not stored, and it goes to this service only.
const keys = [...document.querySelectorAll("[data-key]")];
for (const field of keys) {
  field.addEventListener("input", () => keys.forEach((other) => (other.value = field.value)));
}

// requestOf returns what the form says as a request.
const requestOf = async (form) => {
  const { method, server } = form.dataset;
  let { path } = form.dataset;
  const query = new URLSearchParams();
  const headers = {};
  for (const field of form.querySelectorAll("[data-in]")) {
    const { in: place, name } = field.dataset;
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(field.value));
    else if (field.value !== "" && place === "query") query.set(name, field.value);
    else if (field.value !== "") headers[name] = field.value;
  }
  const address = new URL(server).pathname + path + (query.size > 0 ? `?${query}` : "");
  const files = form.querySelector("[data-files]");
  if (files) return { method, address, headers, body: await photosOf([...files.files]) };
  const text = form.querySelector("[data-body]")?.value;
  if (!text?.trim()) return { method, address, headers };
  headers["Content-Type"] = "application/json";
  return { method, address, headers, body: text };
};

// photosOf returns the chosen files, or the sample photo where there are none.
const photosOf = async (files) => {
  const body = new FormData();
  if (files.length === 0) files.push(new File([await (await fetch("/docs/sample.jpg")).blob()], "sample.jpg"));
  for (const file of files) body.append("photos", file, file.name);
  return body;
};

// exchange sends a request and returns it with its answer.
const exchange = async ({ method, address, headers, body }, key) => {
  const answer = await fetch(address, {
    method, body, headers: { ...headers, Authorization: `Bearer ${key}` }, credentials: "omit", redirect: "error",
  });
  return { method, address, headers, body, answer, content: await answer.text() };
};

// uploadSample puts the URL of a photo in the place of those of the example, which nobody has uploaded. It returns the
// upload if that was refused.
const uploadSample = async (form, key) => {
  const field = form.querySelector("[data-photos]");
  const isExample = (part) => part.startsWith(field.dataset.photos);
  const parts = field?.value.split('"') ?? [];
  if (!parts.some(isExample)) return;
  const address = `${new URL(form.dataset.server).pathname}/photos`;
  const upload = await exchange({ method: "POST", address, headers: {}, body: await photosOf([]) }, key);
  if (!upload.answer.ok) return upload;
  const { url } = JSON.parse(upload.content).data[0];
  field.value = parts.map((part) => (isExample(part) ? url : part)).join('"');
};

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const send = async (form) => {
  const at = (name) => form.querySelector(`[data-${name}]`);
  const problem = (text) => {
    at("problem").textContent = text;
    at("problem").hidden = false;
    at("result").hidden = true;
  };
  const key = at("key").value.trim();
  if (/^assay_live_/i.test(key)) return problem(form.dataset.live);
  if (!/^assay_test_[0-9A-Za-z]+$/.test(key)) return problem(form.dataset.unknown);
  at("problem").hidden = true;
  at("send").disabled = true;
  try {
    const refused = await uploadSample(form, key);
    const { method, address, headers, body, answer, content } = refused ?? (await exchange(await requestOf(form), key));
    const lines = [`${method} ${address}`, "Authorization: Bearer assay_test_…"];
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    if (body) {
      const files = (form) => form.getAll("photos").map((file) => `photos=@${file.name}`).join("\n");
      lines.push("", body instanceof FormData ? files(body) : body);
    }
    at("request").textContent = lines.join("\n");
    at("status").textContent = answer.status;
    at("status").className = answer.ok ? "status ok" : "status bad";
    at("answer").textContent = pretty(content);
    const id = answer.headers.get("X-Request-Id") ?? "";
    at("request-id").textContent = `X-Request-Id: ${id} · `;
    const link = document.createElement("a");
    link.href = `/portal/requests/${encodeURIComponent(id)}`;
    link.textContent = form.dataset.log;
    at("request-id").append(link);
    at("result").hidden = false;
  } catch {
    problem(form.dataset.failed);
  } finally {
    at("send").disabled = false;
  }
};

for (const form of document.querySelectorAll("[data-try]")) {
  form.querySelector("[data-send]").addEventListener("click", () => send(form));
}
