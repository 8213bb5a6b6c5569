"""What a receiver of webhooks remembers, so that each delivery is processed once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Callable, Dict, Literal, Protocol

DeliveryState = Literal["new", "running", "done"]
"""How far a delivery is: nobody works on it, somebody does, or it is processed."""


class DeliveryLog(Protocol):
    """Remembers deliveries, so that each is processed once. Keep it in your database when the receiver restarts or
    runs on several machines. It is called from several threads."""

    def begin(self, delivery_id: str, lease: float) -> DeliveryState:
        """Returns the state of the delivery, and makes a new one running for lease seconds, in one step: of two that
        ask at the same time, one gets "new". When the lease has ended without done or undo, whoever had the delivery
        has crashed, and it is new again."""

    def done(self, delivery_id: str) -> None:
        """The delivery is processed, for good."""

    def undo(self, delivery_id: str) -> None:
        """The delivery could not be processed and will come again: it is new, unless it is done."""


class MemoryDeliveryLog:
    """A DeliveryLog of one process that keeps the newest ids."""

    def __init__(self, size: int = 10_000, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._running: Dict[str, float] = {}  # until when
        self._done: "OrderedDict[str, None]" = OrderedDict()
        self._size = size
        self._clock = clock
        self._lock = threading.Lock()

    def begin(self, delivery_id: str, lease: float) -> DeliveryState:
        with self._lock:
            if delivery_id in self._done:
                return "done"
            now = self._clock()
            if self._running.get(delivery_id, now) > now:
                return "running"
            self._running[delivery_id] = now + lease
            return "new"

    def done(self, delivery_id: str) -> None:
        with self._lock:
            self._running.pop(delivery_id, None)
            self._done[delivery_id] = None
            if len(self._done) > self._size:
                self._done.popitem(last=False)

    def undo(self, delivery_id: str) -> None:
        with self._lock:
            self._running.pop(delivery_id, None)
