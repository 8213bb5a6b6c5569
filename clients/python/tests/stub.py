"""A server that answers what a test says, for failures that a real service does not show on demand."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple

Answer = Tuple[int, Dict[str, str], Optional[Dict[str, Any]]]


def envelope(status: int, code: str, headers: Optional[Dict[str, str]] = None, **details: Any) -> Answer:
    body = {"statusCode": status, "code": code, "message": "no", "details": details, "request_id": "r-1"}
    return status, {"X-Request-Id": "r-1", **(headers or {})}, body


class Stub:
    """Answers in turn and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: List[Tuple[str, str, Dict[str, str], bytes]] = []
        pending = list(answers)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                stub.requests.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
                if not pending:
                    self.close_connection = True
                    return
                status, headers, body = pending.pop(0)
                text = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = do_PATCH = _answer

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/integrations"

    def __enter__(self) -> "Stub":
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
