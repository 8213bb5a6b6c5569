"""When and how often a request is repeated."""

from __future__ import annotations

import email.utils
import time
from dataclasses import dataclass
from typing import Optional

from .errors import APIError, AssayError, TransportError


@dataclass(frozen=True)
class RetryPolicy:
    """Waits between attempts, in seconds. Only reads, deletions, quotes, changes of a webhook endpoint and creations
    with an idempotency key are repeated, after 429, 5xx, 409 request-in-progress and transport failures. Half of each
    backoff is random, so that clients that failed together do not return together."""

    max_attempts: int = 4
    base_delay: float = 0.5
    max_delay: float = 10.0
    max_retry_after: float = 90.0
    """The longest Retry-After that is waited for; a longer one is raised at once."""

    def delay(self, attempt: int, error: AssayError, random: float) -> Optional[float]:
        """Seconds to wait after the given failed attempt (1 for the first), or None when it is the last."""
        if attempt >= self.max_attempts or not worth_repeating(error):
            return None
        backoff = min(self.base_delay * 2 ** (attempt - 1), self.max_delay)
        backoff = backoff / 2 + random * backoff / 2
        asked = error.retry_after if isinstance(error, APIError) else None
        if asked is None:
            return backoff
        return None if asked > self.max_retry_after else max(backoff, asked)


def worth_repeating(error: AssayError) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, APIError):
        return error.status == 429 or error.status >= 500 or error.code == "request-in-progress"
    return isinstance(error, TransportError)


def parse_retry_after(value: Optional[str], now: Optional[float] = None) -> Optional[float]:
    """Reads a Retry-After header: seconds or a date."""
    if not value:
        return None
    if value.isdigit():
        return float(value)
    try:
        at = email.utils.parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError):
        return None
    return max(0.0, at - (time.time() if now is None else now))
