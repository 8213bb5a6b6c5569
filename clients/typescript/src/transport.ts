import { apiError, AssayError, TransportError, UnexpectedAnswerError } from "./errors.js";
import { parseRetryAfter } from "./retry.js";

/** One answer of one attempt, for a response hook. */
export interface ResponseInfo {
  method: string;
  path: string;
  attempt: number;
  status: number;
  headers: Headers;
}

/** A request that can be sent, once or several times. */
export interface Call {
  method: string;
  path: string;
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  baseURL: string;
  apiKey: string;
  fetch: typeof fetch;
  timeout: number;
  userAgent: string;
  onResponse: ((info: ResponseInfo) => void) | undefined;
}

/** Sends requests with the key and turns failures into errors of this package. */
export class Transport {
  readonly baseURL: string;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    const url = new URL(options.baseURL);
    if (!/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
      throw new TypeError("the base URL must be http or https, without credentials, query and fragment");
    }
    if (!/^[\x21-\x7e]+$/.test(options.apiKey)) {
      throw new TypeError("the API key is empty or has characters that no key has");
    }
    this.baseURL = url.href.replace(/\/+$/, "");
    this.#options = options;
  }

  /** Returns the decoded JSON of a success, or undefined for 204. */
  async send(call: Call, attempt: number): Promise<unknown> {
    const where = `${call.method} ${call.path}`;
    const timeout = AbortSignal.timeout(this.#options.timeout);
    const signal = call.signal ? anySignal(call.signal, timeout) : timeout;
    const failed = (cause: unknown): never => {
      if (call.signal?.aborted) throw call.signal.reason;
      throw cause instanceof AssayError ? cause : new TransportError(`${where}: ${reason(cause)}`, { cause });
    };
    const request = async () => this.#options.fetch(this.baseURL + call.path, this.#init(call, signal));
    const response = await request().catch(failed);
    const { status, headers } = response;
    this.#options.onResponse?.({ method: call.method, path: call.path, attempt, status, headers });
    const text = await response.text().catch(failed);
    if (response.ok) return decode(where, status, text);
    throw apiError({ ...envelope(status, text, this.baseURL), ...headersOf(response) });
  }

  #init(call: Call, signal: AbortSignal): RequestInit {
    const headers: Record<string, string> = {
      Authorization: `Bearer ${this.#options.apiKey}`,
      Accept: "application/json",
      "User-Agent": this.#options.userAgent,
      ...call.headers,
    };
    // A redirected POST would become a GET, and its answer would be taken for that of the POST.
    const init: RequestInit & { duplex?: "half" } = { method: call.method, headers, signal, redirect: "manual" };
    if (call.body !== undefined) init.body = call.body;
    if (call.body instanceof ReadableStream) init.duplex = "half"; // fetch asks for it with a stream
    return init;
  }
}

function decode(where: string, status: number, text: string): unknown {
  if (status === 204) return undefined;
  const value = parse(text);
  if (value === undefined) throw new UnexpectedAnswerError(`${where}: the answer is not a JSON object`, status);
  return value;
}

function envelope(status: number, text: string, baseURL: string) {
  const value = parse(text) ?? {};
  const { code, message, details, request_id } = value;
  const question = baseURL.endsWith("/v1/integrations") ? "" : "; does the base URL end in /v1/integrations?";
  return {
    status,
    code: typeof code === "string" ? code : `http-${status}`,
    message: typeof message === "string" ? message : `the answer has no error envelope${question}`,
    details: (typeof details === "object" && details !== null ? details : {}) as Record<string, unknown>,
    requestId: typeof request_id === "string" ? request_id : "",
  };
}

function headersOf(response: Response): { requestId?: string; retryAfter: number | undefined } {
  const id = response.headers.get("X-Request-Id");
  const retryAfter = parseRetryAfter(response.headers.get("Retry-After"), Date.now());
  return id ? { requestId: id, retryAfter } : { retryAfter };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? cause.cause.message : cause.message;
}

/** AbortSignal.any, which runtimes of 2023 lack. */
function anySignal(...signals: AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true, signal: controller.signal });
  }
  return controller.signal;
}
