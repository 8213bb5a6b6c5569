import { createHmac, timingSafeEqual } from "node:crypto";

// Whether a delivery was signed with the secret in the last five minutes. timestamp and signature are the headers
// X-LG-Timestamp and X-LG-Signature; body is the raw body, before it is parsed.
export function verify(secret: string, timestamp: string | undefined, signature: string | undefined, body: Buffer, now: number = Date.now() / 1000): boolean {
  if (!secret) return false; // it is not set, and anybody can sign with an empty one
  if (!/^\d{1,12}$/.test(timestamp ?? "") || Math.abs(now - Number(timestamp)) > 300) return false;
  const expected = Buffer.from("v1=" + createHmac("sha256", secret).update(timestamp + ".").update(body).digest("hex"));
  const given = Buffer.from(signature ?? "");
  return expected.byteLength === given.byteLength && timingSafeEqual(expected, given);
}
