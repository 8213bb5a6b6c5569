// The whole flow against a running service, whose address and keys come from the environment: ASSAY_URL,
// ASSAY_TEST_KEY, ASSAY_LIVE_KEY, ASSAY_PHOTO, ASSAY_WEBHOOK_URL (https) and ASSAY_WEBHOOK_PORT, where it leads.
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import * as assay from "../dist/index.js";

const url = process.env.ASSAY_URL;
const skip = url ? false : "ASSAY_URL is not set: no service to talk to";
const client = url && new assay.Client(url, process.env.ASSAY_TEST_KEY);
const photo = async (name = "front.jpg") => ({ name, data: await openAsBlob(process.env.ASSAY_PHOTO) });

async function all(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

/** A complete order of the first brand, with one upload for each required index. */
async function draft(fields) {
  const category_code = (await client.listCategories()).data[0].code;
  const brand_code = (await client.brands({ category_code }).next()).value.code;
  const indexes = (await client.listPhotoIndexes({ category_code, brand_code })).data.filter((i) => i.required);
  const uploads = await client.uploadPhotos(await Promise.all(indexes.map((i) => photo(`${i.code}.jpg`))));
  const photos = uploads.data.map((u, i) => ({ url: u.url, index_code: indexes[i].code }));
  return { category_code, brand_code, photos, ...fields };
}

test("catalog", { skip }, async () => {
  const brands = await all(client.brands({ limit: 7, locale: "ja" }));
  assert.equal(brands.length, (await client.listBrands()).total);
  const brand = brands.find((b) => b.categories.length > 0);
  const context = { brand_code: brand.code, category_code: brand.categories[0].code };
  assert.ok((await client.listAnswerTimes(context)).data.length > 0);
  assert.equal((await all(client.models(context))).length, (await client.listModels(context)).total);
});

test("upload with progress", { skip }, async () => {
  const seen = [];
  const managed = await client.uploadPhoto(await photo(), { onProgress: (p) => seen.push(p) });
  assert.match(managed, /^https?:\/\//);
  assert.equal(seen.at(-1).sent, seen.at(-1).total);
  assert.ok(seen.at(-1).total > (await stat(process.env.ASSAY_PHOTO)).size);
});

test("order and webhook", { skip }, async (t) => {
  const events = ["order-outcome", "update-photos"];
  const hook = await client.createWebhook({ url: process.env.ASSAY_WEBHOOK_URL, events });
  t.after(() => client.deleteWebhook(hook.id));
  let deliver;
  const delivered = new Promise((resolve) => (deliver = resolve));
  const server = createServer(new assay.WebhookReceiver(hook.signing_secret, deliver).express);
  await new Promise((resolve) => server.listen(Number(process.env.ASSAY_WEBHOOK_PORT), "127.0.0.1", resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());

  const before = (await client.getBalance()).availableCredits;
  const order = await client.createOrder(await draft({ mock_outcome: "authentic", external_id: "ts/1 ü" }));
  assert.equal(order.status, "completed");
  const detail = await client.waitForOrder("ts/1 ü", { timeout: 30_000 });
  assert.deepEqual([detail.id, detail.outcome], [order.id, "authentic"]);
  assert.equal((await client.findOrder("ts/1 ü")).id, order.id);
  assert.equal(await client.findOrder("nothing"), undefined);
  assert.ok((await client.getBalance()).availableCredits < before);
  const event = await delivered;
  assert.deepEqual([event.webhook_event, event.id], ["order-outcome", order.id]);
  assert.ok((await all(client.orders({ limit: 1 }))).some((o) => o.id === order.id));
  assert.ok((await client.listWebhooks()).data.some((w) => w.id === hook.id));
});

test("photo request", { skip }, async () => {
  const order = await client.createOrder(await draft({ mock_outcome: "update-photos" }));
  const asked = (await client.getOrder(order.id, { locale: "ja" })).photos_to_resubmit;
  const photos = asked.map((a) => ({ index_code: a.index_code, is_unable_to_provide: true }));
  const accepted = await client.submitUpdatePhotos(order.id, { photos, note: "mock_outcome=fake" });
  assert.deepEqual(accepted, { id: order.id, status: "accepted" });
  assert.equal((await client.waitForOrder(order.id, { timeout: 30_000 })).outcome, "fake");
  const again = client.submitUpdatePhotos(order.id, { photos });
  await assert.rejects(again, (e) => e instanceof assay.ConflictError && e.code === "order-not-awaiting-update-photos");
});

test("the same key creates one order", { skip }, async () => {
  const order = await draft({ mock_outcome: "authentic" });
  const first = await client.createOrder(order, { idempotencyKey: "ts-once" });
  assert.deepEqual(await client.createOrder(order, { idempotencyKey: "ts-once" }), first);
});

test("errors", { skip }, async () => {
  await assert.rejects(new assay.Client(url, "assay_test_nobody").getBalance(), assay.AuthenticationError);
  await assert.rejects(client.getOrder("nothing"), (e) => e.code === "order-not-found" && e.requestId !== "");
  const invalid = await client.createOrder({ photos: [] }).catch((e) => e);
  assert.ok(invalid instanceof assay.ValidationError && invalid.errors.some((e) => e.field === "brand_code"));
});

test("audit and Live", { skip }, async () => {
  const events = await all(client.auditEvents({ event_code: "api-key.created", from: "2020-01-01T00:00:00Z" }));
  assert.ok(events.length > 0 && events.every((e) => e.event_code === "api-key.created"));
  assert.equal((await new assay.Client(url, process.env.ASSAY_LIVE_KEY).listOrders()).total, 0);
});

test("additions", { skip }, async () => {
  const me = await client.getMe();
  assert.equal(me.environment, "test");
  const order = await draft({ mock_outcome: "authentic", external_id: "ts-additions" });
  const { category_code, brand_code } = order;
  assert.ok((await client.quote({ category_code, brand_code }, { locale: "ja" })).price > 0);
  const created = await client.createOrder(order);
  const events = await all(client.events());
  assert.ok(events.some((e) => e.body.id === created.id && e.webhook_event === "order-outcome"));
  const found = await client.listOrders({ external_id: "ts-additions", status: "completed", sort: "updated" });
  assert.deepEqual(found.data.map((o) => o.id), [created.id]);
  await assert.rejects(client.cancelOrder(created.id), (e) => e.code === "order-not-cancelable");
  assert.deepEqual(await client.simulateOrder("ts-additions", { state: "processing" }), { id: created.id, status: "processing" });
  assert.equal((await client.simulateOrder(created.id, { state: "fake" })).status, "completed");
  assert.equal((await client.getOrder(created.id)).outcome, "fake");
  await assert.rejects(client.simulateOrder(created.id, { state: "lost" }), (e) => e.errors[0].field === "state");
  const hook = await client.createWebhook({ url: process.env.ASSAY_WEBHOOK_URL + "/more", events: ["order-outcome"] });
  assert.equal((await client.updateWebhook(hook.id, { paused: true })).paused, true);
  assert.notEqual((await client.rotateSecret(hook.id)).signing_secret, hook.signing_secret);
  await client.deleteWebhook(hook.id);
});
