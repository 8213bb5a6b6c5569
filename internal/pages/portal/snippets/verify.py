import hashlib
import hmac
import time


def verify(secret: str, timestamp: str | None, signature: str | None, body: bytes, now: float | None = None) -> bool:
    """Whether a delivery was signed with the secret in the last five minutes.

    timestamp and signature are the headers X-LG-Timestamp and X-LG-Signature; body is the raw body, before it is parsed.
    """
    if not secret:  # it is not set, and anybody can sign with an empty one
        return False
    now = time.time() if now is None else now
    timestamp, signature = timestamp or "", signature or ""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12) or abs(now - int(timestamp)) > 300:
        return False
    mac = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(("v1=" + mac.hexdigest()).encode(), signature.encode(errors="replace"))
