"""Client of the Assay integration API. It needs nothing but the standard library.

    from assay import Client

    client = Client("https://assay.example/v1/integrations", api_key)
    url = client.upload_photo("bag.jpg")
    order = client.create_order({
        "category_code": "bags", "brand_code": "chanel",
        "photos": [{"url": url, "index_code": "overall-picture"}],
    })
    detail = client.wait_for_order(order["id"])
"""

from .aio import AsyncClient
from .client import Client
from .delivery_log import DeliveryLog, DeliveryState, MemoryDeliveryLog
from .errors import (
    APIError,
    AssayError,
    AuthenticationError,
    ConflictError,
    NotEnoughCreditsError,
    NotFoundError,
    PermissionDeniedError,
    PhotoRefusedError,
    RateLimitError,
    ServerError,
    TransportError,
    UnexpectedAnswerError,
    ValidationError,
    WaitTimeoutError,
    WebhookError,
    is_ambiguous,
)
from .photos import Progress
from .retry import RetryPolicy
from .webhook import WebhookReceiver, decode_webhook, sign_webhook, verify_webhook

__version__ = "1.0.0"

__all__ = [
    "APIError",
    "AssayError",
    "AsyncClient",
    "AuthenticationError",
    "Client",
    "ConflictError",
    "DeliveryLog",
    "DeliveryState",
    "MemoryDeliveryLog",
    "NotEnoughCreditsError",
    "NotFoundError",
    "PermissionDeniedError",
    "PhotoRefusedError",
    "Progress",
    "RateLimitError",
    "RetryPolicy",
    "ServerError",
    "TransportError",
    "UnexpectedAnswerError",
    "ValidationError",
    "WaitTimeoutError",
    "WebhookError",
    "WebhookReceiver",
    "decode_webhook",
    "is_ambiguous",
    "sign_webhook",
    "verify_webhook",
]
