// Receiving webhooks: the vector of the documentation, every way to fail, and the frameworks.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import express from "express";
import Fastify from "fastify";
import { MemoryDeliveryLog, signWebhook, verifyWebhook, WebhookError, WebhookReceiver } from "../dist/index.js";

const secret = "5f2b8c1de07a4936b8d1f04e7c6a59203be84d17f6c2a9508e3d7b41c09f6a25";
const at = 1763172000;
const now = () => at * 1000;
const bytes = (text) => new TextEncoder().encode(text);
const body = bytes('{"webhook_event":"order-outcome","delivery_id":"0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30"}');
const signature = "v1=8222382cc681d2a7adeaf699f59a3f45d2e3f6b2b3e2fc4a25495c5b2b421823";
const delivery = (n = 1) => bytes(JSON.stringify({ webhook_event: "order-outcome", delivery_id: `d-${n}`, id: "o" }));

async function signed(of, key = secret) {
  return { "X-LG-Timestamp": String(at), "X-LG-Signature": await signWebhook(key, at, of) };
}

test("the vector of the documentation", async () => {
  await verifyWebhook(secret, { "X-LG-Timestamp": String(at), "X-LG-Signature": signature }, body, { now });
});

test("refusals", async () => {
  const good = await signed(body);
  const cases = [
    [secret, good, bytes("x"), now],
    ["x".repeat(64), good, body, now],
    [secret, { "X-LG-Timestamp": String(at) }, body, now],
    [secret, { "X-LG-Signature": signature }, body, now],
    [secret, { ...good, "X-LG-Timestamp": "now" }, body, now],
    [secret, good, body, () => (at + 301) * 1000],
    [secret, good, body, () => (at - 301) * 1000],
  ];
  for (const [key, headers, content, clock] of cases) {
    const refused = verifyWebhook(key, headers, content, { now: clock });
    await assert.rejects(refused, (e) => e instanceof WebhookError && e.status === 401);
  }
  await assert.rejects(verifyWebhook("", good, body, { now }), (e) => e.status === 500);
});

test("while a secret is rotated, either signature is enough", async () => {
  const [fresh, old] = ["a".repeat(64), "b".repeat(64)];
  const headers = { ...(await signed(body, fresh)), "X-LG-Signature-Previous": await signWebhook(old, at, body) };
  for (const secrets of [fresh, old, [old, fresh]]) await verifyWebhook(secrets, headers, body, { now });
  await assert.rejects(verifyWebhook("c".repeat(64), headers, body, { now }), WebhookError);
});

test("each delivery once, a failure again", async () => {
  const got = [];
  let fail = true;
  const receiver = new WebhookReceiver(secret, (d) => {
    if (fail) throw new Error("database away");
    got.push(d.delivery_id);
  }, { now, onError: () => {} });
  const one = await signed(delivery());
  assert.equal(await receiver.receive("POST", one, delivery()), 500);
  fail = false;
  assert.equal(await receiver.receive("POST", one, delivery()), 204);
  assert.equal(await receiver.receive("POST", one, delivery()), 204);
  assert.deepEqual(got, ["d-1"]);
  assert.equal(await receiver.receive("GET", {}, body), 405);
  assert.equal(await receiver.receive("POST", {}, body), 401);
  assert.equal(await receiver.receive("POST", await signed(bytes("[]")), bytes("[]")), 400);
  assert.equal(await receiver.receive("POST", {}, new Uint8Array((1 << 20) + 1)), 413);
});

test("an attempt that comes while the delivery is processed is not acknowledged", async () => {
  const endings = [];
  const handle = () => new Promise((resolve, reject) => endings.push({ resolve, reject }));
  const receiver = new WebhookReceiver(secret, handle, { now, onError: () => {} });
  const one = await signed(delivery());
  const attempt = () => receiver.receive("POST", one, delivery());
  const begun = async (count) => {
    while (endings.length < count) await new Promise(setImmediate);
  };
  const first = attempt();
  await begun(1);
  assert.equal(await attempt(), 503);
  endings[0].reject(new Error("too slow"));
  assert.equal(await first, 500);
  const third = attempt();
  await begun(2);
  endings[1].resolve();
  assert.deepEqual([await third, await attempt(), endings.length], [204, 204, 2]);
});

test("a delivery whose process has crashed comes again when its lease has ended", () => {
  let time = 0;
  const log = new MemoryDeliveryLog(2, () => time);
  assert.deepEqual([log.begin("a", 1000), log.begin("a", 1000), log.begin("b", 1000)], ["new", "running", "new"]);
  time = 999;
  assert.equal(log.begin("a", 1000), "running");
  time = 1000;
  assert.deepEqual([log.begin("a", 1000), log.begin("a", 1000)], ["new", "running"]);
  log.done("a");
  log.undo("a"); // too late, by whoever had it first
  time = 9000;
  assert.equal(log.begin("a", 1000), "done");
  log.undo("b");
  assert.equal(log.begin("b", 1000), "new");
  for (const id of ["b", "c"]) log.done(id);
  assert.deepEqual(["a", "b", "c"].map((id) => log.begin(id, 1000)), ["new", "done", "done"]);
});

/** A server of Node for the test, and its port. */
async function listening(t, listener) {
  const server = createServer(listener);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  return server.address().port;
}

test("a sender that goes away in the middle of the body", async (t) => {
  const receiver = new WebhookReceiver(secret, () => assert.fail("handled"), { now });
  for (const leave of [(socket) => socket.end(), (socket) => socket.destroy()]) {
    let ended;
    const outcome = new Promise((resolve) => (ended = resolve));
    const port = await listening(t, (request, response) => {
      receiver.express(request, response).then(() => ended(response.statusCode), ended);
    });
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc", () => leave(socket));
    assert.equal(await outcome, 400);
  }
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) });
  const request = new Request("http://x/", { method: "POST", body, duplex: "half" });
  assert.equal((await receiver.fetch(request)).status, 400);
});

test("a body that is too long is answered", async (t) => {
  const receiver = new WebhookReceiver(secret, () => assert.fail("handled"), { now, maxBodyBytes: 100 });
  const url = `http://127.0.0.1:${await listening(t, receiver.express)}/`;
  assert.equal((await fetch(url, { method: "POST", body: "x".repeat(200_000) })).status, 413);
});

test("a log that fails is reported and answered with 500", async (t) => {
  const away = async () => {
    throw new Error("database away");
  };
  const fails = () => {
    throw new Error("no stock");
  };
  const cases = [
    [{ begin: () => true }, () => assert.fail("handled"), ["begin of the delivery log returned true"]],
    [{ begin: away }, () => assert.fail("handled"), ["database away"]],
    [{ begin: () => "new", undo: away }, fails, ["no stock", "database away"]],
    [{ begin: () => "new", done: away, undo: () => {} }, () => {}, ["database away"]],
  ];
  for (const [log, handle, want] of cases) {
    const reported = [];
    const onError = (error, of) => reported.push([error.message, of.delivery_id]);
    const receiver = new WebhookReceiver(secret, handle, { now, log, onError });
    const port = await listening(t, receiver.express);
    assert.deepEqual(await posted(`http://127.0.0.1:${port}/`), [500, 401]);
    assert.deepEqual(reported, want.map((message) => [message, "d-1"]));
  }
});

test("a report that fails does no harm", async (t) => {
  const lines = t.mock.method(console, "error", () => {});
  const fails = () => {
    throw new Error("no stock");
  };
  const one = await signed(delivery());
  for (const options of [{ now }, { now, onError: fails }, { now, onError: async () => fails() }]) {
    assert.equal(await new WebhookReceiver(secret, fails, options).receive("POST", one, delivery()), 500);
  }
  assert.equal(await new WebhookReceiver("", fails, { now }).receive("POST", one, delivery()), 500);
  await new Promise(setImmediate);
  assert.equal(lines.mock.callCount(), 6);
});

test("a body that was parsed before", async (t) => {
  const reported = [];
  const onError = (error) => reported.push(error.name);
  const receiver = new WebhookReceiver(secret, () => assert.fail("handled"), { now, onError });
  const parsed = (request, response) => receiver.express(Object.assign(request, { body: {} }), response);
  const url = `http://127.0.0.1:${await listening(t, parsed)}/`;
  assert.deepEqual(await posted(url), [500, 500]);
  const request = new Request(url, { method: "POST", body: "{}" });
  await request.text();
  assert.equal((await receiver.fetch(request)).status, 500);
  assert.deepEqual(reported, ["TypeError", "TypeError", "TypeError"]);

  const passed = [];
  const app = express();
  app.use(express.json());
  app.post("/", receiver.express);
  app.use((error, _request, response, _next) => {
    passed.push(error.message);
    response.status(500).end();
  });
  assert.deepEqual(await posted(`http://127.0.0.1:${await listening(t, app)}/`), [500, 500]);
  assert.match(passed[0], /express\.json/);
  assert.equal(reported.length, 3);
});

async function posted(url, content = delivery()) {
  const answers = [];
  for (const headers of [await signed(content), {}]) {
    const sent = { method: "POST", body: content, headers: { "Content-Type": "application/json", ...headers } };
    answers.push((await fetch(url, sent)).status);
  }
  return answers;
}

test("fetch", async () => {
  const got = [];
  const receiver = new WebhookReceiver(secret, (d) => got.push(d.id), { now });
  const request = new Request("http://x/", { method: "POST", body: delivery(), headers: await signed(delivery()) });
  assert.equal((await receiver.fetch(request)).status, 204);
  assert.deepEqual(got, ["o"]);
});

test("Express, with its raw parser and without", async (t) => {
  const got = [];
  const receiver = new WebhookReceiver(secret, (d) => got.push(d.delivery_id), { now });
  const app = express();
  app.post("/plain", receiver.express);
  app.post("/raw", express.raw({ type: "*/*" }), receiver.express);
  const url = `http://127.0.0.1:${await listening(t, app)}`;
  assert.deepEqual(await posted(`${url}/plain`), [204, 401]);
  assert.deepEqual(await posted(`${url}/raw`, delivery(2)), [204, 401]);
  assert.deepEqual(got, ["d-1", "d-2"]);
});

test("Fastify", async (t) => {
  const got = [];
  const receiver = new WebhookReceiver(secret, (d) => got.push(d.delivery_id), { now });
  const app = Fastify();
  app.register(receiver.fastify, { prefix: "/hooks" });
  t.after(() => app.close());
  assert.deepEqual(await posted(`${await app.listen({ port: 0, host: "127.0.0.1" })}/hooks`), [204, 401]);
  assert.deepEqual(got, ["d-1"]);
});
