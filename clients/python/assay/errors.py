"""Errors of the client. Catch APIError for every refusal of the service, or a subclass for a kind of it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Type

from .types import FailedPhoto, Problem


class AssayError(Exception):
    """Base of all errors of this package."""


class TransportError(AssayError):
    """The request could not be sent, or no complete answer came back."""


class UnexpectedAnswerError(AssayError):
    """The answer is not one of the service, for example the page of a proxy."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class APIError(AssayError):
    """A refusal by the service. Branch on status and code, never on the message."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Dict[str, Any],
        request_id: str,
        retry_after: Optional[float],
    ) -> None:
        super().__init__(f"{status} {code}: {message} (request {request_id or 'unknown'})")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.request_id = request_id
        self.retry_after = retry_after
        """Seconds that the service asks to wait, or None."""
        self.unsettled = False
        """Whether an earlier attempt of the same write has an unknown result. This is the answer to the last one."""


class ValidationError(APIError):
    """400 validation-error: errors lists every broken rule with its field."""

    @property
    def errors(self) -> List[Problem]:
        return self.details.get("errors", [])


class AuthenticationError(APIError):
    """401: the key is missing, unknown, expired or revoked."""


class NotEnoughCreditsError(APIError):
    """402: the account cannot fund the order."""


class PermissionDeniedError(APIError):
    """403: the key lacks the scope, or may not be used from this address."""


class NotFoundError(APIError):
    """404: the resource does not exist in the key's account and environment. With the code http-404 it is not the
    service that says so: a proxy, or the base URL is wrong."""


class ConflictError(APIError):
    """409: the request conflicts with the present state."""


class RateLimitError(APIError):
    """429: retry_after says when to go on."""


class ServerError(APIError):
    """5xx: the service could not do it now."""


class PhotoRefusedError(AssayError):
    """A file of an upload was not stored; photo says why."""

    def __init__(self, photo: FailedPhoto) -> None:
        super().__init__(f"{photo['original_name']}: {photo['error']['code']}: {photo['error']['message']}")
        self.photo = photo


class WaitTimeoutError(AssayError):
    """The order had nothing new within the time that the caller gave."""


class WebhookError(AssayError):
    """A webhook request that is not a valid delivery. status is what the sender should get."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


_BY_STATUS: Dict[int, Type[APIError]] = {
    401: AuthenticationError,
    402: NotEnoughCreditsError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
}


def api_error(
    status: int, envelope: Dict[str, Any], request_id: str, retry_after: Optional[float], without: str
) -> APIError:
    """The error of an envelope, or of an answer without one (an empty envelope): without says so."""
    code = str(envelope.get("code") or f"http-{status}")
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else APIError)
    if code == "validation-error":
        kind = ValidationError
    details = envelope.get("details")
    return kind(
        status,
        code,
        str(envelope.get("message") or without),
        details if isinstance(details, dict) else {},
        str(envelope.get("request_id") or request_id),
        retry_after,
    )


def is_ambiguous(error: BaseException) -> bool:
    """Whether the service may have done what was asked although the call failed: read before you send it again."""
    if isinstance(error, APIError):
        return error.unsettled or error.status == 408 or error.status >= 500 or error.code == "request-in-progress"
    return isinstance(error, (TransportError, UnexpectedAnswerError))
