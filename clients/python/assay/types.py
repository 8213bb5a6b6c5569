# Code generated from api/openapi.yaml by go generate ./clients/...; DO NOT EDIT.
"""Types of requests and answers, as the service's OpenAPI document gives them."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union

Id = str
"""A UUID in lower case."""

Timestamp = str
"""RFC 3339 in UTC with milliseconds."""

TimestampOrNull = Union[str, None]
"""RFC 3339 in UTC with milliseconds, or null."""

Code = str
"""Opaque catalog code."""

CodeInput = str
"""A catalog code, exactly as the catalog returned it."""

OrderNumber = Union[str, None]
"""Reference for support: `AS-` and 8 characters without I, L, O and U, the last of which catches typing errors. This service always gives one."""

OrderStatus = Literal["queued", "processing", "update-photos", "completed", "error"]
"""Where the order stands. `completed` and `error` are final."""

Outcome = Literal["authentic", "fake", "unable-to-verify", "canceled", None]
"""The verdict; null until the order is completed."""

WebhookEvent = Literal["order-outcome", "update-photos"]
"""Kind of event."""

ManagedURL = str
"""A managed URL from photo upload, unchanged. Other hosts, credentials, query strings and fragments are refused."""

AuditEventCode = Literal["auth.login.succeeded", "auth.login.failed", "auth.password.changed", "auth.email.changed", "api-key.created", "api-key.renamed", "api-key.revoked", "webhook.created"]
"""What happened."""

AuditActorType = Literal["user", "api-key", "system"]
"""Kind of actor."""

AuditSource = Literal["portal-web", "mobile", "integration-api", "system"]
"""Way the action came in."""

AuditTargetType = Literal["user", "order", "api-key", "webhook", "webhook-delivery"]
"""Kind of thing it was done to."""

NoProperties = Dict[str, Any]
"""An empty object."""

SimulatedState = Literal["queued", "processing", "update-photos", "authentic", "fake", "unable-to-verify", "canceled", "error"]
"""A status or, for a completed order, its outcome."""

WebhookEvents = List[WebhookEvent]
"""Events to deliver."""


class Category(TypedDict):
    code: Code
    """Code to send as `category_code`."""
    name: str
    """English name."""
    name_locale: str
    """Name in the requested language, else English."""
    icon_url: Union[str, None]
    """An icon, if there is one."""


class CategoryList(TypedDict):
    data: List[Category]
    """The categories."""


class Brand(TypedDict):
    code: Code
    """Code to send as `brand_code`."""
    name: str
    """English name."""
    name_locale: str
    """Name in the requested language, else English."""
    categories: List[Category]
    """Categories that the brand supports."""


class BrandPage(TypedDict):
    data: List[Brand]
    """The brands of this page."""
    page: int
    """This page."""
    limit: int
    """Entries on a page."""
    total: int
    """Matches on all pages."""


class Model(TypedDict):
    code: Code
    """Code to send as `model_code`."""
    name: str
    """English name."""
    name_locale: str
    """Name in the requested language, else English."""
    image_url: Union[str, None]
    """An image of the model, if there is one."""


class ModelPage(TypedDict):
    data: List[Model]
    """The models of this page."""
    page: int
    """This page."""
    limit: int
    """Entries on a page."""
    total: int
    """Matches on all pages."""


class AnswerTime(TypedDict):
    code: int
    """Minutes; the value to send as `answer_time`."""
    name: str
    """English name."""
    name_locale: str
    """Name in the requested language, else English."""
    price: float
    """Credits that an order of your account costs in this context. A whole number."""
    default: bool
    """The suggested option; at most one is."""
    available: bool
    """Whether a new order can use it now."""
    next_available_at: TimestampOrNull
    """When it becomes available; null when it is available now or nothing is known."""


class AnswerTimeList(TypedDict):
    data: List[AnswerTime]
    """The answer times."""


class PhotoIndex(TypedDict):
    code: Code
    """Code to send as `index_code`."""
    name: str
    """English name."""
    name_locale: str
    """Name in the requested language, else English."""
    required: bool
    """Whether a new order needs at least one photo of it."""
    photo_limit: int
    """Most photos of it in a new order."""
    icon_url: Union[str, None]
    """An icon, if there is one."""
    example_urls: List[str]
    """Example images; may be empty."""


class PhotoIndexList(TypedDict):
    data: List[PhotoIndex]
    """The photo indexes."""


class PhotoUploadResponse(TypedDict):
    data: List[PhotoUploadResult]
    """One result for each file, in the order of the parts. At least one is `uploaded`."""


class UploadedPhoto(TypedDict):
    status: Literal["uploaded"]
    """The file is stored."""
    url: str
    """Managed URL. Use it unchanged in later requests. It cannot be guessed and needs no key to be read."""
    original_name: str
    """Last element of the filename of the part."""


class FailedPhoto(TypedDict):
    status: Literal["failed"]
    """The file is not stored."""
    original_name: str
    """Last element of the filename of the part."""
    error: PhotoError


class PhotoError(TypedDict):
    """Why the file is not stored."""

    statusCode: Literal[400, 413]
    """The HTTP status that the file alone would have had."""
    code: Literal["empty-photo-file", "INVALID_FILE_TYPE", "RESOLUTION_TOO_LARGE", "RESOLUTION_MISSING", "FILE_TOO_LARGE"]
    """Stable code of the failure."""
    message: str
    """For people; never branch on it."""
    details: Dict[str, Any]
    """`max_bytes` for `FILE_TOO_LARGE`; what was measured and allowed for the other codes."""


class Balance(TypedDict):
    availableCredits: int
    """Credits left in the environment of the key."""


class OrderPhoto(TypedDict):
    url: ManagedURL
    index_code: CodeInput
    """Photo index that this photo shows."""


class _CreateOrder(TypedDict):
    brand_code: CodeInput
    """Brand of the item."""
    category_code: CodeInput
    """Category of the item; the brand must support it."""
    photos: List[OrderPhoto]
    """The photos. At least one for every required index, and no more than `photo_limit` for any."""


class CreateOrder(_CreateOrder, total=False):
    model_code: Union[str, None]
    """Model of the item; it must belong to the brand and the category."""
    answer_time: Union[int, None]
    """Minutes; the code of an answer time that is available in this context. Omitted, the default option is taken if it is available, else the slowest available one."""
    external_id: Union[str, None]
    """Your own reference. It need not be unique, but is more useful if it is; the order can be read by it."""
    mock_outcome: Literal["authentic", "fake", "unable-to-verify", "update-photos", None]
    """Test keys must send it and get that state at once. Live keys must not send it."""


class CreatedOrder(TypedDict):
    id: Id
    """Id of the order."""
    external_id: Union[str, None]
    """Your own reference."""
    order_number: OrderNumber
    status: Literal["queued", "update-photos", "completed"]
    """`queued` with a Live key; the simulated state with a Test key."""
    due_date: TimestampOrNull
    """When the answer is due; null while photos are requested."""


class OrderSummary(TypedDict):
    id: Id
    """Id of the order."""
    external_id: Union[str, None]
    """Your own reference."""
    order_number: OrderNumber
    status: OrderStatus
    outcome: Outcome
    due_date: TimestampOrNull
    """When the answer is due; null while photos are requested."""
    updated_at: TimestampOrNull
    """When the order last changed."""


class OrderPage(TypedDict):
    data: List[OrderSummary]
    """The orders of this page."""
    page: int
    """This page."""
    limit: int
    """Entries on a page."""
    total: int
    """Matches on all pages."""


class Classification(TypedDict):
    """What the item is."""

    brand_code: Union[str, None]
    """Brand of the item."""
    category_code: Union[str, None]
    """Category of the item."""
    model_code: Union[str, None]
    """Model of the item, if it is known."""
    model_name: Union[str, None]
    """English name of the model."""
    model_name_locale: Union[str, None]
    """Name of the model in the requested language, else English."""


class PhotoToResubmit(TypedDict):
    index_code: Code
    """The photo index to send."""
    name: str
    """English name of the index."""
    name_locale: str
    """Name in the requested language, else English."""
    condition: Union[str, None]
    """Stable code of what is wrong, for example `missing` or `unclear`."""
    condition_locale: Union[str, None]
    """The condition in words."""
    requirements: List[str]
    """Stable codes of what the new photo must satisfy."""
    requirements_locale: List[str]
    """The requirements in words, in the same order."""
    comment: Union[str, None]
    """A remark of the expert."""
    reference_photo_url: Union[str, None]
    """A photo that shows what is meant."""
    max_photos: int
    """Most photos of this index in one submission."""


class _OrderState(TypedDict):
    id: Id
    """Id of the order."""
    status: OrderStatus
    outcome: Outcome
    outcome_locale: Union[str, None]
    """The verdict in words, in the requested language, else English; null until there is one."""
    delayed: bool
    """Whether the order is past its due date, or was when it ended. Information only."""
    classification: Classification
    due_date: TimestampOrNull
    """When the answer is due; null while photos are requested."""
    updated_at: TimestampOrNull
    """When the order last changed."""


class OrderState(_OrderState, total=False):
    """State of an order, as the detail and the webhook payloads show it."""

    certificate_url: Union[str, None]
    """Completed orders only. The public certificate; null where there is none."""
    outcome_reasons: List[str]
    """Outcomes authentic and fake only, and there always; empty where no reason was given. In English."""
    outcome_reasons_locale: List[str]
    """The same reasons in the same order in the requested language, each falling back to English."""
    outcome_indexes: List[str]
    """Outcome fake only, where they were named. Codes of the photo indexes that gave the item away."""
    photos_to_resubmit: List[PhotoToResubmit]
    """While photos are requested only. What to send."""


class _OrderDetail(TypedDict):
    id: Id
    """Id of the order."""
    status: OrderStatus
    outcome: Outcome
    outcome_locale: Union[str, None]
    """The verdict in words, in the requested language, else English; null until there is one."""
    delayed: bool
    """Whether the order is past its due date, or was when it ended. Information only."""
    classification: Classification
    due_date: TimestampOrNull
    """When the answer is due; null while photos are requested."""
    updated_at: TimestampOrNull
    """When the order last changed."""


class OrderDetail(_OrderDetail, total=False):
    certificate_url: Union[str, None]
    """Completed orders only. The public certificate; null where there is none."""
    outcome_reasons: List[str]
    """Outcomes authentic and fake only, and there always; empty where no reason was given. In English."""
    outcome_reasons_locale: List[str]
    """The same reasons in the same order in the requested language, each falling back to English."""
    outcome_indexes: List[str]
    """Outcome fake only, where they were named. Codes of the photo indexes that gave the item away."""
    photos_to_resubmit: List[PhotoToResubmit]
    """While photos are requested only. What to send."""


class _SubmitUpdatePhotos(TypedDict):
    photos: List[SubmitUpdatePhoto]
    """Resolves every requested index."""


class SubmitUpdatePhotos(_SubmitUpdatePhotos, total=False):
    note: Union[str, None]
    """A remark for the expert. With Test keys `mock_outcome=VALUE` picks the result."""


class _SubmitUpdatePhoto(TypedDict):
    index_code: CodeInput
    """One of the requested indexes."""


class SubmitUpdatePhoto(_SubmitUpdatePhoto, total=False):
    """A photo of a requested index, or the statement that there is none. Several photos of one index are several entries."""

    url: Union[str, None]
    """A managed URL from photo upload, unchanged."""
    is_unable_to_provide: Union[bool, None]
    """`true` when no photo of this index can be had. `false` counts as not given."""


class AcceptedUpdatePhotos(TypedDict):
    id: Id
    """Id of the order, also when you named it by its external id."""
    status: Literal["accepted"]
    """Always `accepted`. It is not a status of the order."""


class AuditEvent(TypedDict):
    id: Id
    """Id of the event."""
    account_user_id: Id
    """The account user concerned; for the action of an API key the user who made that key."""
    occurred_at: Timestamp
    """When it happened."""
    event_code: AuditEventCode
    actor_type: AuditActorType
    actor_id: Union[str, None]
    """User or API key that did it; null for the system."""
    actor_name: str
    """Name of the actor; `operator` for the service's operator."""
    source: AuditSource
    target_type: AuditTargetType
    target_id: Union[str, None]
    """Thing it was done to, if it has an id."""
    ip_address: Union[str, None]
    """Address it came from."""
    user_agent: Union[str, None]
    """Program it came from."""
    metadata: Dict[str, Any]
    """What else is known, by event: `api-key.*` name, environment and scopes (old and new name for `api-key.renamed`); `webhook.created` name, events, auth_type"""


class AuditEventPage(TypedDict):
    data: List[AuditEvent]
    """The events of this page."""
    page: int
    """This page."""
    limit: int
    """Entries on a page."""
    total: int
    """Matches on all pages."""


class CanceledOrder(TypedDict):
    id: Id
    """Id of the order."""
    status: Literal["completed"]
    """Always `completed`, with the outcome `canceled`."""


class SimulateOrder(TypedDict):
    state: SimulatedState
    """What the order becomes."""


class SimulatedOrder(TypedDict):
    id: Id
    """Id of the order."""
    status: OrderStatus
    """`completed` for an outcome, otherwise the state."""


class CreateCaptureLink(TypedDict, total=False):
    """Either `category_code` and `brand_code`, perhaps with `model_code` and `external_id`, or `order_id`."""

    category_code: Union[str, None]
    """Category of the item."""
    brand_code: Union[str, None]
    """Brand of the item."""
    model_code: Union[str, None]
    """Model of the item; it must belong to the brand and the category."""
    external_id: Union[str, None]
    """Your own reference; you get it back with the link."""
    order_id: Union[str, None]
    """Id or external id of an order that waits for photos."""
    expires_in: Union[int, None]
    """Seconds until the link expires. Default 172800, two days."""
    locale: Literal["en", "ja", None]
    """Language of the page at first. Omitted, that of the browser."""
    return_url: Union[str, None]
    """An https address that the page leads to at the end."""


class CreatedCaptureLink(TypedDict):
    id: str
    """Id of the link."""
    url: str
    """Address of the page; told once."""
    expires_at: Timestamp
    """When the link ends by itself."""
    status: Literal["open"]
    """Always open."""


class CaptureLink(TypedDict):
    id: str
    """Id of the link."""
    status: Literal["open", "submitted", "expired", "revoked"]
    """How far the link is."""
    expires_at: Timestamp
    """When the link ends by itself."""
    submitted_at: TimestampOrNull
    """When the seller sent the photos."""
    external_id: Union[str, None]
    """Your own reference, or that of the order."""
    order_id: Union[str, None]
    """The order whose photo request the link answers."""
    photos: List[CapturedPhoto]
    """The photos of a submitted link, in the order in which they were taken."""


class CapturedPhoto(TypedDict):
    index_code: str
    """Photo index."""
    url: str
    """Managed URL of the photo."""


class _QuoteRequest(TypedDict):
    category_code: CodeInput
    """Category of the item."""
    brand_code: CodeInput
    """Brand of the item."""


class QuoteRequest(_QuoteRequest, total=False):
    model_code: Union[str, None]
    """Model of the item; it must belong to the brand and the category."""
    answer_time: Union[int, None]
    """Answer time in minutes. Omitted, the one that a creation would choose."""


class Quote(TypedDict):
    answer_times: List[AnswerTime]
    """The answer times of the item, as in the catalog."""
    photo_indexes: List[PhotoIndex]
    """The photo indexes of the item, as in the catalog."""
    answer_time: Union[int, None]
    """The answer time that an order would have; null when none is available."""
    price: Union[int, None]
    """What it would cost; null when no answer time is available."""
    affordable: bool
    """Whether the balance covers the price."""
    due_date: TimestampOrNull
    """When it would be due."""


class Me(TypedDict):
    environment: Literal["test", "live"]
    """Environment of the key."""
    account: Dict[str, Any]
    """Account of the key."""
    key: Dict[str, Any]
    """The key itself."""
    limits: List[RateLimit]
    """The limits in force, one for each category."""
    webhooks: Dict[str, Any]
    """The webhook endpoints of the key."""


class RateLimit(TypedDict):
    category: Literal["catalog", "read", "create", "update", "upload", "webhook"]
    """Category of operations."""
    limit: int
    """Requests in a window."""
    remaining: int
    """Requests left in the current window."""
    window_seconds: Literal[60]
    """Length of a window."""


class EventList(TypedDict):
    data: List[OrderEvent]
    """The events, oldest first."""
    next_cursor: str
    """The cursor of the last event, or `after` where nothing is new. Send it as `after`."""


class OrderEvent(TypedDict):
    cursor: str
    """Position of the event. Opaque; send it as `after`."""
    webhook_event: WebhookEvent
    delivery_ids: List[Id]
    """The deliveries of this event to endpoints, if there are any."""
    created_at: Timestamp
    """When the event happened."""
    body: EventBody


class _EventBody(TypedDict):
    webhook_event: WebhookEvent
    """Use it to pick the handler."""
    external_id: Union[str, None]
    """Your own reference, to match your record."""
    order_number: OrderNumber
    created_at: Timestamp
    """When the event happened."""
    id: Id
    """Id of the order."""
    status: OrderStatus
    outcome: Outcome
    outcome_locale: Union[str, None]
    """The verdict in words, in the requested language, else English; null until there is one."""
    delayed: bool
    """Whether the order is past its due date, or was when it ended. Information only."""
    classification: Classification
    due_date: TimestampOrNull
    """When the answer is due; null while photos are requested."""
    updated_at: TimestampOrNull
    """When the order last changed."""


class EventBody(_EventBody, total=False):
    """The payload of the deliveries, without `delivery_id`."""

    certificate_url: Union[str, None]
    """Completed orders only. The public certificate; null where there is none."""
    outcome_reasons: List[str]
    """Outcomes authentic and fake only, and there always; empty where no reason was given. In English."""
    outcome_reasons_locale: List[str]
    """The same reasons in the same order in the requested language, each falling back to English."""
    outcome_indexes: List[str]
    """Outcome fake only, where they were named. Codes of the photo indexes that gave the item away."""
    photos_to_resubmit: List[PhotoToResubmit]
    """While photos are requested only. What to send."""


class UpdateWebhook(TypedDict):
    paused: bool
    """Whether deliveries wait."""


class RotatedSecret(TypedDict):
    id: Id
    """Id of the endpoint."""
    signing_secret: str
    """Key of the signatures from now on; keep it, it is not shown again."""
    previous_valid_until: Timestamp
    """Until when deliveries are signed with the old secret as well."""


class _CreateWebhook(TypedDict):
    url: str
    """Absolute https URL without credentials and fragment, reachable from the public internet. Redirects are not followed."""
    events: WebhookEvents


class CreateWebhook(_CreateWebhook, total=False):
    name: Union[str, None]
    """A name for yourself."""
    auth: Union[CreateWebhookAuth, None]
    """OAuth2 client credentials for the deliveries. Omitted, deliveries are signed with HMAC."""


class _CreateWebhookAuth(TypedDict):
    type: Literal["oauth2"]
    """The only kind."""
    token_url: str
    """Token endpoint; https, with the same rules as `url`."""
    client_id: str
    """Client id."""
    client_secret: str
    """Client secret. Encrypted at rest, never returned."""


class CreateWebhookAuth(_CreateWebhookAuth, total=False):
    """OAuth2 client credentials."""

    scope: Union[str, None]
    """Scopes to ask for, separated by spaces."""


class WebhookAuth(TypedDict):
    """OAuth2 endpoints only. How deliveries are authenticated."""

    type: Literal["oauth2"]
    """The only kind."""
    token_url: str
    """Token endpoint."""
    client_id: str
    """Client id."""
    scope: Union[str, None]
    """Scopes asked for."""


class _WebhookEndpointFields(TypedDict):
    id: Id
    """Id of the endpoint."""
    api_key_id: Id
    """The API key that owns it."""
    name: Union[str, None]
    """Your name for it."""
    url: str
    """Where deliveries go."""
    events: WebhookEvents
    created_at: Timestamp
    """When it was made."""


class WebhookEndpointFields(_WebhookEndpointFields, total=False):
    auth: WebhookAuth
    paused: Literal[True]
    """*Addition.* Only on paused endpoints: their deliveries wait."""


class _WebhookEndpoint(TypedDict):
    id: Id
    """Id of the endpoint."""
    api_key_id: Id
    """The API key that owns it."""
    name: Union[str, None]
    """Your name for it."""
    url: str
    """Where deliveries go."""
    events: WebhookEvents
    created_at: Timestamp
    """When it was made."""


class WebhookEndpoint(_WebhookEndpoint, total=False):
    auth: WebhookAuth
    paused: Literal[True]
    """*Addition.* Only on paused endpoints: their deliveries wait."""


class WebhookEndpointList(TypedDict):
    data: List[WebhookEndpoint]
    """The endpoints, newest first."""


class _CreatedWebhookEndpoint(TypedDict):
    id: Id
    """Id of the endpoint."""
    api_key_id: Id
    """The API key that owns it."""
    name: Union[str, None]
    """Your name for it."""
    url: str
    """Where deliveries go."""
    events: WebhookEvents
    created_at: Timestamp
    """When it was made."""


class CreatedWebhookEndpoint(_CreatedWebhookEndpoint, total=False):
    auth: WebhookAuth
    paused: Literal[True]
    """*Addition.* Only on paused endpoints: their deliveries wait."""
    signing_secret: str
    """Signed endpoints only, and only here. Key of the signatures; keep it, it is not shown again."""


class EventFields(TypedDict):
    webhook_event: WebhookEvent
    """Use it to pick the handler."""
    external_id: Union[str, None]
    """Your own reference, to match your record."""
    order_number: OrderNumber
    created_at: Timestamp
    """When the event happened."""


class DeliveryFields(TypedDict):
    webhook_event: WebhookEvent
    """Use it to pick the handler."""
    delivery_id: Id
    """Id of the delivery; the same at every attempt. Process each one once."""
    external_id: Union[str, None]
    """Your own reference, to match your record."""
    order_number: OrderNumber
    created_at: Timestamp
    """When the event happened."""


class _OrderOutcomePayload(TypedDict):
    webhook_event: Literal["order-outcome"]
    """Use it to pick the handler."""
    delivery_id: Id
    """Id of the delivery; the same at every attempt. Process each one once."""
    external_id: Union[str, None]
    """Your own reference, to match your record."""
    order_number: OrderNumber
    created_at: Timestamp
    """When the event happened."""
    id: Id
    """Id of the order."""
    status: Literal["completed"]
    outcome: Outcome
    outcome_locale: Union[str, None]
    """The verdict in words, in the requested language, else English; null until there is one."""
    delayed: bool
    """Whether the order is past its due date, or was when it ended. Information only."""
    classification: Classification
    due_date: TimestampOrNull
    """When the answer is due; null while photos are requested."""
    updated_at: TimestampOrNull
    """When the order last changed."""


class OrderOutcomePayload(_OrderOutcomePayload, total=False):
    certificate_url: Union[str, None]
    """Completed orders only. The public certificate; null where there is none."""
    outcome_reasons: List[str]
    """Outcomes authentic and fake only, and there always; empty where no reason was given. In English."""
    outcome_reasons_locale: List[str]
    """The same reasons in the same order in the requested language, each falling back to English."""
    outcome_indexes: List[str]
    """Outcome fake only, where they were named. Codes of the photo indexes that gave the item away."""
    photos_to_resubmit: List[PhotoToResubmit]
    """While photos are requested only. What to send."""


class _UpdatePhotosPayload(TypedDict):
    webhook_event: Literal["update-photos"]
    """Use it to pick the handler."""
    delivery_id: Id
    """Id of the delivery; the same at every attempt. Process each one once."""
    external_id: Union[str, None]
    """Your own reference, to match your record."""
    order_number: OrderNumber
    created_at: Timestamp
    """When the event happened."""
    id: Id
    """Id of the order."""
    status: Literal["update-photos"]
    outcome: Outcome
    outcome_locale: Union[str, None]
    """The verdict in words, in the requested language, else English; null until there is one."""
    delayed: bool
    """Whether the order is past its due date, or was when it ended. Information only."""
    classification: Classification
    due_date: TimestampOrNull
    """When the answer is due; null while photos are requested."""
    updated_at: TimestampOrNull
    """When the order last changed."""


class UpdatePhotosPayload(_UpdatePhotosPayload, total=False):
    certificate_url: Union[str, None]
    """Completed orders only. The public certificate; null where there is none."""
    outcome_reasons: List[str]
    """Outcomes authentic and fake only, and there always; empty where no reason was given. In English."""
    outcome_reasons_locale: List[str]
    """The same reasons in the same order in the requested language, each falling back to English."""
    outcome_indexes: List[str]
    """Outcome fake only, where they were named. Codes of the photo indexes that gave the item away."""
    photos_to_resubmit: List[PhotoToResubmit]
    """While photos are requested only. What to send."""


class Problem(TypedDict):
    """One broken rule of one field."""

    field: str
    """Path of the field, such as `photos[3].url`, or the name of a parameter."""
    code: str
    """Stable code of the rule: `required`, `type`, `empty`, `max_length`, `min`, `max`, `min_items`, `max_items`, `enum`, `format`, `unknown`,"""
    message: str
    """The rule in words."""


class ErrorEnvelope(TypedDict):
    """The envelope of every failure."""

    statusCode: int
    """The HTTP status."""
    code: str
    """Stable and case-sensitive. Branch on it."""
    message: str
    """For people. Never branch on it."""
    details: Dict[str, Any]
    """Context that depends on the code; an empty object where there is none."""
    timestamp: Timestamp
    """When it happened."""
    path: str
    """The path as requested, without the query."""
    request_id: Id
    """The same as the header `X-Request-Id`."""

PhotoUploadResult = Union[UploadedPhoto, FailedPhoto]
"""What became of one file."""


ErrorCode = Literal[
    "FILE_TOO_LARGE",
    "INVALID_FILE_TYPE",
    "RESOLUTION_MISSING",
    "RESOLUTION_TOO_LARGE",
    "answer-time-unavailable",
    "bad-request",
    "capture-link-limit-reached",
    "cursor-expired",
    "empty-photo-file",
    "forbidden",
    "internal-error",
    "invalid-audit-date-range",
    "invalid-update-photo",
    "missing-requested-photo-indexes",
    "missing-required-photo-indexes",
    "mock-outcome-required",
    "not-a-test-order",
    "not-enough-credits",
    "not-found",
    "order-not-awaiting-update-photos",
    "order-not-cancelable",
    "order-not-found",
    "photo-index-not-found",
    "photo-index-not-requested",
    "photo-limit-exceeded",
    "photo-upload-limit-exceeded",
    "rate-limit-exceeded",
    "request-in-progress",
    "service-unavailable",
    "storage-limit-reached",
    "unauthorized",
    "unsafe-webhook-url",
    "unsupported-photo-url",
    "validation-error",
    "webhook-already-exists",
    "webhook-limit-reached",
    "webhook-not-hmac",
]
"""Error codes of this version. More may follow: treat an unknown one by its status."""
