"""Receiving webhooks: the signature over the raw bytes, protection against replays, and handlers for WSGI and ASGI."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import inspect
import json
import logging
import time
from contextlib import contextmanager
from typing import Any, Awaitable, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

from .delivery_log import DeliveryLog, MemoryDeliveryLog
from .errors import WebhookError
from .types import OrderOutcomePayload, UpdatePhotosPayload

Delivery = Union[OrderOutcomePayload, UpdatePhotosPayload]

_logger = logging.getLogger("assay")

TOLERANCE = 300.0
LEASE = 120.0
MAX_BODY_BYTES = 1 << 20


def sign_webhook(secret: str, timestamp: int, body: bytes) -> str:
    """The X-LG-Signature of a delivery, as the service makes it. Tests of a receiver can use it."""
    mac = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return "v1=" + mac.hexdigest()


def verify_webhook(
    secrets: Union[str, Sequence[str]],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: float = TOLERANCE,
    now: Optional[float] = None,
) -> None:
    """Raises WebhookError unless the body was signed with one of the secrets within the tolerance (seconds). body is
    the request body exactly as received: verify before parsing. While a secret is rotated, a delivery has two
    signatures; either is enough."""
    known = [secrets] if isinstance(secrets, str) else list(secrets)
    if not known or not all(known):
        raise WebhookError("the receiver has no signing secret", 500)
    lower = {name.lower(): value for name, value in headers.items()}
    timestamp = lower.get("x-lg-timestamp", "")
    given = [s for s in (lower.get("x-lg-signature"), lower.get("x-lg-signature-previous")) if s]
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > 12 or not given:
        raise WebhookError("the delivery has no timestamp or no signature", 401)
    matches = False
    for secret in known:
        expected = sign_webhook(secret, int(timestamp), body).encode()
        for signature in given:
            matches |= hmac.compare_digest(expected, signature.encode(errors="replace"))
    if not matches:
        raise WebhookError("the signature does not match", 401)
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookError("the timestamp is too far from now", 401)


def decode_webhook(body: bytes) -> Delivery:
    """Decodes a delivery whose sender is verified."""
    try:
        delivery = json.loads(body)
    except ValueError as error:
        raise WebhookError("the body is not JSON", 400) from error
    if not isinstance(delivery, dict) or not all(delivery.get(k) for k in ("webhook_event", "delivery_id", "id")):
        raise WebhookError("the body is not a delivery", 400)
    return delivery  # type: ignore[return-value]


class WebhookReceiver:
    """Verifies deliveries and hands each to handle once. It answers 204 when handle has returned, also for later
    attempts; 503 to an attempt that comes while handle is still at it, and 500 when handle raises, so that the service
    delivers again; the logger "assay" gets the error. Mount receiver.wsgi or receiver.asgi, or call receive.

    lease is how many seconds a delivery that handle works on is not handed over again. Nothing should take longer: a
    later attempt of the service would get another handle."""

    def __init__(
        self,
        secrets: Union[str, Sequence[str]],
        handle: Callable[[Delivery], Any],
        *,
        log: Optional[DeliveryLog] = None,
        lease: float = LEASE,
        tolerance: float = TOLERANCE,
        max_body_bytes: int = MAX_BODY_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._secrets = secrets
        self._handle = handle
        self._is_async = any(map(inspect.iscoroutinefunction, (handle, getattr(handle, "__call__", None))))
        self._log = MemoryDeliveryLog() if log is None else log
        self._lease = lease
        self._tolerance = tolerance
        self._max = max_body_bytes
        self._clock = clock

    def receive(self, method: str, headers: Mapping[str, str], body: bytes) -> int:
        """The HTTP status to answer with. handle must be an ordinary function."""
        try:
            delivery = self._accept(method, headers, body)
            if isinstance(delivery, int):
                return delivery
            delivery_id = delivery["delivery_id"]
            state = self._log.begin(delivery_id, self._lease)
            if state != "new":
                return _STATUS_OF_STATE[state]
            with self._undone(delivery_id):
                result = self._handle(delivery)
                if inspect.isawaitable(result):  # nobody would wait for it, and 204 would be a lie
                    if inspect.iscoroutine(result):
                        result.close()
                    raise TypeError("handle is a coroutine function: mount receiver.asgi, or await receive_async")
                self._log.done(delivery_id)
        except Exception:
            _logger.exception("a webhook delivery failed")
            return 500
        return 204

    async def receive_async(self, method: str, headers: Mapping[str, str], body: bytes) -> int:
        """As receive; an ordinary handle runs in a thread, a coroutine function on the loop. The log is always asked in
        a thread, except that what is canceled or failed is undone at once."""
        if not self._is_async:
            return await asyncio.to_thread(self.receive, method, headers, body)
        try:
            delivery = self._accept(method, headers, body)
            if isinstance(delivery, int):
                return delivery
            delivery_id = delivery["delivery_id"]
            state = await asyncio.to_thread(self._log.begin, delivery_id, self._lease)
            if state != "new":
                return _STATUS_OF_STATE[state]
            with self._undone(delivery_id):
                await self._handle(delivery)
                await asyncio.to_thread(self._log.done, delivery_id)
        except Exception:
            _logger.exception("a webhook delivery failed")
            return 500
        return 204

    @contextmanager
    def _undone(self, delivery_id: str) -> Iterator[None]:
        """Gives the delivery back when something is raised: also CancelledError and SystemExit, which go on."""
        try:
            yield
        except BaseException:
            try:
                self._log.undo(delivery_id)
            except Exception:
                _logger.exception("webhook delivery %s is not new before its lease has ended", delivery_id)
            raise

    def _accept(self, method: str, headers: Mapping[str, str], body: bytes) -> Union[Delivery, int]:
        """The delivery, or the status of a refusal."""
        if method != "POST":
            return 405
        if len(body) > self._max:
            return 413
        try:
            verify_webhook(self._secrets, headers, body, tolerance=self._tolerance, now=self._clock())
            return decode_webhook(body)
        except WebhookError as error:
            if error.status == 500:
                raise
            return error.status

    def wsgi(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """A WSGI application."""
        headers = {k[5:].replace("_", "-"): v for k, v in environ.items() if k.startswith("HTTP_")}
        try:
            length = min(int(environ.get("CONTENT_LENGTH") or 0), self._max + 1)
            body = environ["wsgi.input"].read(max(length, 0))
        except Exception:  # each server has its own error for a sender that went away; or the length is no number
            status = 400
        else:
            status = self.receive(environ["REQUEST_METHOD"], headers, body)
        start_response(f"{status} {_REASONS[status]}", [("Content-Length", "0")] if status != 204 else [])
        return []

    async def asgi(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            raise RuntimeError("the webhook receiver serves HTTP only")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        body = b""
        more = True
        while more and len(body) <= self._max:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        status = await self.receive_async(scope["method"], headers, body)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


_STATUS_OF_STATE = {"running": 503, "done": 204}

_REASONS = {
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    405: "Method Not Allowed",
    413: "Content Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
