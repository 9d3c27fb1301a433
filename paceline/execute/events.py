"""What a worker tells while it trains. Plain values, so that an event can cross a pipe as one line of JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """kind: began, progress, ended (a run), note (about its data, for a person), skipped (a pack that somebody else
    trains), refused (the study), or stopped (by a signal); of a worker process: ready, idle.
    `runs` are those of a stack, which go on together."""

    kind: str
    pack: str = ""
    run: str = ""
    runs: tuple[str, ...] = ()
    step: int = 0
    total: int = 0
    status: str = ""
    reason: str = ""
    row: dict[str, Any] | None = None
    traceback: str = ""  # of a process whose words this one writes down

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def loads(cls, line: str) -> "Event":
        said: dict[str, Any] = json.loads(line)
        return cls(**{**said, "runs": tuple(said["runs"])})
