"""Every path of a record is made here.

<out>/<study>/study.json                 the study as it was resolved: --set, --seeds, --scale included
<out>/<study>/<pack>/pack.json           which runs it holds; written before it starts, kept on resume
<out>/<study>/<pack>/machine.json        what it was trained with: versions, hardware, threads, data, sources
<out>/<study>/<pack>/rows.jsonl          what was measured; only ever appended to
<out>/<study>/<pack>/status.json         how each run stands; replaced by atomic rename
<out>/<study>/<pack>/checkpoint          the state to resume from; gone when the pack has ended
<out>/<study>/<pack>/claim               who is training it now
<out>/<study>/.replaced/<pack>.<n>       packs that were trained again because their sources had changed
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.errors import RecordError

FORMAT = 1


@dataclass(frozen=True)
class PackFolder:
    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def pack(self) -> Path:
        return self.path / "pack.json"

    @property
    def machine(self) -> Path:
        return self.path / "machine.json"

    @property
    def rows(self) -> Path:
        return self.path / "rows.jsonl"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def claim(self) -> Path:
        return self.path / "claim"


@dataclass(frozen=True)
class StudyFolder:
    path: Path

    @classmethod
    def of(cls, out: Path, name: str) -> "StudyFolder":
        return cls(out / name)

    @property
    def study(self) -> Path:
        return self.path / "study.json"

    def pack(self, pack: str) -> PackFolder:
        return PackFolder(self.path / pack)

    def packs(self) -> Iterator[PackFolder]:
        if self.path.is_dir():
            for entry in sorted(os.scandir(self.path), key=lambda e: e.name):
                if entry.is_dir() and not entry.name.startswith("."):
                    yield PackFolder(Path(entry.path))

    def set_aside(self, pack: PackFolder) -> Path:
        """Moves a pack out of the way; nothing that was measured is deleted."""
        home = self.path / ".replaced"
        home.mkdir(exist_ok=True)
        number = sum(1 for old in home.iterdir() if old.name.startswith(f"{pack.id}.")) + 1
        aside = home / f"{pack.id}.{number}"
        os.rename(pack.path, aside)
        return aside


def studies(out: Path) -> list[StudyFolder]:
    """The studies recorded under a folder."""
    found = sorted(out.iterdir()) if out.is_dir() else []
    return [StudyFolder(path) for path in found if (path / "study.json").is_file()]


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all: written beside, then renamed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise cannot_write(path, error) from None


def read_json(path: Path) -> Any:
    """A mapping, or a RecordError that says how to go on."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{path}: no such record.") from None
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: cannot be read ({error}). {_MEND}") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise RecordError(f"{path}: not a record of format {FORMAT}. {_MEND}")
    return value


def cannot_write(path: Path, error: OSError) -> RecordError:
    return RecordError(
        f"{path}: cannot be written ({error.strerror}). Free some space or choose another --out, then run the same "
        "command again: what is recorded so far is kept."
    )


_MEND = "Was it edited by hand? Put it back, or delete its folder to train those runs again."
