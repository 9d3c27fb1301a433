"""A real HTTP server with faults to order, a tiny set to fetch from it, and the real sets where they are."""

import gzip
import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from paceline.data.catalogue import Entry, File, Mirror
from paceline.data.locate import Files


@dataclass
class Server:
    """Serves `content`; `cut` holds, for each coming request, after how many bytes to hang up.

    Before it hangs up it is silent for `stall` seconds.
    """

    base: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    cut: list[int] = field(default_factory=list)
    stall: float = 0.0
    ranges: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, asked = self.path.lstrip("/"), self.headers.get("Range")
            server.asked.append((name, asked))
            body = server.content.get(name)
            if body is None:
                self.send_error(404)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.ranges else 0
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            end = start + server.cut.pop(0) if server.cut else len(body)
            self.wfile.write(body[start:end])
            if end < len(body):
                time.sleep(server.stall)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def start_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Server]]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start() -> Server:
        server = Server()
        http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
        server.base = f"http://127.0.0.1:{http.server_port}/"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        running.append((http, thread))
        return server

    yield start
    for http, thread in running:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def server(start_server: Callable[[], Server]) -> Server:
    return start_server()


@dataclass(frozen=True)
class Tiny:
    """A set of two small files: `packed` is what a sound server would send."""

    files: tuple[File, ...]
    packed: dict[str, bytes]

    def entry(self, *mirrors: Mirror) -> Entry:
        return Entry("tiny", "", "", 2, (1,), 10, self.files, mirrors)


@pytest.fixture(scope="session")
def tiny() -> Tiny:
    draw = random.Random(1)
    contents = {"big.gz": draw.randbytes(900_000), "small.gz": b"small"}
    files = tuple(File(n, hashlib.sha256(c).hexdigest(), len(c)) for n, c in contents.items())
    return Tiny(files, {n: gzip.compress(c, mtime=0) for n, c in contents.items()})


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """No folder but a fresh one, so that a test never finds the user's own data."""
    return Files((tmp_path,), tmp_path)
