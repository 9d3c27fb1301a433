"""What a download or a decoding says while it works, and how a mirror fails."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Event:
    """One line of news. For `bytes`, `done` of `total` bytes of `line` (a file name) have come; for `images`,
    `done` of `total` images of `line` (a set) are decoded.

    trying: a mirror is asked; failed: it did not help; bytes: progress; present: a file was there and
    right; saved: a file is new, and right; waiting: another process fills the folder; nothing: the set
    needs no download.
    """

    kind: Literal["trying", "failed", "bytes", "present", "saved", "waiting", "nothing", "images"]
    line: str
    done: int = 0
    total: int | None = None


Report = Callable[[Event], None]


def silent(event: Event) -> None:
    pass


BAR = 30  # characters of a whole bar


def to_terminal(event: Event) -> None:
    """A line on stderr, if a person sees it; of images a bar that grows where it stands."""
    if not sys.stderr.isatty():
        return
    if event.kind != "images":
        print(event.line, file=sys.stderr)
        return
    bar = "\u2588" * (BAR * event.done // max(event.total, 1)) if event.total else ""
    total = f" of {event.total:,}" if event.total else ""
    over = event.done == event.total
    print(
        f"\r{bar:<{BAR}} {event.line}: {event.done:,}{total} images",
        end="\n" if over else "",
        file=sys.stderr,
        flush=True,
    )


class MirrorError(Exception):
    """This mirror did not deliver; the next one may."""
