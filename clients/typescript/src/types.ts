// Code generated from api/openapi.yaml by go generate ./clients/...; DO NOT EDIT.

/** A UUID in lower case. */
export type Id = string;

/** RFC 3339 in UTC with milliseconds. */
export type Timestamp = string;

/** RFC 3339 in UTC with milliseconds, or null. */
export type TimestampOrNull = string | null;

/** Opaque catalog code. */
export type Code = string;

/** A catalog code, exactly as the catalog returned it. */
export type CodeInput = string;

/** Reference for support: `AS-` and 8 characters without I, L, O and U, the last of which catches typing errors. This service always gives one. */
export type OrderNumber = string | null;

/** Where the order stands. `completed` and `error` are final. */
export type OrderStatus = "queued" | "processing" | "update-photos" | "completed" | "error";

/** The verdict; null until the order is completed. */
export type Outcome = "authentic" | "fake" | "unable-to-verify" | "canceled" | null;

/** Kind of event. */
export type WebhookEvent = "order-outcome" | "update-photos";

export interface Category {
  /** Code to send as `category_code`. */
  code: Code;
  /** English name. */
  name: string;
  /** Name in the requested language, else English. */
  name_locale: string;
  /** An icon, if there is one. */
  icon_url: string | null;
}

export interface CategoryList {
  /** The categories. */
  data: Category[];
}

export interface Brand {
  /** Code to send as `brand_code`. */
  code: Code;
  /** English name. */
  name: string;
  /** Name in the requested language, else English. */
  name_locale: string;
  /** Categories that the brand supports. */
  categories: Category[];
}

export interface BrandPage {
  /** The brands of this page. */
  data: Brand[];
  /** This page. */
  page: number;
  /** Entries on a page. */
  limit: number;
  /** Matches on all pages. */
  total: number;
}

export interface Model {
  /** Code to send as `model_code`. */
  code: Code;
  /** English name. */
  name: string;
  /** Name in the requested language, else English. */
  name_locale: string;
  /** An image of the model, if there is one. */
  image_url: string | null;
}

export interface ModelPage {
  /** The models of this page. */
  data: Model[];
  /** This page. */
  page: number;
  /** Entries on a page. */
  limit: number;
  /** Matches on all pages. */
  total: number;
}

export interface AnswerTime {
  /** Minutes; the value to send as `answer_time`. */
  code: number;
  /** English name. */
  name: string;
  /** Name in the requested language, else English. */
  name_locale: string;
  /** Credits that an order of your account costs in this context. A whole number. */
  price: number;
  /** The suggested option; at most one is. */
  default: boolean;
  /** Whether a new order can use it now. */
  available: boolean;
  /** When it becomes available; null when it is available now or nothing is known. */
  next_available_at: TimestampOrNull;
}

export interface AnswerTimeList {
  /** The answer times. */
  data: AnswerTime[];
}

export interface PhotoIndex {
  /** Code to send as `index_code`. */
  code: Code;
  /** English name. */
  name: string;
  /** Name in the requested language, else English. */
  name_locale: string;
  /** Whether a new order needs at least one photo of it. */
  required: boolean;
  /** Most photos of it in a new order. */
  photo_limit: number;
  /** An icon, if there is one. */
  icon_url: string | null;
  /** Example images; may be empty. */
  example_urls: string[];
}

export interface PhotoIndexList {
  /** The photo indexes. */
  data: PhotoIndex[];
}

export interface PhotoUploadResponse {
  /** One result for each file, in the order of the parts. At least one is `uploaded`. */
  data: PhotoUploadResult[];
}

/** What became of one file. */
export type PhotoUploadResult = UploadedPhoto | FailedPhoto;

export interface UploadedPhoto {
  /** The file is stored. */
  status: "uploaded";
  /** Managed URL. Use it unchanged in later requests. It cannot be guessed and needs no key to be read. */
  url: string;
  /** Last element of the filename of the part. */
  original_name: string;
}

export interface FailedPhoto {
  /** The file is not stored. */
  status: "failed";
  /** Last element of the filename of the part. */
  original_name: string;
  error: PhotoError;
}

/** Why the file is not stored. */
export interface PhotoError {
  /** The HTTP status that the file alone would have had. */
  statusCode: 400 | 413;
  /** Stable code of the failure. */
  code: "empty-photo-file" | "INVALID_FILE_TYPE" | "RESOLUTION_TOO_LARGE" | "RESOLUTION_MISSING" | "FILE_TOO_LARGE";
  /** For people; never branch on it. */
  message: string;
  /** `max_bytes` for `FILE_TOO_LARGE`; what was measured and allowed for the other codes. */
  details: Record<string, unknown>;
}

export interface Balance {
  /** Credits left in the environment of the key. */
  availableCredits: number;
}

/** A managed URL from photo upload, unchanged. Other hosts, credentials, query strings and fragments are refused. */
export type ManagedURL = string;

export interface OrderPhoto {
  url: ManagedURL;
  /** Photo index that this photo shows. */
  index_code: CodeInput;
}

export interface CreateOrder {
  /** Brand of the item. */
  brand_code: CodeInput;
  /** Category of the item; the brand must support it. */
  category_code: CodeInput;
  /** Model of the item; it must belong to the brand and the category. */
  model_code?: string | null;
  /** The photos. At least one for every required index, and no more than `photo_limit` for any. */
  photos: OrderPhoto[];
  /** Minutes; the code of an answer time that is available in this context. Omitted, the default option is taken if it is available, else the slowest available one. */
  answer_time?: number | null;
  /** Your own reference. It need not be unique, but is more useful if it is; the order can be read by it. */
  external_id?: string | null;
  /** Test keys must send it and get that state at once. Live keys must not send it. */
  mock_outcome?: "authentic" | "fake" | "unable-to-verify" | "update-photos" | null;
}

export interface CreatedOrder {
  /** Id of the order. */
  id: Id;
  /** Your own reference. */
  external_id: string | null;
  order_number: OrderNumber;
  /** `queued` with a Live key; the simulated state with a Test key. */
  status: "queued" | "update-photos" | "completed";
  /** When the answer is due; null while photos are requested. */
  due_date: TimestampOrNull;
}

export interface OrderSummary {
  /** Id of the order. */
  id: Id;
  /** Your own reference. */
  external_id: string | null;
  order_number: OrderNumber;
  status: OrderStatus;
  outcome: Outcome;
  /** When the answer is due; null while photos are requested. */
  due_date: TimestampOrNull;
  /** When the order last changed. */
  updated_at: TimestampOrNull;
}

export interface OrderPage {
  /** The orders of this page. */
  data: OrderSummary[];
  /** This page. */
  page: number;
  /** Entries on a page. */
  limit: number;
  /** Matches on all pages. */
  total: number;
}

/** What the item is. */
export interface Classification {
  /** Brand of the item. */
  brand_code: string | null;
  /** Category of the item. */
  category_code: string | null;
  /** Model of the item, if it is known. */
  model_code: string | null;
  /** English name of the model. */
  model_name: string | null;
  /** Name of the model in the requested language, else English. */
  model_name_locale: string | null;
}

export interface PhotoToResubmit {
  /** The photo index to send. */
  index_code: Code;
  /** English name of the index. */
  name: string;
  /** Name in the requested language, else English. */
  name_locale: string;
  /** Stable code of what is wrong, for example `missing` or `unclear`. */
  condition: string | null;
  /** The condition in words. */
  condition_locale: string | null;
  /** Stable codes of what the new photo must satisfy. */
  requirements: string[];
  /** The requirements in words, in the same order. */
  requirements_locale: string[];
  /** A remark of the expert. */
  comment: string | null;
  /** A photo that shows what is meant. */
  reference_photo_url: string | null;
  /** Most photos of this index in one submission. */
  max_photos: number;
}

/** State of an order, as the detail and the webhook payloads show it. */
export interface OrderState {
  /** Id of the order. */
  id: Id;
  status: OrderStatus;
  outcome: Outcome;
  /** The verdict in words, in the requested language, else English; null until there is one. */
  outcome_locale: string | null;
  /** Whether the order is past its due date, or was when it ended. Information only. */
  delayed: boolean;
  classification: Classification;
  /** When the answer is due; null while photos are requested. */
  due_date: TimestampOrNull;
  /** When the order last changed. */
  updated_at: TimestampOrNull;
  /** Completed orders only. The public certificate; null where there is none. */
  certificate_url?: string | null;
  /** Outcomes authentic and fake only, and there always; empty where no reason was given. In English. */
  outcome_reasons?: string[];
  /** The same reasons in the same order in the requested language, each falling back to English. */
  outcome_reasons_locale?: string[];
  /** Outcome fake only, where they were named. Codes of the photo indexes that gave the item away. */
  outcome_indexes?: string[];
  /** While photos are requested only. What to send. */
  photos_to_resubmit?: PhotoToResubmit[];
}

export interface OrderDetail extends OrderState {
}

export interface SubmitUpdatePhotos {
  /** Resolves every requested index. */
  photos: SubmitUpdatePhoto[];
  /** A remark for the expert. With Test keys `mock_outcome=VALUE` picks the result. */
  note?: string | null;
}

/** A photo of a requested index, or the statement that there is none. Several photos of one index are several entries. */
export interface SubmitUpdatePhoto {
  /** One of the requested indexes. */
  index_code: CodeInput;
  /** A managed URL from photo upload, unchanged. */
  url?: string | null;
  /** `true` when no photo of this index can be had. `false` counts as not given. */
  is_unable_to_provide?: boolean | null;
}

export interface AcceptedUpdatePhotos {
  /** Id of the order, also when you named it by its external id. */
  id: Id;
  /** Always `accepted`. It is not a status of the order. */
  status: "accepted";
}

/** What happened. */
export type AuditEventCode = "auth.login.succeeded" | "auth.login.failed" | "auth.password.changed" | "auth.email.changed" | "api-key.created" | "api-key.renamed" | "api-key.revoked" | "webhook.created";

/** Kind of actor. */
export type AuditActorType = "user" | "api-key" | "system";

/** Way the action came in. */
export type AuditSource = "portal-web" | "mobile" | "integration-api" | "system";

/** Kind of thing it was done to. */
export type AuditTargetType = "user" | "order" | "api-key" | "webhook" | "webhook-delivery";

export interface AuditEvent {
  /** Id of the event. */
  id: Id;
  /** The account user concerned; for the action of an API key the user who made that key. */
  account_user_id: Id;
  /** When it happened. */
  occurred_at: Timestamp;
  event_code: AuditEventCode;
  actor_type: AuditActorType;
  /** User or API key that did it; null for the system. */
  actor_id: string | null;
  /** Name of the actor; `operator` for the service's operator. */
  actor_name: string;
  source: AuditSource;
  target_type: AuditTargetType;
  /** Thing it was done to, if it has an id. */
  target_id: string | null;
  /** Address it came from. */
  ip_address: string | null;
  /** Program it came from. */
  user_agent: string | null;
  /** What else is known, by event: `api-key.*` name, environment and scopes (old and new name for `api-key.renamed`); `webhook.created` name, events, auth_type */
  metadata: Record<string, unknown>;
}

export interface AuditEventPage {
  /** The events of this page. */
  data: AuditEvent[];
  /** This page. */
  page: number;
  /** Entries on a page. */
  limit: number;
  /** Matches on all pages. */
  total: number;
}

/** An empty object. */
export type NoProperties = Record<string, unknown>;

export interface CanceledOrder {
  /** Id of the order. */
  id: Id;
  /** Always `completed`, with the outcome `canceled`. */
  status: "completed";
}

export interface SimulateOrder {
  /** What the order becomes. */
  state: SimulatedState;
}

/** A status or, for a completed order, its outcome. */
export type SimulatedState = "queued" | "processing" | "update-photos" | "authentic" | "fake" | "unable-to-verify" | "canceled" | "error";

export interface SimulatedOrder {
  /** Id of the order. */
  id: Id;
  /** `completed` for an outcome, otherwise the state. */
  status: OrderStatus;
}

/** Either `category_code` and `brand_code`, perhaps with `model_code` and `external_id`, or `order_id`. */
export interface CreateCaptureLink {
  /** Category of the item. */
  category_code?: string | null;
  /** Brand of the item. */
  brand_code?: string | null;
  /** Model of the item; it must belong to the brand and the category. */
  model_code?: string | null;
  /** Your own reference; you get it back with the link. */
  external_id?: string | null;
  /** Id or external id of an order that waits for photos. */
  order_id?: string | null;
  /** Seconds until the link expires. Default 172800, two days. */
  expires_in?: number | null;
  /** Language of the page at first. Omitted, that of the browser. */
  locale?: "en" | "ja" | null;
  /** An https address that the page leads to at the end. */
  return_url?: string | null;
}

export interface CreatedCaptureLink {
  /** Id of the link. */
  id: string;
  /** Address of the page; told once. */
  url: string;
  /** When the link ends by itself. */
  expires_at: Timestamp;
  /** Always open. */
  status: "open";
}

export interface CaptureLink {
  /** Id of the link. */
  id: string;
  /** How far the link is. */
  status: "open" | "submitted" | "expired" | "revoked";
  /** When the link ends by itself. */
  expires_at: Timestamp;
  /** When the seller sent the photos. */
  submitted_at: TimestampOrNull;
  /** Your own reference, or that of the order. */
  external_id: string | null;
  /** The order whose photo request the link answers. */
  order_id: string | null;
  /** The photos of a submitted link, in the order in which they were taken. */
  photos: CapturedPhoto[];
}

export interface CapturedPhoto {
  /** Photo index. */
  index_code: string;
  /** Managed URL of the photo. */
  url: string;
}

export interface QuoteRequest {
  /** Category of the item. */
  category_code: CodeInput;
  /** Brand of the item. */
  brand_code: CodeInput;
  /** Model of the item; it must belong to the brand and the category. */
  model_code?: string | null;
  /** Answer time in minutes. Omitted, the one that a creation would choose. */
  answer_time?: number | null;
}

export interface Quote {
  /** The answer times of the item, as in the catalog. */
  answer_times: AnswerTime[];
  /** The photo indexes of the item, as in the catalog. */
  photo_indexes: PhotoIndex[];
  /** The answer time that an order would have; null when none is available. */
  answer_time: number | null;
  /** What it would cost; null when no answer time is available. */
  price: number | null;
  /** Whether the balance covers the price. */
  affordable: boolean;
  /** When it would be due. */
  due_date: TimestampOrNull;
}

export interface Me {
  /** Environment of the key. */
  environment: "test" | "live";
  /** Account of the key. */
  account: { id: Id; name: string; locale: "en" | "ja" };
  /** The key itself. */
  key: { id: Id; name: string; scopes: ("orders:write" | "orders:read" | "webhooks:manage" | "audit:read")[]; created_at: Timestamp; expires_at: TimestampOrNull };
  /** The limits in force, one for each category. */
  limits: RateLimit[];
  /** The webhook endpoints of the key. */
  webhooks: { endpoints: number; failing: number };
}

export interface RateLimit {
  /** Category of operations. */
  category: "catalog" | "read" | "create" | "update" | "upload" | "webhook";
  /** Requests in a window. */
  limit: number;
  /** Requests left in the current window. */
  remaining: number;
  /** Length of a window. */
  window_seconds: 60;
}

export interface EventList {
  /** The events, oldest first. */
  data: OrderEvent[];
  /** The cursor of the last event, or `after` where nothing is new. Send it as `after`. */
  next_cursor: string;
}

export interface OrderEvent {
  /** Position of the event. Opaque; send it as `after`. */
  cursor: string;
  webhook_event: WebhookEvent;
  /** The deliveries of this event to endpoints, if there are any. */
  delivery_ids: Id[];
  /** When the event happened. */
  created_at: Timestamp;
  body: EventBody;
}

/** The payload of the deliveries, without `delivery_id`. */
export interface EventBody extends EventFields, OrderState {
}

export interface UpdateWebhook {
  /** Whether deliveries wait. */
  paused: boolean;
}

export interface RotatedSecret {
  /** Id of the endpoint. */
  id: Id;
  /** Key of the signatures from now on; keep it, it is not shown again. */
  signing_secret: string;
  /** Until when deliveries are signed with the old secret as well. */
  previous_valid_until: Timestamp;
}

/** Events to deliver. */
export type WebhookEvents = WebhookEvent[];

export interface CreateWebhook {
  /** Absolute https URL without credentials and fragment, reachable from the public internet. Redirects are not followed. */
  url: string;
  events: WebhookEvents;
  /** A name for yourself. */
  name?: string | null;
  /** OAuth2 client credentials for the deliveries. Omitted, deliveries are signed with HMAC. */
  auth?: CreateWebhookAuth | null;
}

/** OAuth2 client credentials. */
export interface CreateWebhookAuth {
  /** The only kind. */
  type: "oauth2";
  /** Token endpoint; https, with the same rules as `url`. */
  token_url: string;
  /** Client id. */
  client_id: string;
  /** Client secret. Encrypted at rest, never returned. */
  client_secret: string;
  /** Scopes to ask for, separated by spaces. */
  scope?: string | null;
}

/** OAuth2 endpoints only. How deliveries are authenticated. */
export interface WebhookAuth {
  /** The only kind. */
  type: "oauth2";
  /** Token endpoint. */
  token_url: string;
  /** Client id. */
  client_id: string;
  /** Scopes asked for. */
  scope: string | null;
}

export interface WebhookEndpointFields {
  /** Id of the endpoint. */
  id: Id;
  /** The API key that owns it. */
  api_key_id: Id;
  /** Your name for it. */
  name: string | null;
  /** Where deliveries go. */
  url: string;
  events: WebhookEvents;
  /** When it was made. */
  created_at: Timestamp;
  auth?: WebhookAuth;
  /** *Addition.* Only on paused endpoints: their deliveries wait. */
  paused?: true;
}

export interface WebhookEndpoint extends WebhookEndpointFields {
}

export interface WebhookEndpointList {
  /** The endpoints, newest first. */
  data: WebhookEndpoint[];
}

export interface CreatedWebhookEndpoint extends WebhookEndpointFields {
  /** Signed endpoints only, and only here. Key of the signatures; keep it, it is not shown again. */
  signing_secret?: string;
}

export interface EventFields {
  /** Use it to pick the handler. */
  webhook_event: WebhookEvent;
  /** Your own reference, to match your record. */
  external_id: string | null;
  order_number: OrderNumber;
  /** When the event happened. */
  created_at: Timestamp;
}

export interface DeliveryFields {
  /** Use it to pick the handler. */
  webhook_event: WebhookEvent;
  /** Id of the delivery; the same at every attempt. Process each one once. */
  delivery_id: Id;
  /** Your own reference, to match your record. */
  external_id: string | null;
  order_number: OrderNumber;
  /** When the event happened. */
  created_at: Timestamp;
}

export interface OrderOutcomePayload extends DeliveryFields, OrderState {
  /** Use it to pick the handler. */
  webhook_event: "order-outcome";
  status: "completed";
}

export interface UpdatePhotosPayload extends DeliveryFields, OrderState {
  /** Use it to pick the handler. */
  webhook_event: "update-photos";
  status: "update-photos";
}

/** One broken rule of one field. */
export interface Problem {
  /** Path of the field, such as `photos[3].url`, or the name of a parameter. */
  field: string;
  /** Stable code of the rule: `required`, `type`, `empty`, `max_length`, `min`, `max`, `min_items`, `max_items`, `enum`, `format`, `unknown`, */
  code: string;
  /** The rule in words. */
  message: string;
}

/** The envelope of every failure. */
export interface ErrorEnvelope {
  /** The HTTP status. */
  statusCode: number;
  /** Stable and case-sensitive. Branch on it. */
  code: string;
  /** For people. Never branch on it. */
  message: string;
  /** Context that depends on the code; an empty object where there is none. */
  details: Record<string, unknown>;
  /** When it happened. */
  timestamp: Timestamp;
  /** The path as requested, without the query. */
  path: string;
  /** The same as the header `X-Request-Id`. */
  request_id: Id;
}

/** Error codes of this version. More may follow: treat an unknown one by its status. */
export type ErrorCode =
  | "FILE_TOO_LARGE"
  | "INVALID_FILE_TYPE"
  | "RESOLUTION_MISSING"
  | "RESOLUTION_TOO_LARGE"
  | "answer-time-unavailable"
  | "bad-request"
  | "capture-link-limit-reached"
  | "cursor-expired"
  | "empty-photo-file"
  | "forbidden"
  | "internal-error"
  | "invalid-audit-date-range"
  | "invalid-update-photo"
  | "missing-requested-photo-indexes"
  | "missing-required-photo-indexes"
  | "mock-outcome-required"
  | "not-a-test-order"
  | "not-enough-credits"
  | "not-found"
  | "order-not-awaiting-update-photos"
  | "order-not-cancelable"
  | "order-not-found"
  | "photo-index-not-found"
  | "photo-index-not-requested"
  | "photo-limit-exceeded"
  | "photo-upload-limit-exceeded"
  | "rate-limit-exceeded"
  | "request-in-progress"
  | "service-unavailable"
  | "storage-limit-reached"
  | "unauthorized"
  | "unsafe-webhook-url"
  | "unsupported-photo-url"
  | "validation-error"
  | "webhook-already-exists"
  | "webhook-limit-reached"
  | "webhook-not-hmac"
  | (string & {});
