"""One file over HTTP: a `.part` beside its place, resumed where it stopped."""

import http.client
import re
import urllib.error
import urllib.request
from pathlib import Path

from paceline.data.progress import Event, MirrorError, Report

TIMEOUT = 20.0  # seconds without a sign of the server
ATTEMPTS = 3  # connections that may break off before the mirror is given up
CHUNK = 1 << 18


def download(url: str, part: Path, *, name: str, limit: int, report: Report) -> None:
    """Fill `part` from `url`. What an earlier call left there is kept and asked for no more."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _receive(url, part, name, limit, report)
            return
        except _BrokenOffError as error:
            if attempt == ATTEMPTS:
                raise MirrorError(f"{name}: {error}, {ATTEMPTS} times") from error


class _BrokenOffError(Exception):
    """The connection ended too soon: worth another try from where it ended."""


def _receive(url: str, part: Path, name: str, limit: int, report: Report) -> None:
    have = part.stat().st_size if part.exists() else 0
    with _open(url, have, name) as answer:
        start, total = _extent(answer)
        if start not in (0, have):
            raise MirrorError(f"{name}: asked for bytes from {have}, got them from {start}")
        done = start
        with part.open("r+b" if start else "wb") as out:
            out.seek(start)
            while done <= limit and (chunk := _read(answer)):
                out.write(chunk)
                done += len(chunk)
                report(Event("bytes", name, done, total))
    if done > limit:
        part.unlink()
        raise MirrorError(f"{name}: more than the {limit:,} bytes it can have")
    if total is not None and done < total:
        raise _BrokenOffError(f"the connection ended after {done:,} of {total:,} bytes")


def _open(url: str, have: int, name: str) -> http.client.HTTPResponse:
    """The server's answer; without a range where it refuses the one asked for."""
    headers = {"User-Agent": "paceline", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:
            return _open(url, 0, name)
        raise MirrorError(f"{name}: the server answers {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise MirrorError(f"{name}: {getattr(error, 'reason', error) or type(error).__name__}") from error
    assert isinstance(answer, http.client.HTTPResponse)
    return answer


def _extent(answer: http.client.HTTPResponse) -> tuple[int, int | None]:
    """(first byte, size of the whole file if the server says it)."""
    ranged = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
    if answer.status == 206 and ranged:
        return int(ranged[1]), None if ranged[2] == "*" else int(ranged[2])
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenOffError(f"the connection broke ({error})") from error
