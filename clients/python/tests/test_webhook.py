"""Receiving webhooks: the vector of the documentation, every way to fail, and both server interfaces."""

import asyncio
import io
import json
import unittest
from typing import Any, Dict, List, Tuple

from assay import WebhookError, WebhookReceiver, sign_webhook, verify_webhook

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
        self.assertEqual(receiver.receive("POST", signed(body), body), 500)
        self.assertEqual(receiver.receive("POST", signed(body), body), 204)
        self.assertEqual(len(calls), 2)

    def test_refusals(self) -> None:
        receiver = self.receiver(lambda _: self.fail("handled"), max_body_bytes=200)
        self.assertEqual(receiver.receive("GET", {}, b""), 405)
        self.assertEqual(receiver.receive("POST", {}, delivery()), 401)
        self.assertEqual(receiver.receive("POST", signed(b"{}"), b"{}"), 400)
        self.assertEqual(receiver.receive("POST", signed(b"["), b"["), 400)
        self.assertEqual(receiver.receive("POST", {}, b"x" * 201), 413)

    def test_wsgi(self) -> None:
        got: List[Any] = []
        body, answers = delivery(), []
        environ = {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
        environ.update({"HTTP_" + k.upper().replace("-", "_"): v for k, v in signed(body).items()})
        out = self.receiver(got.append).wsgi(environ, lambda status, headers: answers.append(status))
        self.assertEqual((list(out), answers, len(got)), ([], ["204 No Content"], 1))

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
