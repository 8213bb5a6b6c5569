"""The whole flow against a running service, whose address and keys come from the environment:
ASSAY_URL, ASSAY_TEST_KEY, ASSAY_LIVE_KEY, ASSAY_PHOTO, ASSAY_WEBHOOK_URL (https) and ASSAY_WEBHOOK_PORT, where it leads."""

import asyncio
import os
import queue
import threading
import unittest
from typing import Any, Dict
from wsgiref.simple_server import WSGIRequestHandler, make_server

from assay import AsyncClient, AuthenticationError, Client, ConflictError, NotFoundError, ValidationError
from assay import WebhookReceiver

URL = os.environ.get("ASSAY_URL", "")


@unittest.skipUnless(URL, "ASSAY_URL is not set: no service to talk to")
class Service(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Client(URL, os.environ["ASSAY_TEST_KEY"])
        self.photo = os.environ["ASSAY_PHOTO"]

    def draft(self, **fields: Any) -> Any:
        """A complete order of the first brand, with one upload for each required index."""
        category = self.client.list_categories()["data"][0]["code"]
        brand = next(self.client.iter_brands(category_code=category))["code"]
        indexes = self.client.list_photo_indexes(category, brand_code=brand)["data"]
        required = [i["code"] for i in indexes if i["required"]]
        uploaded = self.client.upload_photos([self.photo] * len(required))["data"]
        photos = [{"url": u["url"], "index_code": code} for u, code in zip(uploaded, required)]
        return {"category_code": category, "brand_code": brand, "photos": photos, **fields}

    def test_catalog(self) -> None:
        brands = list(self.client.iter_brands(limit=7, locale="ja"))
        self.assertEqual(len(brands), self.client.list_brands()["total"])
        self.assertEqual(len({b["code"] for b in brands}), len(brands))
        brand = next(b for b in brands if b["categories"])
        category = brand["categories"][0]["code"]
        self.assertTrue(self.client.list_answer_times(brand["code"], category)["data"])
        models = list(self.client.iter_models(brand["code"], category))
        self.assertEqual(len(models), self.client.list_models(brand["code"], category)["total"])

    def test_upload_progress(self) -> None:
        seen = []
        with open(self.photo, "rb") as file:
            url = self.client.upload_photo(("front.jpg", file), progress=lambda p: seen.append(p))
        self.assertTrue(url.startswith("https://") or url.startswith("http://"))
        self.assertEqual(seen[-1].sent, seen[-1].total)
        self.assertGreater(seen[-1].total, os.path.getsize(self.photo))

    def test_order_and_webhook(self) -> None:
        got: "queue.Queue[Dict[str, Any]]" = queue.Queue()
        hook = self.client.create_webhook(
            {"url": os.environ["ASSAY_WEBHOOK_URL"], "events": ["order-outcome", "update-photos"]}
        )
        self.addCleanup(self.client.delete_webhook, hook["id"])
        receiver = WebhookReceiver(hook["signing_secret"], got.put)
        quiet = type("Quiet", (WSGIRequestHandler,), {"log_message": lambda *_: None})
        server = make_server("127.0.0.1", int(os.environ["ASSAY_WEBHOOK_PORT"]), receiver.wsgi, handler_class=quiet)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        before = self.client.get_balance()["availableCredits"]
        order = self.client.create_order(self.draft(mock_outcome="authentic", external_id="py/1 ü"))
        self.assertEqual(order["status"], "completed")
        detail = self.client.wait_for_order("py/1 ü", timeout=30)
        self.assertEqual((detail["id"], detail["outcome"]), (order["id"], "authentic"))
        self.assertEqual(self.client.find_order("py/1 ü")["id"], order["id"])  # type: ignore[index]
        self.assertIsNone(self.client.find_order("nothing"))
        self.assertLess(self.client.get_balance()["availableCredits"], before)
        event = got.get(timeout=60)
        self.assertEqual((event["webhook_event"], event["id"]), ("order-outcome", order["id"]))
        self.assertIn(order["id"], {o["id"] for o in self.client.iter_orders(limit=1)})
        self.assertIn(hook["id"], {w["id"] for w in self.client.list_webhooks()["data"]})

    def test_photo_request(self) -> None:
        order = self.client.create_order(self.draft(mock_outcome="update-photos"))
        asked = self.client.get_order(order["id"], locale="ja")["photos_to_resubmit"]
        answer = [{"index_code": a["index_code"], "is_unable_to_provide": True} for a in asked]
        accepted = self.client.submit_update_photos(order["id"], answer, note="mock_outcome=fake")  # type: ignore[arg-type]
        self.assertEqual(accepted, {"id": order["id"], "status": "accepted"})
        self.assertEqual(self.client.wait_for_order(order["id"], timeout=30)["outcome"], "fake")
        with self.assertRaises(ConflictError) as caught:
            self.client.submit_update_photos(order["id"], answer)  # type: ignore[arg-type]
        self.assertEqual(caught.exception.code, "order-not-awaiting-update-photos")

    def test_same_key_creates_one_order(self) -> None:
        draft = self.draft(mock_outcome="authentic")
        first = self.client.create_order(draft, idempotency_key="py-once")
        self.assertEqual(self.client.create_order(draft, idempotency_key="py-once"), first)

    def test_errors(self) -> None:
        with self.assertRaises(AuthenticationError):
            Client(URL, "assay_test_nobody").get_balance()
        with self.assertRaises(NotFoundError) as missing:
            self.client.get_order("nothing")
        self.assertEqual(missing.exception.code, "order-not-found")
        with self.assertRaises(ValidationError) as invalid:
            self.client.create_order({"photos": []})  # type: ignore[typeddict-item]
        self.assertIn("brand_code", {e["field"] for e in invalid.exception.errors})
        self.assertTrue(invalid.exception.request_id)

    def test_additions(self) -> None:
        self.assertEqual(self.client.get_me()["environment"], "test")
        draft = self.draft(mock_outcome="authentic", external_id="py-additions")
        item: Any = {k: draft[k] for k in ("category_code", "brand_code")}
        self.assertGreater(self.client.quote(item, locale="ja")["price"], 0)
        created = self.client.create_order(draft)
        events = list(self.client.iter_events())
        self.assertIn((created["id"], "order-outcome"), {(e["body"]["id"], e["webhook_event"]) for e in events})
        found = self.client.list_orders(external_id="py-additions", status="completed", sort="updated")
        self.assertEqual([o["id"] for o in found["data"]], [created["id"]])
        with self.assertRaises(ConflictError) as caught:
            self.client.cancel_order(created["id"])
        self.assertEqual(caught.exception.code, "order-not-cancelable")
        moved = self.client.simulate_order("py-additions", {"state": "processing"})
        self.assertEqual(moved, {"id": created["id"], "status": "processing"})
        self.assertEqual(self.client.simulate_order(created["id"], {"state": "fake"})["status"], "completed")
        self.assertEqual(self.client.get_order(created["id"])["outcome"], "fake")
        with self.assertRaises(ValidationError) as lost:
            self.client.simulate_order(created["id"], {"state": "lost"})  # type: ignore[typeddict-item]
        self.assertEqual({e["field"] for e in lost.exception.errors}, {"state"})
        hook = self.client.create_webhook({"url": os.environ["ASSAY_WEBHOOK_URL"] + "/more", "events": ["order-outcome"]})
        self.assertTrue(self.client.update_webhook(hook["id"], {"paused": True})["paused"])
        self.assertNotEqual(self.client.rotate_secret(hook["id"])["signing_secret"], hook["signing_secret"])
        self.client.delete_webhook(hook["id"])

    def test_audit(self) -> None:
        events = list(self.client.iter_audit_events(event_code="api-key.created", from_="2020-01-01T00:00:00Z"))
        self.assertTrue(events)
        self.assertEqual({e["event_code"] for e in events}, {"api-key.created"})

    def test_live_key(self) -> None:
        live = Client(URL, os.environ["ASSAY_LIVE_KEY"])
        self.assertEqual(live.list_orders()["total"], 0)

    def test_async(self) -> None:
        async def flow() -> None:
            client = AsyncClient(URL, os.environ["ASSAY_TEST_KEY"])
            balance, categories = await asyncio.gather(client.get_balance(), client.list_categories())
            self.assertTrue(balance["availableCredits"] and categories["data"])
            self.assertTrue([b async for b in client.iter_brands(limit=50)])

        asyncio.run(flow())


if __name__ == "__main__":
    unittest.main()
