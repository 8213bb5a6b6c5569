// The retry rules of the interface.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as assay from "../dist/index.js";
import { parseRetryAfter } from "../dist/retry.js";
import { envelope, stub } from "./stub.mjs";

const draft = { brand_code: "b", category_code: "c", photos: [{ url: "https://m/x", index_code: "i" }] };
const created = { status: 201, body: { id: "1", external_id: null, order_number: "n", status: "queued", due_date: null } };
const balance = { status: 200, body: { availableCredits: 7 } };
const away = envelope(503, "service-unavailable");

async function world(t, answers, options = {}) {
  const slept = [];
  const server = await stub(t, ...answers);
  const sleep = async (ms) => void slept.push(ms);
  return { client: new assay.Client(server.url, "key", { sleep, ...options }), slept, requests: server.requests };
}

test("reads are repeated with growing waits", async (t) => {
  const { client, slept, requests } = await world(t, [away, away, balance]);
  assert.deepEqual(await client.getBalance(), { availableCredits: 7 });
  assert.equal(requests.length, 3);
  assert.ok(slept[0] >= 250 && slept[0] <= 500 && slept[1] >= 500 && slept[1] <= 1000, String(slept));
});

test("Retry-After is never cut short, and a long one is thrown", async (t) => {
  const short = await world(t, [envelope(429, "rate-limit-exceeded", { "Retry-After": "42" }), balance]);
  await short.client.getBalance();
  assert.deepEqual(short.slept, [42_000]);
  const long = await world(t, [envelope(429, "rate-limit-exceeded", { "Retry-After": "3600" })]);
  await assert.rejects(long.client.getBalance(), (e) => e instanceof assay.RateLimitError && e.retryAfter === 3_600_000);
  assert.deepEqual(long.slept, []);
  assert.equal(parseRetryAfter("Thu, 01 Jan 1970 00:01:00 GMT", 50_000), 10_000);
  assert.equal(parseRetryAfter("soon", 0), undefined);
});

test("attempts end, and a lost connection counts", async (t) => {
  const { client, requests } = await world(t, [away], { retry: { maxAttempts: 2 } });
  await assert.rejects(client.getBalance(), (e) => e instanceof assay.TransportError && assay.isAmbiguous(e));
  assert.equal(requests.length, 2);
});

test("what a hook throws is not a lost connection", async (t) => {
  const onResponse = () => {
    throw new RangeError("no metrics");
  };
  const { client, requests } = await world(t, [balance, balance], { onResponse });
  await assert.rejects(client.getBalance(), RangeError);
  assert.equal(requests.length, 1);
});

test("refusals are not repeated", async (t) => {
  for (const status of [400, 401, 402, 403, 404, 409, 413]) {
    const { client, requests } = await world(t, [envelope(status, "x"), balance]);
    await assert.rejects(client.getBalance(), (e) => e.status === status && !assay.isAmbiguous(e));
    assert.equal(requests.length, 1);
  }
});

test("a creation repeats with the same key and bytes", async (t) => {
  const { client, requests } = await world(t, [away, envelope(409, "request-in-progress"), created]);
  await client.createOrder(draft);
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map((r) => r.headers["idempotency-key"])).size, 1);
  assert.equal(new Set(requests.map((r) => r.body.toString())).size, 1);
});

test("an idempotency key that no header can carry is refused", async (t) => {
  const { client, requests } = await world(t, [created]);
  for (const idempotencyKey of ["", "a\nb", "真", "x".repeat(256)]) {
    await assert.rejects(client.createOrder(draft, { idempotencyKey }), TypeError);
  }
  assert.equal(requests.length, 0);
});

test("an unknown result of an earlier attempt counts", async (t) => {
  const limited = envelope(429, "rate-limit-exceeded", { "Retry-After": "3600" });
  const failed = envelope(500, "internal-error");
  const cases = [
    [[failed, limited], (c) => c.createOrder(draft), true],
    [[envelope(429, "x"), limited], (c) => c.createOrder(draft), false],
    [[failed, limited], (c) => c.getBalance(), false],
    [Array(4).fill(envelope(409, "request-in-progress")), (c) => c.createOrder(draft), true],
  ];
  for (const [answers, call, ambiguous] of cases) {
    const { client } = await world(t, answers);
    await assert.rejects(call(client), (e) => e instanceof assay.APIError && assay.isAmbiguous(e) === ambiguous);
  }
});

test("an empty success is not an answer", async (t) => {
  const { client } = await world(t, [{ status: 200 }]);
  await assert.rejects(client.getBalance(), assay.UnexpectedAnswerError);
});

test("without a key a creation is sent once", async (t) => {
  const { client, requests } = await world(t, [away]);
  await assert.rejects(client.createOrder(draft, { idempotencyKey: null }), assay.ServerError);
  assert.equal(requests.length, 1);
  assert.equal(requests[0].headers["idempotency-key"], undefined);
});

test("uploads, submissions and endpoints are sent once", async (t) => {
  const calls = [
    (c) => c.uploadPhotos([{ name: "a.jpg", data: new Uint8Array([1]) }]),
    (c) => c.submitUpdatePhotos("1", { photos: [{ index_code: "i", is_unable_to_provide: true }] }),
    (c) => c.createWebhook({ url: "https://x", events: ["order-outcome"] }),
  ];
  for (const call of calls) {
    const { client, requests } = await world(t, [away]);
    await assert.rejects(call(client), assay.ServerError);
    assert.equal(requests.length, 1);
  }
});

test("deleting again is no error", async (t) => {
  const { client, requests } = await world(t, [away, envelope(404, "not-found")]);
  assert.equal(await client.deleteWebhook("1"), undefined);
  assert.equal(requests.length, 2);
});

test("only the service says that something is missing", async (t) => {
  const proxy = { status: 404 };
  const missing = await world(t, [envelope(404, "order-not-found")]);
  assert.equal(await missing.client.findOrder("1"), undefined);
  const cases = [
    [proxy, (c) => c.findOrder("1")],
    [envelope(404, "not-found"), (c) => c.findOrder("1")], // no such route
    [proxy, (c) => c.deleteWebhook("1")],
    [proxy, (c) => c.revokeCaptureLink("1")],
  ];
  for (const [answer, call] of cases) {
    const { client } = await world(t, [answer]);
    await assert.rejects(call(client), assay.NotFoundError);
  }
});

test("a forgotten prefix of the base URL is asked for", async (t) => {
  const question = "the answer has no error envelope; does the base URL end in /v1/integrations?";
  for (const suffix of ["/v1/integrations", ""]) {
    const { url } = await stub(t, { status: 404 });
    const client = new assay.Client(url.replace("/v1/integrations", suffix), "key");
    await assert.rejects(client.getBalance(), (error) => error.message.includes(question) === (suffix === ""));
  }
});

test("errors by code", async (t) => {
  const problem = { field: "photos", code: "required", message: "m" };
  const cases = [
    [envelope(400, "validation-error", {}, { errors: [problem] }), assay.ValidationError],
    [envelope(402, "not-enough-credits"), assay.NotEnoughCreditsError],
    [envelope(409, "order-not-awaiting-update-photos"), assay.ConflictError],
    [{ status: 302, headers: { Location: "/elsewhere" } }, assay.APIError],
  ];
  for (const [answer, kind] of cases) {
    const { client } = await world(t, [answer]);
    const error = await client.createOrder(draft).catch((e) => e);
    assert.ok(error instanceof kind, `${error}`);
    if (error instanceof assay.ValidationError) assert.deepEqual(error.errors, [problem]);
  }
});

test("a wait ends by time or by its signal", async (t) => {
  const queued = { status: 200, body: { id: "1", status: "queued" } };
  const { client, slept } = await world(t, Array(9).fill(queued));
  await assert.rejects(client.waitForOrder("1", { timeout: 20_000 }), assay.WaitTimeoutError);
  const waited = slept.reduce((a, b) => a + b);
  assert.ok(slept.length === 3 && waited > 12_500 && waited <= 20_000, String(slept)); // the rest went into the reads
  const slow = await world(t, [queued], { sleep: () => assert.fail("slept") });
  await assert.rejects(slow.client.waitForOrder("1", { timeout: 0.01 }), assay.WaitTimeoutError);
  const stop = new AbortController();
  stop.abort(new Error("stopped"));
  await assert.rejects(client.waitForOrder("1", { signal: stop.signal }), /stopped/);
});

test("identifiers are escaped", async (t) => {
  const { client, requests } = await world(t, [{ status: 200, body: { id: "1" } }]);
  await client.getOrder("a/b c?");
  assert.ok(requests[0].path.endsWith("/orders/a%2Fb%20c%3F"), requests[0].path);
  assert.throws(() => client.getOrder(".."), assay.AssayError);
});

test("the key is not shown", () => {
  assert.ok(!JSON.stringify(new assay.Client("https://x/v1", "secret")).includes("secret"));
});

test("of orders that change while they are read by their last change, none is missed", async (t) => {
  const page = (number, total, ...orders) => ({
    status: 200,
    body: {
      data: orders.map(([id, at]) => ({ id, updated_at: `2026-03-01T10:00:0${at}Z` })), page: number, limit: 2, total,
    },
  });
  // a changes after the first page, and b to d have the same moment.
  const answers = [page(1, 5, "a1", "b2"), page(1, 5, "b2", "c2"), page(2, 5, "d2", "e3"), page(1, 2, "e3", "a4")];
  const { client, requests } = await world(t, answers);
  const found = [];
  for await (const order of client.orders({ sort: "updated", limit: 2 })) found.push(order.id);
  assert.deepEqual(found, ["a", "b", "c", "d", "e", "a"]);
  const asked = requests.map(({ path }) => new URL(path, "http://x").searchParams);
  const since = asked.map((query) => (query.get("updated_since") ?? "").slice(-3) + query.get("page"));
  assert.deepEqual(since, ["1", "02Z1", "02Z2", "03Z1"]);
});
