"""One HTTP exchange with the service, over urllib: proxies and certificates are those of the system."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Union

from .errors import TransportError, UnexpectedAnswerError, api_error
from .retry import parse_retry_after

MAX_ANSWER_BYTES = 16 << 20


@dataclass(frozen=True)
class Response:
    """What a response hook gets: one answer of one attempt."""

    method: str
    path: str
    attempt: int
    status: int
    headers: Mapping[str, str]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    # A redirected POST would become a GET, and its answer would be taken for that of the POST.
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _EarlyAnswers:
    """Connections that look for the answer also when the body could not be sent to its end: a refusal may come before,
    and who refuses need not read on."""

    def request(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
        except (BrokenPipeError, ConnectionResetError):
            if self.sock is None:  # type: ignore[attr-defined]
                raise


class _HTTPConnection(_EarlyAnswers, http.client.HTTPConnection):
    pass


class _HTTPSConnection(_EarlyAnswers, http.client.HTTPSConnection):
    pass


class _HTTPHandler(urllib.request.HTTPHandler):
    def do_open(self, http_class: Any, req: urllib.request.Request, **options: Any) -> Any:
        return super().do_open(_HTTPConnection, req, **options)


class _HTTPSHandler(urllib.request.HTTPSHandler):
    def do_open(self, http_class: Any, req: urllib.request.Request, **options: Any) -> Any:
        return super().do_open(_HTTPSConnection, req, **options)


class Transport:
    """Sends requests with the key and turns failures into errors of this package."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float,
        user_agent: str,
        ssl_context: Optional[ssl.SSLContext],
        on_response: Optional[Callable[[Response], None]],
    ) -> None:
        if not base_url.startswith(("https://", "http://")) or "?" in base_url or "#" in base_url:
            raise ValueError("the base URL must start with https:// or http:// and have no query or fragment")
        if not api_key or not api_key.isascii() or any(c <= " " for c in api_key):
            raise ValueError("the API key is empty or has characters that no key has")
        self.base_url = base_url.rstrip("/")
        self._headers = {
            "Authorization": "Bearer " + api_key,
            "Accept": "application/json",
            "User-Agent": user_agent,
        }
        self._timeout = timeout
        self._on_response = on_response
        self._opener = urllib.request.build_opener(_NoRedirect, _HTTPHandler, _HTTPSHandler(context=ssl_context))

    def send(
        self,
        method: str,
        path: str,
        *,
        attempt: int,
        body: Union[bytes, Iterable[bytes], None] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Any:
        """Returns the decoded JSON of a success, or None for 204."""
        request = urllib.request.Request(
            self.base_url + path, data=body, method=method, headers={**self._headers, **(headers or {})}  # type: ignore[arg-type]
        )
        try:
            try:
                answer = self._opener.open(request, timeout=self._timeout)
            except urllib.error.HTTPError as error:  # any answer that is no success
                answer = error
            with answer:
                status, fields = answer.status, answer.headers
                if self._on_response:
                    self._on_response(Response(method, path, attempt, status, fields))
                text = answer.read(MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise TransportError(f"{method} {path}: {reason}") from error
        if len(text) > MAX_ANSWER_BYTES:
            raise UnexpectedAnswerError(f"{method} {path}: the answer is longer than {MAX_ANSWER_BYTES} bytes", status)
        if 200 <= status < 300:
            return _decode(method, path, status, text)
        question = "" if self.base_url.endswith("/v1/integrations") else "; does the base URL end in /v1/integrations?"
        raise api_error(
            status,
            _envelope(text),
            fields.get("X-Request-Id", ""),
            parse_retry_after(fields.get("Retry-After")),
            "the answer has no error envelope" + question,
        )


def _decode(method: str, path: str, status: int, text: bytes) -> Any:
    if status == 204:
        return None
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise UnexpectedAnswerError(f"{method} {path}: the answer is not JSON", status) from error
    if not isinstance(answer, dict):
        raise UnexpectedAnswerError(f"{method} {path}: the answer is not a JSON object", status)
    return answer


def _envelope(text: bytes) -> Dict[str, Any]:
    try:
        envelope = json.loads(text)
    except ValueError:
        return {}
    return envelope if isinstance(envelope, dict) else {}
