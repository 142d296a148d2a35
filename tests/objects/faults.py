"""A proxy before a real server that answers 503, or closes the connection, so many times before it lets requests through."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Faults:
    """How many of the next requests fail, and how; `seen` counts all."""

    def __init__(self) -> None:
        self.refuse = self.drop = self.seen = 0
        self.lock = threading.Lock()

    def next(self) -> str:
        with self.lock:
            self.seen += 1
            if self.drop > 0:
                self.drop -= 1
                return "drop"
            if self.refuse > 0:
                self.refuse -= 1
                return "refuse"
            return "pass"


@contextmanager
def proxy(url: str) -> Iterator[tuple[str, Faults]]:
    """The proxy's URL, and its faults."""
    faults, target = Faults(), urlsplit(url).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            kind = faults.next()
            if kind == "drop":
                self.close_connection = True
                return
            if kind == "refuse":
                self.send_response(503)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            upstream = http.client.HTTPConnection(target, timeout=20)
            upstream.request(self.command, self.path, body=body or None, headers=dict(self.headers.items()))
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "server", "date"):
                    self.send_header(name, value)
            if answer.getheader("Content-Length") is None:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return None

    for method in ("GET", "PUT", "HEAD", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.handle_any)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", faults
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
