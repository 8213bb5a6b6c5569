"""The client: one method for each operation, named as in the OpenAPI document."""

from __future__ import annotations

import json
import random
import ssl
import time
import uuid
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode

from . import types as t
from .errors import APIError, AssayError, NotFoundError, PhotoRefusedError, WaitTimeoutError, is_ambiguous
from .photos import Photo, Progress, Upload
from .retry import RetryPolicy
from .transport import Response, Transport

_NEW_KEY: Any = object()
_FINAL = ("completed", "error")


class Client:
    """Calls the integration API with one API key. It is safe for use by several threads.

    base_url includes /v1/integrations. timeout is that of each network step, in seconds. on_response sees every answer
    of every attempt: the place for metrics and for watching the rate limit."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 60.0,
        retry: RetryPolicy = RetryPolicy(),
        user_agent: str = "assay-python-client/1",
        ssl_context: Optional[ssl.SSLContext] = None,
        on_response: Optional[Callable[[Response], None]] = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = Transport(
            base_url,
            api_key,
            timeout=timeout,
            user_agent=user_agent,
            ssl_context=ssl_context,
            on_response=on_response,
        )
        self._retry = retry
        self._sleep = sleep
        self._clock = clock

    def __repr__(self) -> str:  # never with the key
        return f"Client({self._transport.base_url!r})"

    # Catalog

    def list_categories(self, *, brand_code: Optional[str] = None, locale: Optional[str] = None) -> t.CategoryList:
        return self._get("/catalog/categories", brand_code=brand_code, locale=locale)

    def list_brands(
        self,
        *,
        category_code: Optional[str] = None,
        search: Optional[str] = None,
        locale: Optional[str] = None,
        page: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> t.BrandPage:
        return self._get(
            "/catalog/brands", category_code=category_code, search=search, locale=locale, page=page, limit=limit
        )

    def iter_brands(self, **filters: Any) -> Iterator[t.Brand]:
        """All brands that list_brands would return, page by page."""
        return self._pages(self.list_brands, filters)

    def list_models(
        self,
        brand_code: str,
        category_code: str,
        *,
        search: Optional[str] = None,
        locale: Optional[str] = None,
        page: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> t.ModelPage:
        return self._get(
            "/catalog/models",
            brand_code=brand_code,
            category_code=category_code,
            search=search,
            locale=locale,
            page=page,
            limit=limit,
        )

    def iter_models(self, brand_code: str, category_code: str, **filters: Any) -> Iterator[t.Model]:
        return self._pages(self.list_models, {"brand_code": brand_code, "category_code": category_code, **filters})

    def list_answer_times(
        self, brand_code: str, category_code: str, *, locale: Optional[str] = None
    ) -> t.AnswerTimeList:
        return self._get("/catalog/answer_times", brand_code=brand_code, category_code=category_code, locale=locale)

    def list_photo_indexes(
        self,
        category_code: str,
        *,
        brand_code: Optional[str] = None,
        model_code: Optional[str] = None,
        locale: Optional[str] = None,
    ) -> t.PhotoIndexList:
        return self._get(
            "/catalog/photo_indexes",
            category_code=category_code,
            brand_code=brand_code,
            model_code=model_code,
            locale=locale,
        )

    # Photos

    def upload_photos(
        self, photos: Sequence[Photo], *, progress: Optional[Callable[[Progress], None]] = None
    ) -> t.PhotoUploadResponse:
        """Uploads 1 to 10 files in one request, streamed. It is sent once: an upload is not idempotent. Each file has
        its own result; when all were refused, the error of the first is raised."""
        upload = Upload(photos, progress)
        headers = {"Content-Type": upload.content_type, "Content-Length": str(upload.length)}
        return self._transport.send("POST", "/photos", attempt=1, body=upload, headers=headers)

    def upload_photo(self, photo: Photo, *, progress: Optional[Callable[[Progress], None]] = None) -> str:
        """Uploads one file and returns its managed URL."""
        result = self.upload_photos([photo], progress=progress)["data"][0]
        if result["status"] == "failed":
            raise PhotoRefusedError(result)  # type: ignore[arg-type]
        return result["url"]  # type: ignore[typeddict-item]

    # Orders

    def get_balance(self) -> t.Balance:
        return self._get("/balance")

    def create_order(self, order: t.CreateOrder, *, idempotency_key: Optional[str] = _NEW_KEY) -> t.CreatedOrder:
        """Creates an order. With an idempotency key it is repeated after a failure that may pass, and never charged
        twice; a new key is made for each call unless you give your own, which also protects across restarts of your
        program. With None it is sent once: when is_ambiguous(error), look for the order with find_order first."""
        if idempotency_key is None:
            return self._post("/orders", order)
        key = str(uuid.uuid4()) if idempotency_key is _NEW_KEY else idempotency_key
        if not 1 <= len(key) <= 255 or not (key.isascii() and key.isprintable()):
            raise ValueError("an idempotency key has 1 to 255 printable ASCII characters")
        return self._post("/orders", order, headers={"Idempotency-Key": key}, repeat=True)

    def find_order(self, external_id: str) -> Optional[t.OrderDetail]:
        """The order with this external_id, or None: what to ask before a creation is sent again."""
        try:
            return self.get_order(external_id)
        except NotFoundError as error:
            if error.code != "order-not-found":  # the page of a proxy, or a wrong base URL: it says nothing of orders
                raise
            return None

    def list_orders(
        self,
        *,
        page: Optional[int] = None,
        limit: Optional[int] = None,
        status: Optional[str] = None,
        outcome: Optional[str] = None,
        external_id: Optional[str] = None,
        created_since: Optional[str] = None,
        updated_since: Optional[str] = None,
        sort: Optional[str] = None,
    ) -> t.OrderPage:
        return self._get(
            "/orders",
            page=page,
            limit=limit,
            status=status,
            outcome=outcome,
            external_id=external_id,
            created_since=created_since,
            updated_since=updated_since,
            sort=sort,
        )

    def iter_orders(self, **filters: Any) -> Iterator[t.OrderSummary]:
        """All orders that list_orders would return, page by page. An order that is created meanwhile can move
        others to the next page: those are returned once.

        With sort="updated" it goes on by updated_at, not by page numbers: an order that changes meanwhile moves to the
        end of the list and is returned again there, and the others are all returned, unless more changed in one
        moment than fit on a page. Without it, orders that leave a status or an outcome meanwhile can hide others."""
        if filters.get("sort") == "updated":
            return self._by_update({"limit": 50, **filters})
        return self._pages(self.list_orders, {"limit": 50, **filters}, unique="id")

    def get_order(self, order_id: str, *, locale: Optional[str] = None) -> t.OrderDetail:
        """order_id is the id or the external_id."""
        return self._get("/orders/" + _segment(order_id), locale=locale)

    def cancel_order(self, order_id: str) -> t.CanceledOrder:
        """Cancels a queued order and refunds it. Sent once: read the order before you send it again."""
        return self._post(f"/orders/{_segment(order_id)}/cancel", {})

    def simulate_order(self, order_id: str, to: t.SimulateOrder) -> t.SimulatedOrder:
        """Puts a Test order into a state, whatever its state is. Sent once: each success sends the event of the state."""
        return self._post(f"/orders/{_segment(order_id)}/simulate", to)

    def quote(self, item: t.QuoteRequest, *, locale: Optional[str] = None) -> t.Quote:
        """What an order would choose and cost now. It creates and charges nothing."""
        return self._post("/quote" + (f"?locale={quote(locale)}" if locale else ""), item, repeat=True)

    def list_events(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> t.EventList:
        """The next events of orders created with this key, oldest first, for replay after an outage."""
        return self._get("/events", after=after, limit=limit)

    def iter_events(self, *, after: Optional[str] = None) -> Iterator[t.OrderEvent]:
        """All events after the cursor until there are no more at the moment. Keep the cursor of the last one."""
        while True:
            page = self.list_events(after=after, limit=100)
            yield from page["data"]
            if not page["data"]:
                return
            after = page["next_cursor"]

    def get_me(self) -> t.Me:
        """The key, its account, limits in force and webhook health."""
        return self._get("/me")

    def submit_update_photos(
        self, order_id: str, photos: Sequence[t.SubmitUpdatePhoto], *, note: Optional[str] = None
    ) -> t.AcceptedUpdatePhotos:
        """Answers a photo request. Sent once: read the order before you submit again."""
        body: Dict[str, Any] = {"photos": list(photos)}
        if note is not None:
            body["note"] = note
        return self._post(f"/orders/{_segment(order_id)}/update_photos", body)

    def wait_for_order(
        self,
        order_id: str,
        *,
        timeout: Optional[float] = None,
        interval: float = 5.0,
        max_interval: float = 60.0,
        locale: Optional[str] = None,
    ) -> t.OrderDetail:
        """Reads the order until there is something to do: completed, error or update-photos. Prefer webhooks for many
        orders. Raises WaitTimeoutError when it takes longer than timeout seconds."""
        waits = poll_waits(timeout, interval, max_interval, self._clock)
        while True:
            order = self.get_order(order_id, locale=locale)
            wait = wait_before_next_read(order, waits)
            if wait is None:
                return order
            self._sleep(wait)

    # Capture links

    def create_capture_link(self, link: t.CreateCaptureLink) -> t.CreatedCaptureLink:
        """Keep url of the answer: it is not shown again."""
        return self._post("/capture_links", link)

    def get_capture_link(self, link_id: str) -> t.CaptureLink:
        return self._get("/capture_links/" + _segment(link_id))

    def revoke_capture_link(self, link_id: str) -> None:
        """A link that is not open any more counts as revoked."""
        self._delete("/capture_links/" + _segment(link_id))

    # Audit

    def list_audit_events(
        self, *, page: Optional[int] = None, limit: Optional[int] = None, **filters: Optional[str]
    ) -> t.AuditEventPage:
        """Filters are those of the operation: from_, to, event_code, actor_type, actor_id, source, target_type and
        target_id."""
        if "from_" in filters:
            filters["from"] = filters.pop("from_")
        return self._get("/audit/events", page=page, limit=limit, **filters)

    def iter_audit_events(self, **filters: Any) -> Iterator[t.AuditEvent]:
        return self._pages(self.list_audit_events, {"limit": 100, **filters}, unique="id")

    # Webhooks

    def create_webhook(self, endpoint: t.CreateWebhook) -> t.CreatedWebhookEndpoint:
        """Keep signing_secret of the answer: it is not shown again."""
        return self._post("/webhooks", endpoint)

    def list_webhooks(self) -> t.WebhookEndpointList:
        return self._get("/webhooks")

    def delete_webhook(self, webhook_id: str) -> None:
        """An endpoint that does not exist counts as deleted."""
        self._delete("/webhooks/" + _segment(webhook_id))

    def update_webhook(self, webhook_id: str, change: t.UpdateWebhook) -> t.WebhookEndpoint:
        """Pauses an endpoint, or lets it go on. Deliveries of a paused endpoint wait for at most 7 days."""
        return self._post("/webhooks/" + _segment(webhook_id), change, repeat=True, method="PATCH")

    def rotate_secret(self, webhook_id: str) -> t.RotatedSecret:
        """Gives an endpoint a new signing secret; the old one stays valid until previous_valid_until. Sent once:
        after an error that is_ambiguous, pause the endpoint before you rotate again, or the secret of your receiver
        ends."""
        return self._post(f"/webhooks/{_segment(webhook_id)}/rotate_secret", {})

    # Sending

    def _delete(self, path: str) -> None:
        try:
            self._repeat(lambda attempt: self._transport.send("DELETE", path, attempt=attempt), write=True)
        except NotFoundError as error:
            if error.code != "not-found":  # not the service's answer
                raise

    def _get(self, path: str, **query: Union[str, int, None]) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        target = path + ("?" + urlencode(given) if given else "")
        return self._repeat(lambda attempt: self._transport.send("GET", target, attempt=attempt))

    def _post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        headers: Optional[Dict[str, str]] = None,
        repeat: bool = False,
        method: str = "POST",
    ) -> Any:
        encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        fields = {"Content-Type": "application/json", **(headers or {})}

        def send(attempt: int) -> Any:
            return self._transport.send(method, path, attempt=attempt, body=encoded, headers=fields)

        return self._repeat(send, write=True) if repeat else send(1)

    def _repeat(self, send: Callable[[int], Any], *, write: bool = False) -> Any:
        attempt, unsettled = 1, False
        while True:
            try:
                return send(attempt)
            except AssayError as error:
                delay = self._retry.delay(attempt, error, random.random())
                if delay is None:
                    if isinstance(error, APIError):
                        error.unsettled = unsettled
                    raise
                unsettled = unsettled or (write and is_ambiguous(error))
            self._sleep(delay)
            attempt += 1

    def _pages(
        self, read: Callable[..., Any], filters: Dict[str, Any], *, unique: Optional[str] = None
    ) -> Iterator[Any]:
        seen: set = set()
        page = int(filters.pop("page", None) or 1)
        while True:
            answer = read(page=page, **filters)
            fresh = [item for item in answer["data"] if unique is None or item[unique] not in seen]
            yield from fresh
            seen = {item[unique] for item in answer["data"]} if unique else seen
            if not answer["data"] or page * answer["limit"] >= answer["total"]:
                return
            page += 1

    def _by_update(self, filters: Dict[str, Any]) -> Iterator[t.OrderSummary]:
        # An order that changes leaves its place for the end, and those behind it move to earlier pages: the next page
        # is asked for by the time of the last order. Only where a page has a single moment is it taken by number.
        page = int(filters.pop("page", None) or 1)
        last: Optional[str] = None
        seen: set = set()  # ids of the orders of that moment
        while True:
            answer = self.list_orders(page=page, **filters)
            for order in answer["data"]:
                if order["updated_at"] != last:
                    last, seen = order["updated_at"], set()
                if order["id"] not in seen:
                    seen.add(order["id"])
                    yield order
            if not answer["data"] or page * answer["limit"] >= answer["total"]:
                return
            if last is not None and last != filters.get("updated_since"):
                page, filters["updated_since"] = 1, last
            else:
                page += 1


def poll_waits(
    timeout: Optional[float], interval: float, max_interval: float, clock: Callable[[], float]
) -> Iterator[float]:
    """The waits between the reads of an order: they grow by half, and the last one ends with the timeout."""
    end = None if timeout is None else clock() + timeout

    def waits(wait: float) -> Iterator[float]:
        while True:
            left = wait if end is None else end - clock()
            if left <= 0:
                return
            yield min(wait, left)
            wait = min(wait * 1.5, max_interval)

    return waits(interval)


def wait_before_next_read(order: t.OrderDetail, waits: Iterator[float]) -> Optional[float]:
    """None when the order has something to do."""
    if order["status"] in _FINAL or order["status"] == "update-photos":
        return None
    for wait in waits:
        return wait
    raise WaitTimeoutError(f"order {order['id']} is still {order['status']}")


def _segment(identifier: str) -> str:
    """Escapes an identifier for its place in a path; dot segments too, which servers would take for steps."""
    if not identifier:
        raise ValueError("the identifier is empty")
    if identifier in (".", ".."):
        return identifier.replace(".", "%2E")
    return quote(identifier, safe="")
