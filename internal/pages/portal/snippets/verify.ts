import { createHmac, timingSafeEqual } from "node:crypto";

// Whether a delivery was signed with the secret in the last five minutes. timestamp and signature are the headers
// X-LG-Timestamp and X-LG-Signature; body is the raw body, before it is parsed.
export function verify(secret: string, timestamp: string, signature: string, body: Buffer, now: number = Date.now() / 1000): boolean {
  if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > 300) return false;
  const expected = "v1=" + createHmac("sha256", secret).update(timestamp + ".").update(body).digest("hex");
  return expected.length === signature.length && timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
}
