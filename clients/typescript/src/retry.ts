import { APIError, TransportError } from "./errors.js";

/**
 * Waits between attempts, in milliseconds. Only reads, deletions, quotes, changes of a webhook endpoint and creations
 * with an idempotency key are repeated, after 429, 5xx, 409 request-in-progress and transport failures.
 */
export interface RetryPolicy {
  /** Attempts in all, the first one included. */
  maxAttempts: number;
  /** Backoff after the first failure; it doubles with each further one, and half of it is random. */
  baseDelay: number;
  maxDelay: number;
  /** The longest Retry-After that is waited for; a longer one is thrown at once. */
  maxRetryAfter: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 4,
  baseDelay: 500,
  maxDelay: 10_000,
  maxRetryAfter: 90_000,
};

/** Returns the wait after the given failed attempt (1 for the first), or undefined when it is the last. */
export function retryDelay(policy: RetryPolicy, attempt: number, error: unknown, random: number): number | undefined {
  if (attempt >= policy.maxAttempts || !worthRepeating(error)) return undefined;
  const backoff = Math.min(policy.baseDelay * 2 ** (attempt - 1), policy.maxDelay);
  const delay = backoff / 2 + (random * backoff) / 2;
  const asked = error instanceof APIError ? error.retryAfter : undefined;
  if (asked === undefined) return delay;
  return asked > policy.maxRetryAfter ? undefined : Math.max(delay, asked);
}

function worthRepeating(error: unknown): boolean {
  if (error instanceof APIError) {
    return error.status === 429 || error.status >= 500 || error.code === "request-in-progress";
  }
  return error instanceof TransportError;
}

/** Reads a Retry-After header, seconds or a date, as milliseconds. */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
