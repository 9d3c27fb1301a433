"""A real HTTP server with faults to order, a tiny set to fetch from it, image files made on the spot, a cache of a
test's own, and the real sets where they are."""

import gzip
import hashlib
import io
import pickle
import random
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from paceline.data.catalogue import ENTRIES, Entry, File, Mirror
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


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test alone keeps decoded images."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PACELINE_CACHE_GB", raising=False)
    return tmp_path / "cache" / "paceline" / "images"


def scene(number: int, size: int = 48) -> np.ndarray:
    """A picture unlike any other: smooth shapes and some texture, uint8 [size, size, 3]."""
    draw = np.random.default_rng(number)
    coarse = Image.fromarray(draw.integers(0, 256, (6, 6, 3), dtype=np.uint8)).resize(
        (size, size), Image.Resampling.BICUBIC
    )
    fine = Image.fromarray(draw.integers(0, 256, (16, 16, 3), dtype=np.uint8)).resize(
        (size, size), Image.Resampling.BICUBIC
    )
    return ((np.asarray(coarse).astype(int) * 2 + np.asarray(fine)) // 3).astype(np.uint8)


@pytest.fixture(name="scene")
def _scene() -> Callable[..., np.ndarray]:
    return scene


@pytest.fixture
def image_folder(tmp_path: Path) -> Callable[[dict[str, int]], Path]:
    """Makes a folder with so many images in each sub-folder."""

    def make(counts: dict[str, int], root: Path = tmp_path / "pictures") -> Path:
        number = 0
        for folder, count in counts.items():
            (root / folder).mkdir(parents=True, exist_ok=True)
            for i in range(count):
                Image.fromarray(scene(number, 24)).save(root / folder / f"{i:03}.png")
                number += 1
        return root

    return make


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("decoded")


@pytest.fixture
def pack(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Files]:
    """Where a real set lies in one of its other forms; what is decoded of it is kept for the session."""

    def find(name: str) -> Files:
        files = Files.search()
        if files.seek_form(ENTRIES[name]) is None:
            pytest.skip(f"{name} is not on this machine: set $PACELINE_DATA")
        monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))
        return files

    return find


class _Python2(pickle._Pickler):  # type: ignore[name-defined]
    """Writes bytes as Python 2 wrote its strings."""

    def _string(self, text: bytes) -> None:
        short = len(text) < 256
        size = bytes([len(text)]) if short else struct.pack("<i", len(text))
        self.write((pickle.SHORT_BINSTRING if short else pickle.BINSTRING) + size + text)
        self.memoize(text)

    dispatch = {**pickle._Pickler.dispatch, bytes: _string}  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def python2_pickle() -> Callable[[Any], bytes]:
    def dumps(value: Any) -> bytes:
        buffer = io.BytesIO()
        _Python2(buffer, 2).dump(value)
        return buffer.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")

    return dumps
