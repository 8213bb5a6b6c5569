import { type DeliveryLog, MemoryDeliveryLog } from "./delivery_log.js";
import { AssayError } from "./errors.js";
import type { OrderOutcomePayload, UpdatePhotosPayload } from "./types.js";

export type Delivery = OrderOutcomePayload | UpdatePhotosPayload;

/** A webhook request that is not a valid delivery. status is what the sender should get. */
export class WebhookError extends AssayError {
  override name = "WebhookError";
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Headers of a request: those of fetch, or an object as Node gives it. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

export interface VerifyOptions {
  /** Milliseconds that the timestamp may be from now; five minutes by default. */
  tolerance?: number;
  now?: () => number;
}

const encoder = new TextEncoder();

/** Returns the X-LG-Signature of a delivery, as the service makes it. Tests of a receiver can use it. */
export async function signWebhook(secret: string, timestamp: number | string, body: Uint8Array): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const head = encoder.encode(`${timestamp}.`);
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, message));
  return "v1=" + Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Throws WebhookError unless the body was signed with one of the secrets within the tolerance. body is the request body
 * exactly as received: verify before parsing. While a secret is rotated, a delivery has two signatures; either is
 * enough.
 */
export async function verifyWebhook(
  secrets: string | readonly string[],
  headers: WebhookHeaders,
  body: Uint8Array,
  options: VerifyOptions = {},
): Promise<void> {
  const known = typeof secrets === "string" ? [secrets] : secrets;
  if (known.length === 0 || known.some((s) => !s)) throw new WebhookError("the receiver has no signing secret", 500);
  const timestamp = header(headers, "x-lg-timestamp") ?? "";
  const given = ["x-lg-signature", "x-lg-signature-previous"].flatMap((name) => header(headers, name) ?? []);
  if (!/^\d{1,12}$/.test(timestamp) || given.length === 0) {
    throw new WebhookError("the delivery has no timestamp or no signature", 401);
  }
  let matches = false;
  for (const secret of known) {
    const expected = await signWebhook(secret, timestamp, body);
    for (const signature of given) matches = equal(expected, signature) || matches;
  }
  if (!matches) throw new WebhookError("the signature does not match", 401);
  const age = Math.abs((options.now ?? Date.now)() - Number(timestamp) * 1000);
  if (age > (options.tolerance ?? 300_000)) throw new WebhookError("the timestamp is too far from now", 401);
}

/** Decodes a delivery whose sender is verified. */
export function decodeWebhook(body: Uint8Array): Delivery {
  let value: Partial<Delivery> | null;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as Partial<Delivery> | null;
  } catch {
    throw new WebhookError("the body is not JSON", 400);
  }
  if (!value?.webhook_event || !value.delivery_id || !value.id) {
    throw new WebhookError("the body is not a delivery", 400);
  }
  return value as Delivery;
}

export interface ReceiverOptions extends VerifyOptions {
  log?: DeliveryLog;
  /**
   * Milliseconds for which a delivery that handle works on is not handed over again; two minutes by default. Nothing
   * should take longer: a later attempt of the service would get another handle.
   */
  lease?: number;
  /** The longest body that is accepted; 1 MiB by default. */
  maxBodyBytes?: number;
  /** Hears of everything that is answered with 500: what handle or the log has thrown. console.error by default. */
  onError?: (error: unknown, delivery?: Delivery) => unknown;
}

/**
 * Verifies deliveries and hands each to handle once. It answers 204 when handle has returned, also for later attempts;
 * 503 to an attempt that comes while handle is still at it, and 500 when handle throws, so that the service delivers
 * again. Whatever is sent to it, it does not throw.
 */
export class WebhookReceiver {
  readonly maxBodyBytes: number;
  readonly #log: DeliveryLog;

  constructor(
    private readonly secrets: string | readonly string[],
    private readonly handle: (delivery: Delivery) => unknown,
    private readonly options: ReceiverOptions = {},
  ) {
    this.#log = options.log ?? new MemoryDeliveryLog();
    this.maxBodyBytes = options.maxBodyBytes ?? 1 << 20;
  }

  /** Returns the HTTP status to answer with. */
  async receive(method: string, headers: WebhookHeaders, body: Uint8Array): Promise<number> {
    if (method !== "POST") return 405;
    if (body.length > this.maxBodyBytes) return 413;
    let delivery: Delivery | undefined;
    try {
      await verifyWebhook(this.secrets, headers, body, this.options);
      delivery = decodeWebhook(body);
      return await this.#process(delivery);
    } catch (error) {
      const status = error instanceof WebhookError && !delivery ? error.status : 500;
      if (status === 500) this.#report(error, delivery);
      return status;
    }
  }

  async #process(delivery: Delivery): Promise<number> {
    const id = delivery.delivery_id;
    const state = await this.#log.begin(id, this.options.lease ?? 120_000);
    if (state === "done") return 204;
    if (state === "running") return 503;
    if (state !== "new") throw new TypeError(`begin of the delivery log returned ${state}`);
    try {
      await this.handle(delivery);
      await this.#log.done(id);
      return 204;
    } catch (error) {
      this.#report(error, delivery);
      await this.#log.undo(id);
      return 500;
    }
  }

  /** Handles a fetch request, as edge runtimes, Deno, Bun and Hono pass it. */
  fetch = async (request: Request): Promise<Response> => {
    return new Response(null, { status: await this.#receiveFetch(request) });
  };

  async #receiveFetch(request: Request): Promise<number> {
    if (request.bodyUsed) {
      this.#report(new TypeError("the raw body is gone: pass the request on before its body is read"));
      return 500;
    }
    const body = await readAll(request.body, this.maxBodyBytes).catch(() => undefined);
    return body ? this.receive(request.method, request.headers, body) : 400;
  }

  /** Handles a request of Node's http server or of Express. Mount it before any body parser. */
  express = async (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void): Promise<void> => {
    const parsed = request.body;
    let status: number;
    // A body parser that went before has kept the bytes (express.raw) or lost them (express.json).
    if (parsed !== undefined && !(parsed instanceof Uint8Array)) {
      const error = new TypeError("the raw body is gone: mount the receiver before express.json()");
      if (next) return next(error);
      this.#report(error);
      status = 500;
    } else {
      // A sender that goes away in the middle of the body gets no answer, but whoever stands between may.
      const body = parsed ?? (await readAll(request, this.maxBodyBytes).catch(() => undefined));
      status = body ? await this.receive(request.method ?? "", request.headers, body) : 400;
    }
    response.statusCode = status;
    response.end();
  };

  /** A Fastify plugin: app.register(receiver.fastify, { prefix: "/hooks/assay" }). */
  fastify = async (app: FastifyApp): Promise<void> => {
    app.removeAllContentTypeParsers();
    const raw = { parseAs: "buffer" as const, bodyLimit: this.maxBodyBytes };
    app.addContentTypeParser("*", raw, (_request, body, done) => done(null, body));
    app.post("/", async (request, reply) => {
      reply.code(await this.receive("POST", request.headers, request.body ?? new Uint8Array())).send();
      return reply;
    });
  };

  /** Tells onError, which may be asynchronous and may fail; nobody waits for it. */
  #report(error: unknown, delivery?: Delivery): void {
    const { onError } = this.options;
    const log = () => console.error(`assay: webhook delivery ${delivery?.delivery_id ?? "(unread)"} failed:`, error);
    if (!onError) return log();
    const tell = async () => onError(error, delivery);
    tell().catch((failure) => {
      console.error("assay: onError of the webhook receiver failed:", failure);
      log();
    });
  }
}

/** What the receiver uses of Node's http.IncomingMessage. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  method?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  body?: unknown;
}

/** What the receiver uses of Node's http.ServerResponse. */
export interface NodeResponse {
  statusCode: number;
  end(): unknown;
}

/** What the receiver uses of a Fastify instance. */
export interface FastifyApp {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    options: { parseAs: "buffer"; bodyLimit: number },
    parser: (request: unknown, body: Uint8Array, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  post(
    path: string,
    handler: (
      request: { headers: Record<string, string | string[] | undefined>; body?: Uint8Array },
      reply: { code(status: number): { send(): unknown } },
    ) => Promise<unknown>,
  ): unknown;
}

/** Reads a body up to one byte beyond the limit, so that a longer one is noticed. */
async function readAll(source: AsyncIterable<Uint8Array> | null, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of source ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function header(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return Array.isArray(value) ? value[0] : value;
  }
  return undefined;
}

/** Compares in a time that does not depend on where the texts differ. */
function equal(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ (b.charCodeAt(i) || 0);
  return difference === 0;
}
