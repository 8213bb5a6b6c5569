"""The retry rules of the interface."""

import asyncio
import socket
import threading
import unittest
from typing import List
from urllib.parse import parse_qs, urlsplit

from assay import (
    APIError,
    AsyncClient,
    Client,
    ConflictError,
    NotEnoughCreditsError,
    NotFoundError,
    RateLimitError,
    RetryPolicy,
    ServerError,
    TransportError,
    UnexpectedAnswerError,
    ValidationError,
    WaitTimeoutError,
    is_ambiguous,
)
from assay.retry import parse_retry_after

from .stub import Answer, Stub, envelope

ORDER = {"brand_code": "b", "category_code": "c", "photos": [{"url": "https://m/x", "index_code": "i"}]}
CREATED = (201, {}, {"id": "1", "external_id": None, "order_number": "n", "status": "queued", "due_date": None})
BALANCE = (200, {}, {"availableCredits": 7})


class Retries(unittest.TestCase):
    def setUp(self) -> None:
        self.slept: List[float] = []

    def client(self, stub: Stub, **options: object) -> Client:
        return Client(stub.url, "key", sleep=self.slept.append, **options)  # type: ignore[arg-type]

    def test_reads_are_repeated_with_growing_waits(self) -> None:
        unavailable = envelope(503, "service-unavailable")
        with Stub(unavailable, unavailable, BALANCE) as stub:
            self.assertEqual(self.client(stub).get_balance(), {"availableCredits": 7})
        self.assertEqual(len(stub.requests), 3)
        self.assertTrue(0.25 <= self.slept[0] <= 0.5 and 0.5 <= self.slept[1] <= 1.0, self.slept)

    def test_retry_after_is_never_cut_short(self) -> None:
        with Stub(envelope(429, "rate-limit-exceeded", {"Retry-After": "42"}), BALANCE) as stub:
            self.client(stub).get_balance()
        self.assertEqual(self.slept, [42.0])

    def test_a_long_retry_after_is_raised(self) -> None:
        with Stub(envelope(429, "rate-limit-exceeded", {"Retry-After": "3600"})) as stub:
            with self.assertRaises(RateLimitError) as caught:
                self.client(stub).get_balance()
        self.assertEqual(caught.exception.retry_after, 3600)
        self.assertEqual(self.slept, [])

    def test_attempts_end(self) -> None:
        with Stub(*[envelope(500, "internal-error")] * 9) as stub:
            with self.assertRaises(ServerError) as caught:
                self.client(stub, retry=RetryPolicy(max_attempts=3)).get_balance()
        self.assertEqual(len(stub.requests), 3)
        self.assertTrue(is_ambiguous(caught.exception))
        self.assertEqual(caught.exception.request_id, "r-1")

    def test_refusals_are_not_repeated(self) -> None:
        for status in (400, 401, 402, 403, 404, 409, 413):
            with self.subTest(status), Stub(envelope(status, "x"), BALANCE) as stub:
                with self.assertRaises(APIError) as caught:
                    self.client(stub).get_balance()
                self.assertEqual((caught.exception.status, len(stub.requests)), (status, 1))
                self.assertFalse(is_ambiguous(caught.exception))

    def test_a_lost_connection_is_repeated_for_reads(self) -> None:
        with Stub() as stub:
            with self.assertRaises(TransportError):
                self.client(stub, retry=RetryPolicy(max_attempts=2)).get_balance()
        self.assertEqual(len(stub.requests), 2)

    def test_creation_repeats_with_the_same_key_and_bytes(self) -> None:
        with Stub(envelope(503, "service-unavailable"), envelope(409, "request-in-progress"), CREATED) as stub:
            self.client(stub).create_order(ORDER)  # type: ignore[arg-type]
        keys = {headers["Idempotency-Key"] for _, _, headers, _ in stub.requests}
        self.assertEqual((len(stub.requests), len(keys), len({body for *_, body in stub.requests})), (3, 1, 1))

    def test_every_creation_has_a_key_of_its_own(self) -> None:
        with Stub(CREATED, CREATED) as stub:
            client = self.client(stub)
            client.create_order(ORDER)  # type: ignore[arg-type]
            client.create_order(ORDER, idempotency_key="mine")  # type: ignore[arg-type]
        self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers, _ in stub.requests}), 2)
        self.assertEqual(stub.requests[1][2]["Idempotency-Key"], "mine")

    def test_any_text_can_be_a_key(self) -> None:
        with Stub(CREATED) as stub:
            self.client(stub).create_order(ORDER, idempotency_key="new")  # type: ignore[arg-type]
        self.assertEqual(stub.requests[0][2]["Idempotency-Key"], "new")
        for key in ("", "a\nb", "ü", "x" * 256):
            with self.assertRaises(ValueError):
                self.client(stub).create_order(ORDER, idempotency_key=key)  # type: ignore[arg-type]

    def test_an_unknown_result_of_an_earlier_attempt_counts(self) -> None:
        limited = envelope(429, "rate-limit-exceeded", {"Retry-After": "3600"})
        for first, ambiguous in ((envelope(500, "internal-error"), True), (envelope(429, "x"), False)):
            with Stub(first, limited) as stub:
                with self.assertRaises(RateLimitError) as caught:
                    self.client(stub).create_order(ORDER)  # type: ignore[arg-type]
            self.assertEqual(is_ambiguous(caught.exception), ambiguous)
        with Stub(envelope(500, "internal-error"), limited) as stub:
            with self.assertRaises(RateLimitError) as caught:
                self.client(stub).get_balance()
        self.assertFalse(is_ambiguous(caught.exception))
        with Stub(*[envelope(409, "request-in-progress")] * 4) as stub:
            with self.assertRaises(ConflictError) as running:
                self.client(stub).create_order(ORDER)  # type: ignore[arg-type]
        self.assertTrue(is_ambiguous(running.exception))

    def test_an_empty_success_is_not_an_answer(self) -> None:
        with Stub((200, {}, None)) as stub:
            with self.assertRaises(UnexpectedAnswerError):
                self.client(stub).get_balance()

    def test_without_a_key_a_creation_is_sent_once(self) -> None:
        with Stub(envelope(503, "service-unavailable")) as stub:
            with self.assertRaises(ServerError):
                self.client(stub).create_order(ORDER, idempotency_key=None)  # type: ignore[arg-type]
        self.assertEqual(len(stub.requests), 1)
        self.assertNotIn("Idempotency-Key", stub.requests[0][2])

    def test_uploads_and_submissions_are_sent_once(self) -> None:
        for call in (
            lambda c: c.upload_photos([("a.jpg", b"x")]),
            lambda c: c.submit_update_photos("1", [{"index_code": "i", "is_unable_to_provide": True}]),
            lambda c: c.create_webhook({"url": "https://x", "events": ["order-outcome"]}),
        ):
            with Stub(envelope(503, "service-unavailable")) as stub:
                with self.assertRaises(ServerError):
                    call(self.client(stub))
            self.assertEqual(len(stub.requests), 1)

    def test_a_refusal_before_the_end_of_an_upload(self) -> None:
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def refuse() -> None:
            connection, _ = server.accept()
            connection.recv(1000)
            body = b'{"code":"payload-too-large"}'
            head = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            connection.sendall(head % len(body) + body)
            connection.close()  # with what it has not read: the sender's next bytes are refused

        threading.Thread(target=refuse, daemon=True).start()
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}/v1/integrations", "key")
        with self.assertRaises(APIError) as caught:
            client.upload_photos([("a.jpg", b"x" * 50_000_000)])
        self.assertEqual((caught.exception.status, caught.exception.code), (413, "payload-too-large"))

    def test_deleting_again_is_no_error(self) -> None:
        with Stub(envelope(503, "service-unavailable"), envelope(404, "not-found")) as stub:
            self.client(stub).delete_webhook("1")
        self.assertEqual([r[0] for r in stub.requests], ["DELETE", "DELETE"])

    def test_only_the_service_says_that_something_is_missing(self) -> None:
        proxy: Answer = (404, {}, None)
        no_route = envelope(404, "not-found")
        with Stub(envelope(404, "order-not-found"), proxy, no_route, proxy, proxy) as stub:
            client = self.client(stub)
            self.assertIsNone(client.find_order("1"))
            calls = (client.find_order, client.find_order, client.delete_webhook, client.revoke_capture_link)
            for number, call in enumerate(calls):
                with self.subTest(number), self.assertRaises(NotFoundError):
                    call("1")
        self.assertEqual(len(stub.requests), 5)

    def test_a_forgotten_prefix_of_the_base_url_is_asked_for(self) -> None:
        question = "the answer has no error envelope; does the base URL end in /v1/integrations?"
        with Stub((404, {}, None), (404, {}, None)) as stub:
            with self.assertRaises(NotFoundError) as caught:
                Client(stub.url.replace("/v1/integrations", ""), "key").get_balance()
            self.assertIn(question, str(caught.exception))
            with self.assertRaises(NotFoundError) as caught:
                Client(stub.url, "key").get_balance()
            self.assertNotIn("base URL", str(caught.exception))

    def test_errors_by_code(self) -> None:
        problem = {"field": "photos", "code": "required", "message": "m"}
        cases = [
            (envelope(400, "validation-error", errors=[problem]), ValidationError),
            (envelope(402, "not-enough-credits", required_credits=4), NotEnoughCreditsError),
            (envelope(409, "order-not-awaiting-update-photos"), ConflictError),
        ]
        for answer, kind in cases:
            with self.subTest(kind), Stub(answer) as stub:
                with self.assertRaises(kind) as caught:
                    self.client(stub).create_order(ORDER)  # type: ignore[arg-type]
                if kind is ValidationError:
                    self.assertEqual(caught.exception.errors, [problem])

    def test_a_redirect_is_not_followed(self) -> None:
        with Stub((302, {"Location": "/elsewhere"}, None)) as stub:
            with self.assertRaises(APIError) as caught:
                self.client(stub).get_balance()
        self.assertEqual((caught.exception.status, len(stub.requests)), (302, 1))

    def test_waiting_ends(self) -> None:
        now = [0.0]
        queued = (200, {}, {"id": "1", "status": "queued"})
        with Stub(*[queued] * 9) as stub:
            client = Client(stub.url, "k", clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))
            with self.assertRaises(WaitTimeoutError):
                client.wait_for_order("1", timeout=20)
        self.assertEqual(now[0], 20)
        self.assertEqual(len(stub.requests), 4)

    def test_waiting_on_a_loop_can_be_canceled(self) -> None:
        async def flow(url: str) -> None:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(AsyncClient(url, "k").wait_for_order("1", interval=3600), 1)

        with Stub((200, {}, {"id": "1", "status": "queued"})) as stub:
            ended = threading.Event()
            threading.Thread(target=lambda: (asyncio.run(flow(stub.url)), ended.set()), daemon=True).start()
            self.assertTrue(ended.wait(60), "the loop does not end")
        with Stub((200, {}, {"id": "1", "status": "queued"}), (200, {}, {"id": "1", "status": "completed"})) as stub:
            order = asyncio.run(AsyncClient(stub.url, "k").wait_for_order("1", interval=0.01))
        self.assertEqual(order["status"], "completed")

    def test_the_key_is_not_shown(self) -> None:
        self.assertNotIn("secret", repr(Client("https://x/v1/integrations", "secret")))

    def test_path_segments_are_escaped(self) -> None:
        with Stub(*[(200, {}, {"id": "1"})] * 2) as stub:
            client = self.client(stub)
            client.get_order("a/b c?")
            client.get_order("..")
        self.assertEqual([r[1].rsplit("orders/")[1] for r in stub.requests], ["a%2Fb%20c%3F", "%2E%2E"])

    def test_retry_after_forms(self) -> None:
        self.assertEqual(parse_retry_after("3"), 3)
        self.assertEqual(parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", now=50), 10)
        self.assertIsNone(parse_retry_after("soon"))


class ByUpdate(unittest.TestCase):
    """Orders that change while a list is read by their last change."""

    def test_none_is_missed(self) -> None:
        def page(number: int, total: int, *orders: str) -> Answer:
            data = [{"id": o[0], "updated_at": f"2026-03-01T10:00:0{o[1]}Z"} for o in orders]
            return 200, {}, {"data": data, "page": number, "limit": 2, "total": total}

        # a changes after the first page, and b to d have the same moment.
        answers = [page(1, 5, "a1", "b2"), page(1, 5, "b2", "c2"), page(2, 5, "d2", "e3"), page(1, 2, "e3", "a4")]
        with Stub(*answers) as stub:
            found = [o["id"] for o in Client(stub.url, "key").iter_orders(sort="updated", limit=2)]
        self.assertEqual(found, ["a", "b", "c", "d", "e", "a"])
        asked = [parse_qs(urlsplit(path).query) for _, path, _, _ in stub.requests]
        since = [q.get("updated_since", [""])[0][-3:] + q["page"][0] for q in asked]
        self.assertEqual(since, ["1", "02Z1", "02Z2", "03Z1"])


if __name__ == "__main__":
    unittest.main()
