// The whole flow of an order with types that openapi-typescript has made.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { paths } from "./assay";

const client = createClient<paths>({
  baseUrl: process.env.ASSAY_BASE!,
  headers: { Authorization: `Bearer ${process.env.ASSAY_KEY}` },
});

function need<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new Error(`no ${what}`);
  return value;
}

async function main(): Promise<void> {
  need((await client.GET("/me")).data, "key");
  const form = new FormData();
  form.append("photos", new Blob([readFileSync(process.env.ASSAY_PHOTO!)]), "bag.png");
  const uploaded = await client.POST("/photos", { body: form as never, bodySerializer: (b: unknown) => b as FormData });
  const photo = need(uploaded.data, "upload").data[0]!;
  if (photo.status !== "uploaded") throw new Error("not uploaded");
  const created = await client.POST("/orders", {
    body: {
      brand_code: "northwind", category_code: "bags", mock_outcome: "update-photos",
      photos: [{ index_code: "overall", url: photo.url }],
    },
  });
  const id = need(created.data, "order").id;
  const order = need((await client.GET("/orders/{id}", { params: { path: { id } } })).data, "detail");
  await client.POST("/orders/{id}/update_photos", {
    params: { path: { id } },
    body: { photos: need(order.photos_to_resubmit, "request").map((p) => ({ index_code: p.index_code, url: photo.url })) },
  });
  const done = need((await client.GET("/orders/{id}", { params: { path: { id } } })).data, "detail");
  const events = need((await client.GET("/events")).data, "events");
  if (events.data.length !== 2) throw new Error(`${events.data.length} events`);
  const missing = await client.GET("/orders/{id}", { params: { path: { id: "none" } } });
  console.log(done.status, done.outcome, need(missing.error, "error").code);
}

main().catch((e) => { console.error(e); process.exit(1); });
