import hashlib
import hmac
import time


def verify(secret: str, timestamp: str, signature: str, body: bytes, now: float | None = None) -> bool:
    """Whether a delivery was signed with the secret in the last five minutes.

    timestamp and signature are the headers X-LG-Timestamp and X-LG-Signature; body is the raw body, before it is parsed.
    """
    now = time.time() if now is None else now
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > 300:
        return False
    mac = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(("v1=" + mac.hexdigest()).encode(), signature.encode())
