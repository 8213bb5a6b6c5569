// Receiving webhooks: the vector of the documentation, every way to fail, and the frameworks.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import express from "express";
import Fastify from "fastify";
import { signWebhook, verifyWebhook, WebhookError, WebhookReceiver } from "../dist/index.js";

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
  }, { now });
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
  const server = createServer(app);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  const url = `http://127.0.0.1:${server.address().port}`;
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
