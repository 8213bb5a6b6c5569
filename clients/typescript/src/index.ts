export * from "./client.js";
export * from "./delivery_log.js";
export * from "./errors.js";
export type { PhotoFile, Progress } from "./photos.js";
export { defaultRetryPolicy, type RetryPolicy } from "./retry.js";
export type { ResponseInfo } from "./transport.js";
export type * from "./types.js";
export * from "./webhook.js";
