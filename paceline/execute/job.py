"""What every worker of one `run` is told, whatever process it lives in."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    study: Path  # the study's record folder
    folder: Path  # where own parts lie
    data: Path | None  # --data
    threads: int
    timing: str  # exclusive or shared
    wanted: frozenset[str]  # runs to train; a kept pack may hold others
    spread: bool = False  # some runs of the study are on several devices: each run has processes of its own
    timed: bool = False  # the study measures time: the machine is probed beside every run
    retry_failed: bool = False
    memory_share: float = 0.25  # of the machine's or the GPU's, that one stack may take

    def only(self, run: str) -> "Job":
        """The job of a team, which trains one run of a pack."""
        return replace(self, wanted=frozenset({run}))

    def dumps(self) -> str:
        plain = asdict(self)
        return json.dumps({**plain, "wanted": sorted(self.wanted)}, default=str)

    @classmethod
    def loads(cls, text: str) -> "Job":
        plain: dict[str, Any] = json.loads(text)
        data = Path(plain["data"]) if plain["data"] else None
        wanted = frozenset(plain["wanted"])
        return cls(
            **{
                **plain,
                "study": Path(plain["study"]),
                "folder": Path(plain["folder"]),
                "data": data,
                "wanted": wanted,
            }
        )
