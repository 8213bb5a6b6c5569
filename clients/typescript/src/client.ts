import { APIError, AssayError, isAmbiguous, NotFoundError, PhotoRefusedError, WaitTimeoutError } from "./errors.js";
import { type PhotoFile, type Progress, uploadBody } from "./photos.js";
import { defaultRetryPolicy, retryDelay, type RetryPolicy } from "./retry.js";
import { type Call, type ResponseInfo, Transport } from "./transport.js";
import type * as t from "./types.js";

export type Locale = "en" | "ja";

export interface ClientOptions {
  /** Replaces the runtime's fetch. */
  fetch?: typeof fetch;
  /** Milliseconds for one attempt, its upload included; one minute by default. */
  timeout?: number;
  retry?: Partial<RetryPolicy>;
  userAgent?: string;
  /** Sees every answer of every attempt: the place for metrics and for watching the rate limit. */
  onResponse?: (info: ResponseInfo) => void;
  /** Replaces the waiting between attempts and polls. It is meant for tests. */
  sleep?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

/** Options of every call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface PageOptions extends CallOptions {
  page?: number | undefined;
  limit?: number | undefined;
}

export interface BrandFilter extends PageOptions {
  category_code?: string | undefined;
  search?: string | undefined;
  locale?: Locale | undefined;
}

export interface ModelFilter extends PageOptions {
  brand_code: string;
  category_code: string;
  search?: string | undefined;
  locale?: Locale | undefined;
}

export interface OrderFilter extends PageOptions {
  status?: t.OrderStatus | undefined;
  outcome?: Exclude<t.Outcome, null> | undefined;
  external_id?: string | undefined;
  created_since?: string | undefined;
  updated_since?: string | undefined;
  sort?: "updated" | undefined;
}

export interface AuditFilter extends PageOptions {
  from?: string | undefined;
  to?: string | undefined;
  event_code?: t.AuditEventCode | undefined;
  actor_type?: t.AuditActorType | undefined;
  actor_id?: string | undefined;
  source?: t.AuditSource | undefined;
  target_type?: t.AuditTargetType | undefined;
  target_id?: string | undefined;
}

export interface WaitOptions extends CallOptions {
  /** Milliseconds until WaitTimeoutError; without it the wait takes as long as the order does. */
  timeout?: number | undefined;
  /** First wait between two reads, 5 s by default; waits grow by half up to maxInterval, one minute by default. */
  interval?: number | undefined;
  maxInterval?: number | undefined;
  locale?: Locale | undefined;
}

/** Calls the integration API with one API key. Its methods are named as the operations of the OpenAPI document. */
export class Client {
  readonly #transport: Transport;
  readonly #retry: RetryPolicy;
  readonly #sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;

  /** baseURL includes /v1/integrations. No request is made. */
  constructor(baseURL: string, apiKey: string, options: ClientOptions = {}) {
    this.#transport = new Transport({
      baseURL,
      apiKey,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      timeout: options.timeout ?? 60_000,
      userAgent: options.userAgent ?? "assay-typescript-client/1",
      onResponse: options.onResponse,
    });
    this.#retry = { ...defaultRetryPolicy, ...options.retry };
    this.#sleep = options.sleep ?? sleep;
  }

  // Catalog

  listCategories(options: CallOptions & { brand_code?: string; locale?: Locale } = {}): Promise<t.CategoryList> {
    return this.#get("/catalog/categories", options);
  }

  listBrands(filter: BrandFilter = {}): Promise<t.BrandPage> {
    return this.#get("/catalog/brands", filter);
  }

  /** All brands that listBrands would return, page by page. */
  brands(filter: BrandFilter = {}): AsyncGenerator<t.Brand> {
    return pages((page) => this.listBrands({ limit: 100, ...filter, page }), filter.page);
  }

  listModels(filter: ModelFilter): Promise<t.ModelPage> {
    return this.#get("/catalog/models", filter);
  }

  models(filter: ModelFilter): AsyncGenerator<t.Model> {
    return pages((page) => this.listModels({ limit: 100, ...filter, page }), filter.page);
  }

  listAnswerTimes(
    options: CallOptions & { brand_code: string; category_code: string; locale?: Locale },
  ): Promise<t.AnswerTimeList> {
    return this.#get("/catalog/answer_times", options);
  }

  listPhotoIndexes(
    options: CallOptions & { category_code: string; brand_code?: string; model_code?: string; locale?: Locale },
  ): Promise<t.PhotoIndexList> {
    return this.#get("/catalog/photo_indexes", options);
  }

  // Photos

  /**
   * Uploads 1 to 10 files in one request. It is sent once: an upload is not idempotent. Each file has its own result;
   * when all were refused, the error of the first is thrown.
   */
  async uploadPhotos(
    photos: PhotoFile[],
    options: CallOptions & { onProgress?: (progress: Progress) => void } = {},
  ): Promise<t.PhotoUploadResponse> {
    const { body, contentType } = uploadBody(photos, options.onProgress);
    const call: Call = { method: "POST", path: "/photos", body, signal: options.signal };
    if (contentType) call.headers = { "Content-Type": contentType };
    return (await this.#transport.send(call, 1)) as t.PhotoUploadResponse;
  }

  /** Uploads one file and returns its managed URL. */
  async uploadPhoto(
    photo: PhotoFile,
    options: CallOptions & { onProgress?: (progress: Progress) => void } = {},
  ): Promise<string> {
    const [result] = (await this.uploadPhotos([photo], options)).data;
    if (result?.status !== "uploaded") throw new PhotoRefusedError(result as t.FailedPhoto);
    return result.url;
  }

  // Orders

  getBalance(options: CallOptions = {}): Promise<t.Balance> {
    return this.#get("/balance", options);
  }

  /**
   * Creates an order. With an idempotency key it is repeated after a failure that may pass, and never charged twice; a
   * new key is made for each call unless you give your own, which also protects across restarts of your program. With
   * null it is sent once: when isAmbiguous(error), look for the order with findOrder first.
   */
  async createOrder(
    order: t.CreateOrder,
    options: CallOptions & { idempotencyKey?: string | null } = {},
  ): Promise<t.CreatedOrder> {
    const { idempotencyKey = crypto.randomUUID() } = options;
    if (idempotencyKey !== null && !/^[\x20-\x7e]{1,255}$/.test(idempotencyKey)) {
      throw new TypeError("an idempotency key has 1 to 255 printable ASCII characters");
    }
    const headers = idempotencyKey === null ? {} : { "Idempotency-Key": idempotencyKey };
    const call = post("/orders", order, options.signal, headers);
    return (await (idempotencyKey === null ? this.#transport.send(call, 1) : this.#repeat(call))) as t.CreatedOrder;
  }

  /** The order with this external_id, or undefined: what to ask before a creation is sent again. */
  async findOrder(externalId: string, options: CallOptions = {}): Promise<t.OrderDetail | undefined> {
    return this.getOrder(externalId, options).catch(missing("order-not-found"));
  }

  listOrders(filter: OrderFilter = {}): Promise<t.OrderPage> {
    return this.#get("/orders", filter);
  }

  /**
   * All orders that listOrders would return, page by page. An order that is created meanwhile can move others to the
   * next page: those are returned once.
   *
   * With `sort: "updated"` it goes on by updated_at, not by page numbers: an order that changes meanwhile moves to the
   * end of the list and is returned again there, and the others are all returned, unless more changed in one moment
   * than fit on a page. Without it, orders that leave a status or an outcome meanwhile can hide others.
   */
  orders(filter: OrderFilter = {}): AsyncGenerator<t.OrderSummary> {
    if (filter.sort === "updated") return byUpdate((next) => this.listOrders(next), { limit: 50, ...filter });
    return pages((page) => this.listOrders({ limit: 50, ...filter, page }), filter.page);
  }

  /** Cancels a queued order and refunds it. Sent once: read the order before you send it again. */
  async cancelOrder(id: string, options: CallOptions = {}): Promise<t.CanceledOrder> {
    return (await this.#transport.send(post(`/orders/${segment(id)}/cancel`, {}, options.signal), 1)) as t.CanceledOrder;
  }

  /** Puts a Test order into a state, whatever its state is. Sent once: each success sends the event of the state. */
  async simulateOrder(id: string, to: t.SimulateOrder, options: CallOptions = {}): Promise<t.SimulatedOrder> {
    return (await this.#transport.send(post(`/orders/${segment(id)}/simulate`, to, options.signal), 1)) as t.SimulatedOrder;
  }

  /** What an order would choose and cost now. It creates and charges nothing. */
  async quote(item: t.QuoteRequest, options: CallOptions & { locale?: Locale } = {}): Promise<t.Quote> {
    const path = options.locale ? `/quote?locale=${options.locale}` : "/quote";
    return (await this.#repeat(post(path, item, options.signal))) as t.Quote;
  }

  /** The next events of orders created with this key, oldest first, for replay after an outage. */
  listEvents(options: CallOptions & { after?: string; limit?: number } = {}): Promise<t.EventList> {
    return this.#get("/events", options);
  }

  /** All events after the cursor until there are no more at the moment. Keep the cursor of the last one processed. */
  async *events(options: CallOptions & { after?: string } = {}): AsyncGenerator<t.OrderEvent> {
    for (let after = options.after; ; ) {
      const page = await this.listEvents({ limit: 100, ...options, ...(after === undefined ? {} : { after }) });
      yield* page.data;
      if (page.data.length === 0) return;
      after = page.next_cursor;
    }
  }

  /** The key, its account, limits in force and webhook health. */
  getMe(options: CallOptions = {}): Promise<t.Me> {
    return this.#get("/me", options);
  }

  /** id is the id or the external_id. */
  getOrder(id: string, options: CallOptions & { locale?: Locale | undefined } = {}): Promise<t.OrderDetail> {
    return this.#get(`/orders/${segment(id)}`, options);
  }

  /** Answers a photo request. Sent once: read the order before you submit again. */
  async submitUpdatePhotos(
    id: string,
    answer: t.SubmitUpdatePhotos,
    options: CallOptions = {},
  ): Promise<t.AcceptedUpdatePhotos> {
    const call = post(`/orders/${segment(id)}/update_photos`, answer, options.signal);
    return (await this.#transport.send(call, 1)) as t.AcceptedUpdatePhotos;
  }

  /** Reads the order until there is something to do: completed, error or update-photos. Prefer webhooks for many. */
  async waitForOrder(id: string, options: WaitOptions = {}): Promise<t.OrderDetail> {
    const { timeout = Infinity, maxInterval = 60_000, signal, locale } = options;
    let { interval = 5_000 } = options;
    for (let left = timeout; ; ) {
      const began = performance.now();
      const order = await this.getOrder(id, { signal, locale });
      if (["completed", "error", "update-photos"].includes(order.status)) return order;
      left -= performance.now() - began;
      if (left <= 0) throw new WaitTimeoutError(`order ${order.id} is still ${order.status}`);
      const wait = Math.min(interval, left);
      await this.#sleep(wait, signal);
      left -= wait;
      interval = Math.min(interval * 1.5, maxInterval);
    }
  }

  // Capture links

  /** Keep url of the answer: it is not shown again. */
  async createCaptureLink(link: t.CreateCaptureLink, options: CallOptions = {}): Promise<t.CreatedCaptureLink> {
    return (await this.#transport.send(post("/capture_links", link, options.signal), 1)) as t.CreatedCaptureLink;
  }

  getCaptureLink(id: string, options: CallOptions = {}): Promise<t.CaptureLink> {
    return this.#get(`/capture_links/${segment(id)}`, options);
  }

  /** A link that is not open any more counts as revoked. */
  async revokeCaptureLink(id: string, options: CallOptions = {}): Promise<void> {
    const call: Call = { method: "DELETE", path: `/capture_links/${segment(id)}`, signal: options.signal };
    await this.#repeat(call).catch(missing("not-found"));
  }

  // Audit

  listAuditEvents(filter: AuditFilter = {}): Promise<t.AuditEventPage> {
    return this.#get("/audit/events", filter);
  }

  auditEvents(filter: AuditFilter = {}): AsyncGenerator<t.AuditEvent> {
    return pages((page) => this.listAuditEvents({ limit: 100, ...filter, page }), filter.page);
  }

  // Webhooks

  /** Keep signing_secret of the answer: it is not shown again. */
  async createWebhook(endpoint: t.CreateWebhook, options: CallOptions = {}): Promise<t.CreatedWebhookEndpoint> {
    return (await this.#transport.send(post("/webhooks", endpoint, options.signal), 1)) as t.CreatedWebhookEndpoint;
  }

  listWebhooks(options: CallOptions = {}): Promise<t.WebhookEndpointList> {
    return this.#get("/webhooks", options);
  }

  /** An endpoint that does not exist counts as deleted. */
  async deleteWebhook(id: string, options: CallOptions = {}): Promise<void> {
    const call: Call = { method: "DELETE", path: `/webhooks/${segment(id)}`, signal: options.signal };
    await this.#repeat(call).catch(missing("not-found"));
  }

  /** Pauses an endpoint, or lets it go on. Deliveries of a paused endpoint wait for at most 7 days. */
  async updateWebhook(id: string, change: t.UpdateWebhook, options: CallOptions = {}): Promise<t.WebhookEndpoint> {
    const call = { ...post(`/webhooks/${segment(id)}`, change, options.signal), method: "PATCH" };
    return (await this.#repeat(call)) as t.WebhookEndpoint;
  }

  /**
   * Gives an endpoint a new signing secret; the old one stays valid until previous_valid_until. Sent once: after an error
   * that isAmbiguous, pause the endpoint before you rotate again, or the secret of your receiver ends.
   */
  async rotateSecret(id: string, options: CallOptions = {}): Promise<t.RotatedSecret> {
    const call = post(`/webhooks/${segment(id)}/rotate_secret`, {}, options.signal);
    return (await this.#transport.send(call, 1)) as t.RotatedSecret;
  }

  // Sending

  async #get<T>(path: string, { signal, ...query }: CallOptions & object): Promise<T> {
    const given = Object.entries(query as Record<string, string | number | undefined>);
    const text = new URLSearchParams(given.flatMap(([k, v]) => (v === undefined ? [] : [[k, String(v)]]))).toString();
    return (await this.#repeat({ method: "GET", path: text ? `${path}?${text}` : path, signal })) as T;
  }

  async #repeat(call: Call): Promise<unknown> {
    let unsettled = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#transport.send(call, attempt);
      } catch (error) {
        const delay = retryDelay(this.#retry, attempt, error, Math.random());
        if (delay === undefined) {
          if (error instanceof APIError) error.unsettled = unsettled;
          throw error;
        }
        unsettled ||= call.method !== "GET" && isAmbiguous(error);
        await this.#sleep(delay, call.signal);
      }
    }
  }
}

function post(path: string, body: object, signal?: AbortSignal, headers: Record<string, string> = {}): Call {
  const json = { "Content-Type": "application/json" };
  return { method: "POST", path, body: JSON.stringify(body), headers: { ...json, ...headers }, signal };
}

/** Reads pages until the last. An item that moved from the page before is returned once. */
async function* pages<T extends object>(
  read: (page: number) => Promise<{ data: T[]; limit: number; total: number }>,
  first = 1,
): AsyncGenerator<T> {
  let seen = new Set<string>();
  for (let page = first; ; page++) {
    const { data, limit, total } = await read(page);
    for (const item of data) {
      if (!seen.has(idOf(item))) yield item;
    }
    if (data.length === 0 || page * limit >= total) return;
    seen = new Set(data.map(idOf).filter(Boolean));
  }
}

/**
 * Reads orders in the sequence of their changes. One that changes leaves its place for the end, and those behind it move
 * to earlier pages: the next page is asked for by the time of the last order. Only where a page has a single moment is
 * it taken by number.
 */
async function* byUpdate(
  read: (filter: OrderFilter) => Promise<t.OrderPage>,
  filter: OrderFilter,
): AsyncGenerator<t.OrderSummary> {
  let page = filter.page ?? 1;
  let since = filter.updated_since;
  let last: string | undefined;
  const seen = new Set<string>(); // ids of the orders of that moment
  for (;;) {
    const { data, limit, total } = await read({ ...filter, page, updated_since: since });
    for (const order of data) {
      if (order.updated_at && order.updated_at !== last) {
        last = order.updated_at;
        seen.clear();
      }
      if (seen.has(order.id)) continue;
      seen.add(order.id);
      yield order;
    }
    if (data.length === 0 || page * limit >= total) return;
    if (last !== since) {
      since = last;
      page = 1;
    } else {
      page++;
    }
  }
}

function idOf(item: object): string {
  return "id" in item ? String(item.id) : "";
}

/** Takes a 404 of the service for an answer. One with another code says nothing: it is a proxy's, or no route's. */
function missing(code: t.ErrorCode): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof NotFoundError && error.code === code) return undefined;
    throw error;
  };
}

/** Escapes an identifier for its place in a path; dot segments too, which would be taken for steps. */
function segment(id: string): string {
  if (id === "") throw new TypeError("the identifier is empty");
  // URL resolves even escaped dot segments, so no request can name such an external_id in a path.
  if (id === "." || id === "..") throw new AssayError(`an order cannot be read by the external_id ${id}: use its id`);
  return encodeURIComponent(id);
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(done, milliseconds);
    function done() {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted() {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
