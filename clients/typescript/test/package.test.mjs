// What the package says of itself.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const text = (path) => readFile(new URL(`../${path}`, import.meta.url), "utf8");

// Node 18 has neither the global crypto, which creations and receivers use, nor openAsBlob.
test("the oldest Node is the same everywhere", async () => {
  const oldest = JSON.parse(await text("package.json")).engines.node;
  assert.equal(oldest, ">=20");
  assert.equal(JSON.parse(await text("package-lock.json")).packages[""].engines.node, oldest);
  assert.match(await text("README.md"), /\bNode 20 or later\b/);
  assert.match(await text("../../docs/guides/README.md"), /\bNode 20 or later\b/);
  assert.match(await text("../../docs/guides/ja/README.md"), /Node 20 以降/);
});
