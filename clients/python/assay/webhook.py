"""Receiving webhooks: the signature over the raw bytes, protection against replays, and handlers for WSGI and ASGI."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import inspect
import json
import threading
import time
from collections import OrderedDict
from typing import Any, Awaitable, Callable, Iterable, Mapping, Optional, Protocol, Sequence, Union

from .errors import WebhookError
from .types import OrderOutcomePayload, UpdatePhotosPayload

Delivery = Union[OrderOutcomePayload, UpdatePhotosPayload]

TOLERANCE = 300.0
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
    if not timestamp.isdigit() or len(timestamp) > 12 or not given:
        raise WebhookError("the delivery has no timestamp or no signature", 401)
    matches = False
    for secret in known:
        expected = sign_webhook(secret, int(timestamp), body).encode()
        for signature in given:
            matches |= hmac.compare_digest(expected, signature.encode())
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


class DeliveryLog(Protocol):
    """Remembers deliveries, so that each is processed once. Keep it in your database when the receiver restarts or
    runs on several machines."""

    def begin(self, delivery_id: str) -> bool:
        """Whether the delivery is new. It counts as processed from now on."""

    def undo(self, delivery_id: str) -> None:
        """The delivery could not be processed and will come again."""


class MemoryDeliveryLog:
    """A DeliveryLog of one process that keeps the newest ids."""

    def __init__(self, size: int = 10_000) -> None:
        self._ids: "OrderedDict[str, None]" = OrderedDict()
        self._size = size
        self._lock = threading.Lock()

    def begin(self, delivery_id: str) -> bool:
        with self._lock:
            if delivery_id in self._ids:
                return False
            self._ids[delivery_id] = None
            if len(self._ids) > self._size:
                self._ids.popitem(last=False)
            return True

    def undo(self, delivery_id: str) -> None:
        with self._lock:
            self._ids.pop(delivery_id, None)


class WebhookReceiver:
    """Verifies deliveries and hands each to handle once. It answers 204 when handle returns, also for duplicates, and
    500 when it raises, so that the service delivers again. Mount receiver.wsgi or receiver.asgi, or call receive."""

    def __init__(
        self,
        secrets: Union[str, Sequence[str]],
        handle: Callable[[Delivery], Any],
        *,
        log: Optional[DeliveryLog] = None,
        tolerance: float = TOLERANCE,
        max_body_bytes: int = MAX_BODY_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._secrets = secrets
        self._handle = handle
        self._log = MemoryDeliveryLog() if log is None else log
        self._tolerance = tolerance
        self._max = max_body_bytes
        self._clock = clock

    def receive(self, method: str, headers: Mapping[str, str], body: bytes) -> int:
        """The HTTP status to answer with. handle must be an ordinary function."""
        delivery = self._accept(method, headers, body)
        if isinstance(delivery, int):
            return delivery
        try:
            self._handle(delivery)
        except Exception:
            self._log.undo(delivery["delivery_id"])
            return 500
        return 204

    async def receive_async(self, method: str, headers: Mapping[str, str], body: bytes) -> int:
        """As receive; an ordinary handle runs in a thread, a coroutine function on the loop."""
        if not inspect.iscoroutinefunction(self._handle):
            return await asyncio.to_thread(self.receive, method, headers, body)
        delivery = self._accept(method, headers, body)
        if isinstance(delivery, int):
            return delivery
        try:
            await self._handle(delivery)
        except Exception:
            self._log.undo(delivery["delivery_id"])
            return 500
        return 204

    def _accept(self, method: str, headers: Mapping[str, str], body: bytes) -> Union[Delivery, int]:
        if method != "POST":
            return 405
        if len(body) > self._max:
            return 413
        try:
            verify_webhook(self._secrets, headers, body, tolerance=self._tolerance, now=self._clock())
            delivery = decode_webhook(body)
        except WebhookError as error:
            return error.status
        return delivery if self._log.begin(delivery["delivery_id"]) else 204

    def wsgi(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """A WSGI application."""
        headers = {k[5:].replace("_", "-"): v for k, v in environ.items() if k.startswith("HTTP_")}
        length = environ.get("CONTENT_LENGTH") or "0"
        wanted = min(int(length), self._max + 1) if length.isdigit() else self._max + 1
        status = self.receive(environ["REQUEST_METHOD"], headers, environ["wsgi.input"].read(wanted))
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


_REASONS = {
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    405: "Method Not Allowed",
    413: "Content Too Large",
    500: "Internal Server Error",
}
