"""What a download says while it works, and how a mirror fails."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Event:
    """One line of news. For `bytes`, `done` of `total` bytes of `line` (a file name) have come.

    trying: a mirror is asked; failed: it did not help; bytes: progress; present: a file was there and
    right; saved: a file is new, and right; waiting: another process fills the folder; nothing: the set
    needs no download.
    """

    kind: Literal["trying", "failed", "bytes", "present", "saved", "waiting", "nothing"]
    line: str
    done: int = 0
    total: int | None = None


Report = Callable[[Event], None]


def silent(event: Event) -> None:
    pass


class MirrorError(Exception):
    """This mirror did not deliver; the next one may."""
