"""Receiving webhooks: the vector of the documentation, every way to fail, and both server interfaces."""

import asyncio
import io
import json
import os
import tempfile
import threading
import unittest
from typing import Any, Dict, List, Tuple

from assay import MemoryDeliveryLog, WebhookError, WebhookReceiver, sign_webhook, verify_webhook

SECRET = "5f2b8c1de07a4936b8d1f04e7c6a59203be84d17f6c2a9508e3d7b41c09f6a25"
AT = 1763172000
BODY = b'{"webhook_event":"order-outcome","delivery_id":"0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30"}'
SIGNATURE = "v1=8222382cc681d2a7adeaf699f59a3f45d2e3f6b2b3e2fc4a25495c5b2b421823"


def signed(body: bytes, secret: str = SECRET, at: int = AT) -> Dict[str, str]:
    return {"X-LG-Timestamp": str(at), "X-LG-Signature": sign_webhook(secret, at, body)}


def delivery(number: int = 1) -> bytes:
    return json.dumps({"webhook_event": "order-outcome", "delivery_id": f"d-{number}", "id": "o"}).encode()


class Verify(unittest.TestCase):
    def test_vector_of_the_documentation(self) -> None:
        verify_webhook(SECRET, {"x-lg-timestamp": str(AT), "x-lg-signature": SIGNATURE}, BODY, now=AT)

    def test_refusals(self) -> None:
        good = signed(BODY)
        cases = {
            "another body": (SECRET, good, BODY + b" ", AT),
            "another secret": ("x" * 64, good, BODY, AT),
            "no signature": (SECRET, {"X-LG-Timestamp": str(AT)}, BODY, AT),
            "no timestamp": (SECRET, {"X-LG-Signature": SIGNATURE}, BODY, AT),
            "not a timestamp": (SECRET, {**good, "X-LG-Timestamp": "now"}, BODY, AT),
            "digits of another kind": (SECRET, {**good, "X-LG-Timestamp": "\xb2"}, BODY, AT),
            "a signature that is not ASCII": (SECRET, {**good, "X-LG-Signature": "v1=\xff\udcff"}, BODY, AT),
            "too old": (SECRET, good, BODY, AT + 301),
            "from the future": (SECRET, good, BODY, AT - 301),
        }
        for name, (secret, headers, body, now) in cases.items():
            with self.subTest(name), self.assertRaises(WebhookError) as caught:
                verify_webhook(secret, headers, body, now=now)
            self.assertEqual(caught.exception.status, 401)
        with self.assertRaises(WebhookError) as caught:
            verify_webhook("", good, BODY, now=AT)
        self.assertEqual(caught.exception.status, 500)

    def test_rotation(self) -> None:
        new, old = "a" * 64, "b" * 64
        headers = {**signed(BODY, new), "X-LG-Signature-Previous": sign_webhook(old, AT, BODY)}
        for secrets in (new, old, [old, new]):
            verify_webhook(secrets, headers, BODY, now=AT)
        with self.assertRaises(WebhookError):
            verify_webhook("c" * 64, headers, BODY, now=AT)


class Log(unittest.TestCase):
    """The log in memory, and the one of the README in a database: what they promise."""

    def test_memory(self) -> None:
        now = [0.0]
        self.states(MemoryDeliveryLog(clock=lambda: now[0]), now)
        log = MemoryDeliveryLog(size=1)
        log.done("a")
        log.done("b")
        self.assertEqual([log.begin("b", 1), log.begin("a", 1)], ["done", "new"])

    def test_database(self) -> None:
        readme = os.path.join(os.path.dirname(__file__), "..", "README.md")
        with open(readme, encoding="utf-8") as file:
            code = file.read().split("```python\n")[2].split("```")[0]
        names: Dict[str, Any] = {}
        exec(code, names)
        now = [0.0]
        names["time"] = type("Clock", (), {"time": staticmethod(lambda: now[0])})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log.db")
            self.states(names["SQLiteLog"](path), now)
            self.assertEqual(names["SQLiteLog"](path).begin("a", 10), "done")

    def states(self, log: Any, now: List[float]) -> None:
        self.assertEqual([log.begin("a", 10), log.begin("a", 10), log.begin("b", 10)], ["new", "running", "new"])
        now[0] = 9.9
        self.assertEqual(log.begin("a", 10), "running")
        now[0] = 10.0
        self.assertEqual([log.begin("a", 10), log.begin("a", 10)], ["new", "running"])
        log.done("a")
        log.undo("a")  # too late, by whoever had it first
        log.undo("b")
        now[0] = 90.0
        self.assertEqual([log.begin("a", 10), log.begin("b", 10)], ["done", "new"])


class Receive(unittest.TestCase):
    def receiver(self, handle: Any, **options: Any) -> WebhookReceiver:
        return WebhookReceiver(SECRET, handle, clock=lambda: AT, **options)

    def test_each_delivery_once(self) -> None:
        got: List[str] = []
        receiver = self.receiver(lambda d: got.append(d["delivery_id"]))
        for number in (1, 1, 2):
            body = delivery(number)
            self.assertEqual(receiver.receive("POST", signed(body), body), 204)
        self.assertEqual(got, ["d-1", "d-2"])

    def test_a_failure_comes_again(self) -> None:
        calls = []

        def handle(_: Any) -> None:
            calls.append(1)
            if len(calls) == 1:
                raise RuntimeError("database away")

        receiver, body = self.receiver(handle), delivery()
        with self.assertLogs("assay") as logged:
            self.assertEqual(receiver.receive("POST", signed(body), body), 500)
        self.assertIn("database away", logged.output[0])
        self.assertEqual(receiver.receive("POST", signed(body), body), 204)
        self.assertEqual(len(calls), 2)

    def test_an_attempt_while_the_delivery_is_processed(self) -> None:
        started, fail, statuses, body = threading.Event(), threading.Event(), [], delivery()

        def handle(_: Any) -> None:
            started.set()
            fail.wait(60)
            raise RuntimeError("too slow")

        receiver = self.receiver(handle)
        first = threading.Thread(target=lambda: statuses.append(receiver.receive("POST", signed(body), body)))
        with self.assertLogs("assay"):
            first.start()
            started.wait(60)
            self.assertEqual(receiver.receive("POST", signed(body), body), 503)
            fail.set()
            first.join(60)
            self.assertEqual(statuses, [500])
            self.assertEqual(receiver.receive("POST", signed(body), body), 500)

    def test_what_ends_a_handler_goes_on_and_the_delivery_comes_again(self) -> None:
        body = delivery()
        for end in (SystemExit, KeyboardInterrupt):
            ends = [end]

            def handle(_: Any) -> None:
                if ends:
                    raise ends.pop()

            receiver = self.receiver(handle)
            with self.assertRaises(end):
                receiver.receive("POST", signed(body), body)
            self.assertEqual(receiver.receive("POST", signed(body), body), 204)

    def test_a_coroutine_that_nobody_runs_is_not_acknowledged(self) -> None:
        got: List[Any] = []

        async def handle(d: Any) -> None:
            got.append(d)

        class Handler:
            async def __call__(self, d: Any) -> None:
                got.append(d)

        body = delivery()
        for handler in (handle, Handler(), lambda d: handle(d)):
            with self.assertLogs("assay") as logged:
                self.assertEqual(self.receiver(handler).receive("POST", signed(body), body), 500)
            self.assertIn("coroutine", logged.output[0])
        self.assertEqual(got, [])
        self.assertEqual(self.asgi(Handler(), body, signed(body))[0]["status"], 204)
        self.assertEqual(len(got), 1)

    def test_a_canceled_coroutine_is_undone(self) -> None:
        body = delivery()

        async def flow() -> None:
            never, started = asyncio.Event(), asyncio.Event()

            async def handle(_: Any) -> None:
                started.set()
                await never.wait()

            receiver = self.receiver(handle)
            first = asyncio.ensure_future(receiver.receive_async("POST", signed(body), body))
            await started.wait()
            self.assertEqual(await receiver.receive_async("POST", signed(body), body), 503)
            first.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await first
            never.set()
            self.assertEqual(await receiver.receive_async("POST", signed(body), body), 204)

        asyncio.run(flow())

    def test_refusals(self) -> None:
        receiver = self.receiver(lambda _: self.fail("handled"), max_body_bytes=200)
        self.assertEqual(receiver.receive("GET", {}, b""), 405)
        self.assertEqual(receiver.receive("POST", {}, delivery()), 401)
        self.assertEqual(receiver.receive("POST", signed(b"{}"), b"{}"), 400)
        self.assertEqual(receiver.receive("POST", signed(b"["), b"["), 400)
        self.assertEqual(receiver.receive("POST", {}, b"x" * 201), 413)

    def test_a_log_that_fails(self) -> None:
        class Away:
            def begin(self, *_: Any) -> str:
                raise RuntimeError("database away")

        async def handle(_: Any) -> None:
            self.fail("handled")

        class Undoing(MemoryDeliveryLog):
            def done(self, delivery_id: str) -> None:
                raise RuntimeError("database away")

            def undo(self, delivery_id: str) -> None:
                super().undo(delivery_id)
                raise RuntimeError("database away")

        body = delivery()
        got: List[Any] = []
        receiver = self.receiver(got.append, log=Undoing())
        for calls in (1, 2):
            with self.assertLogs("assay") as logged:
                self.assertEqual(receiver.receive("POST", signed(body), body), 500)
            self.assertEqual((len(logged.output), len(got)), (2, calls))
        with self.assertLogs("assay") as logged:
            receiver = self.receiver(lambda _: self.fail("handled"), log=Away())
            self.assertEqual(receiver.receive("POST", signed(body), body), 500)
            waiting = self.receiver(handle, log=Away()).receive_async("POST", signed(body), body)
            self.assertEqual(asyncio.run(waiting), 500)
            unset = WebhookReceiver("", lambda _: self.fail("handled"))
            self.assertEqual(unset.receive("POST", signed(body), body), 500)
        self.assertEqual(len(logged.output), 3)

    def wsgi(self, handle: Any, body: bytes, **environ: Any) -> str:
        answers: List[str] = []
        environ = {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), **environ}
        environ.update({"HTTP_" + k.upper().replace("-", "_"): v for k, v in signed(body).items()})
        out = self.receiver(handle).wsgi(environ, lambda status, headers: answers.append(status))
        self.assertEqual((list(out), len(answers)), ([], 1))
        return answers[0]

    def test_wsgi(self) -> None:
        got: List[Any] = []
        self.assertEqual(self.wsgi(got.append, delivery()), "204 No Content")
        self.assertEqual(len(got), 1)

    def test_wsgi_body_that_cannot_be_read(self) -> None:
        class Gone:
            def read(self, _: int) -> bytes:
                raise OSError("gone")

        for environ in ({"wsgi.input": Gone()}, {"CONTENT_LENGTH": "\xb2"}, {"CONTENT_LENGTH": "many"}):
            self.assertEqual(self.wsgi(lambda _: self.fail("handled"), delivery(), **environ), "400 Bad Request")
        self.assertEqual(
            self.wsgi(lambda _: self.fail("handled"), delivery(), CONTENT_LENGTH="-1"), "401 Unauthorized"
        )

    def asgi(self, handle: Any, body: bytes, headers: Dict[str, str]) -> List[Dict[str, Any]]:
        sent: List[Dict[str, Any]] = []
        chunks = [body[:10], body[10:]]

        async def receive() -> Dict[str, Any]:
            chunk = chunks.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

        async def send(message: Dict[str, Any]) -> None:
            sent.append(message)

        fields: List[Tuple[bytes, bytes]] = [(k.lower().encode(), v.encode()) for k, v in headers.items()]
        scope = {"type": "http", "method": "POST", "headers": fields}
        asyncio.run(self.receiver(handle).asgi(scope, receive, send))  # type: ignore[arg-type]
        return sent

    def test_asgi(self) -> None:
        got: List[Any] = []

        async def handle(d: Any) -> None:
            got.append(d)

        body = delivery()
        for handler in (handle, got.append):
            sent = self.asgi(handler, body, signed(body))
            self.assertEqual(sent[0]["status"], 204)
        self.assertEqual(len(got), 2)
        self.assertEqual(self.asgi(handle, body, {})[0]["status"], 401)


if __name__ == "__main__":
    unittest.main()
