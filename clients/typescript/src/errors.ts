import type { ErrorCode, FailedPhoto, Problem } from "./types.js";

/** Base of all errors of this package. */
export class AssayError extends Error {
  override name = "AssayError";
}

/** The request could not be sent, or no complete answer came back. */
export class TransportError extends AssayError {
  override name = "TransportError";
}

/** The answer is not one of the service, for example the page of a proxy. */
export class UnexpectedAnswerError extends AssayError {
  override name = "UnexpectedAnswerError";
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** What the service says about a refusal. */
export interface Refusal {
  status: number;
  code: ErrorCode;
  message: string;
  details: Record<string, unknown>;
  requestId: string;
  /** Milliseconds that the service asks to wait, if it does. */
  retryAfter: number | undefined;
}

/** A refusal by the service. Branch on status and code, never on the message. */
export class APIError extends AssayError implements Refusal {
  override name = "APIError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;
  readonly requestId: string;
  readonly retryAfter: number | undefined;
  /** Whether an earlier attempt of the same write has an unknown result. This is the answer to the last one. */
  unsettled = false;

  constructor(refusal: Refusal) {
    super(`${refusal.status} ${refusal.code}: ${refusal.message} (request ${refusal.requestId || "unknown"})`);
    this.status = refusal.status;
    this.code = refusal.code;
    this.details = refusal.details;
    this.requestId = refusal.requestId;
    this.retryAfter = refusal.retryAfter;
  }
}

/** 400 validation-error: errors lists every broken rule with its field. */
export class ValidationError extends APIError {
  override name = "ValidationError";
  get errors(): Problem[] {
    return (this.details["errors"] as Problem[] | undefined) ?? [];
  }
}

/** 401: the key is missing, unknown, expired or revoked. */
export class AuthenticationError extends APIError {
  override name = "AuthenticationError";
}

/** 402: the account cannot fund the order. */
export class NotEnoughCreditsError extends APIError {
  override name = "NotEnoughCreditsError";
}

/** 403: the key lacks the scope, or may not be used from this address. */
export class PermissionDeniedError extends APIError {
  override name = "PermissionDeniedError";
}

/**
 * 404: the resource does not exist in the key's account and environment. With the code http-404 it is not the service
 * that says so: a proxy, or the base URL is wrong.
 */
export class NotFoundError extends APIError {
  override name = "NotFoundError";
}

/** 409: the request conflicts with the present state. */
export class ConflictError extends APIError {
  override name = "ConflictError";
}

/** 429: retryAfter says when to go on. */
export class RateLimitError extends APIError {
  override name = "RateLimitError";
}

/** 5xx: the service could not do it now. */
export class ServerError extends APIError {
  override name = "ServerError";
}

/** A file of an upload was not stored; photo says why. */
export class PhotoRefusedError extends AssayError {
  override name = "PhotoRefusedError";
  constructor(readonly photo: FailedPhoto) {
    super(`${photo.original_name}: ${photo.error.code}: ${photo.error.message}`);
  }
}

/** The order had nothing new within the time that the caller gave. */
export class WaitTimeoutError extends AssayError {
  override name = "WaitTimeoutError";
}

const byStatus: Record<number, new (refusal: Refusal) => APIError> = {
  401: AuthenticationError,
  402: NotEnoughCreditsError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  429: RateLimitError,
};

/** Returns the error of a refusal, as the class of its code or status. */
export function apiError(refusal: Refusal): APIError {
  if (refusal.code === "validation-error") return new ValidationError(refusal);
  const kind = byStatus[refusal.status] ?? (refusal.status >= 500 ? ServerError : APIError);
  return new kind(refusal);
}

/** Reports whether the service may have done what was asked although the call failed: read before you send it again. */
export function isAmbiguous(error: unknown): boolean {
  if (error instanceof APIError) {
    return error.unsettled || error.status === 408 || error.status >= 500 || error.code === "request-in-progress";
  }
  return error instanceof TransportError || error instanceof UnexpectedAnswerError;
}
