"""The client for asyncio: the same calls, each in a thread of the loop's executor."""

from __future__ import annotations

import asyncio
import time
from typing import Any, AsyncIterator, Awaitable, Callable, Concatenate, Iterator, Optional, ParamSpec, TypeVar

from . import types as t
from .client import Client, poll_waits, wait_before_next_read

P = ParamSpec("P")
R = TypeVar("R")


def _call(
    method: Callable[Concatenate[Client, P], R],
) -> Callable[Concatenate["AsyncClient", P], Awaitable[R]]:
    async def call(self: "AsyncClient", *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.client, *args, **kwargs)

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


def _iterate(
    method: Callable[Concatenate[Client, P], Iterator[R]],
) -> Callable[Concatenate["AsyncClient", P], AsyncIterator[R]]:
    async def iterate(self: "AsyncClient", *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        items, end = method(self.client, *args, **kwargs), object()
        while (item := await asyncio.to_thread(next, items, end)) is not end:
            yield item  # type: ignore[misc]

    iterate.__name__, iterate.__doc__ = method.__name__, method.__doc__
    return iterate


class AsyncClient:
    """Client for asyncio. It takes the arguments of Client."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.client = Client(*args, **kwargs)

    list_categories = _call(Client.list_categories)
    list_brands = _call(Client.list_brands)
    iter_brands = _iterate(Client.iter_brands)
    list_models = _call(Client.list_models)
    iter_models = _iterate(Client.iter_models)
    list_answer_times = _call(Client.list_answer_times)
    list_photo_indexes = _call(Client.list_photo_indexes)
    upload_photos = _call(Client.upload_photos)
    upload_photo = _call(Client.upload_photo)
    get_balance = _call(Client.get_balance)
    create_order = _call(Client.create_order)
    find_order = _call(Client.find_order)
    list_orders = _call(Client.list_orders)
    iter_orders = _iterate(Client.iter_orders)
    get_order = _call(Client.get_order)
    cancel_order = _call(Client.cancel_order)
    simulate_order = _call(Client.simulate_order)
    quote = _call(Client.quote)
    list_events = _call(Client.list_events)
    iter_events = _iterate(Client.iter_events)
    get_me = _call(Client.get_me)
    submit_update_photos = _call(Client.submit_update_photos)
    create_capture_link = _call(Client.create_capture_link)
    get_capture_link = _call(Client.get_capture_link)
    revoke_capture_link = _call(Client.revoke_capture_link)
    list_audit_events = _call(Client.list_audit_events)
    iter_audit_events = _iterate(Client.iter_audit_events)
    create_webhook = _call(Client.create_webhook)
    list_webhooks = _call(Client.list_webhooks)
    delete_webhook = _call(Client.delete_webhook)
    update_webhook = _call(Client.update_webhook)
    rotate_secret = _call(Client.rotate_secret)

    async def wait_for_order(
        self,
        order_id: str,
        *,
        timeout: Optional[float] = None,
        interval: float = 5.0,
        max_interval: float = 60.0,
        locale: Optional[str] = None,
    ) -> t.OrderDetail:
        """As Client.wait_for_order. It waits on the loop: a thread that slept for as long as an order takes would keep
        others waiting, and could not be canceled."""
        waits = poll_waits(timeout, interval, max_interval, time.monotonic)
        while True:
            order = await self.get_order(order_id, locale=locale)
            wait = wait_before_next_read(order, waits)
            if wait is None:
                return order
            await asyncio.sleep(wait)
