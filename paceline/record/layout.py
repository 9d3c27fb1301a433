"""Every path of a record is made here.

<out>/<study>/study.json                 the study as it was resolved: --set, --seeds, --scale included
<out>/<study>/<pack>/pack.json           which runs it holds; written before it starts, kept on resume
<out>/<study>/<pack>/machine.json        what it was trained with: versions, hardware, threads, data, sources
<out>/<study>/<pack>/rows.jsonl          what was measured; only ever appended to
<out>/<study>/<pack>/examined.jsonl      what each run of classes got wrong at its end; only ever appended to
<out>/<study>/<pack>/telemetry.jsonl     where time, memory and power went, row by row; only ever appended to
<out>/<study>/<pack>/status.json         how each run stands; replaced by atomic rename
<out>/<study>/<pack>/checkpoint          the state to resume from; gone when the pack has ended
<out>/<study>/<pack>/failure             of a run over several hosts: how it failed, for who goes on to write it down
<out>/<study>/<pack>/claim               who is training it now; .claim.<token> if that one died and was followed
<out>/<study>/.planning                  who is deciding which packs there are
<out>/<study>/.replaced/<pack>.<n>       packs that were trained again because their sources had changed
"""

import contextlib
import errno
import itertools
import json
import os
import uuid
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
    def examined(self) -> Path:
        return self.path / "examined.jsonl"

    @property
    def telemetry(self) -> Path:
        return self.path / "telemetry.jsonl"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def failure(self) -> Path:
        return self.path / "failure"

    def kept(self) -> bool:
        """Whether there is a state to resume from; of several devices each has its own."""
        return any(self.path.glob(f"{self.checkpoint.name}*"))

    @property
    def claim(self) -> Path:
        return self.path / "claim"

    def drop_leftovers(self) -> None:
        """Removes what a killed process had half written; only for who holds the claim. (.tmp* is by safetensors.)"""
        names = (self.pack.name, self.machine.name, self.status.name, self.failure.name)
        for pattern in (".tmp*", f".{self.checkpoint.name}*", *(f".{name}.*" for name in names)):
            for file in self.path.glob(pattern):
                with contextlib.suppress(OSError):
                    file.unlink()


@dataclass(frozen=True)
class StudyFolder:
    path: Path

    @classmethod
    def of(cls, out: Path, name: str) -> "StudyFolder":
        return cls(out / name)

    @property
    def study(self) -> Path:
        return self.path / "study.json"

    @property
    def planning(self) -> Path:
        return self.path / ".planning"

    def pack(self, pack: str) -> PackFolder:
        return PackFolder(self.path / pack)

    def packs(self) -> Iterator[PackFolder]:
        if self.path.is_dir():
            for entry in sorted(os.scandir(self.path), key=lambda e: e.name):
                if entry.is_dir() and not entry.name.startswith("."):
                    yield PackFolder(Path(entry.path))

    def set_aside(self, pack: PackFolder) -> PackFolder:
        """Moves a pack out of the way; nothing that was measured is deleted."""
        home = self.path / ".replaced"
        try:
            home.mkdir(exist_ok=True)
            number = next(n for n in itertools.count(1) if not (home / f"{pack.id}.{n}").exists())
            aside = home / f"{pack.id}.{number}"
            os.rename(pack.path, aside)
        except OSError as error:
            raise cannot_write(home, error) from None
        return PackFolder(aside)


def studies(out: Path) -> list[StudyFolder]:
    """The studies recorded under a folder."""
    found = sorted(out.iterdir()) if out.is_dir() else []
    return [StudyFolder(path) for path in found if (path / "study.json").is_file()]


def make_folder(path: Path, option: str = "--out") -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error, option) from None


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all, even if the power fails: written beside, brought to disk, then renamed."""
    text = json.dumps(value, indent=1) + "\n"
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise cannot_write(path, error) from None


def read_json(path: Path) -> dict[str, Any]:
    """A mapping, or a RecordError that says how to go on."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{path}: no such record. Run the study, or say --out.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, str(error)) from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise unreadable(path, f"not a record of format {FORMAT}")
    return value


def unreadable(path: Path, why: str) -> RecordError:
    if path.name == "study.json":
        return RecordError(
            f"{path}: cannot be read ({why}). `paceline run` of the study writes it anew; no run is lost."
        )
    return RecordError(
        f"{path}: cannot be read ({why}). Was it edited by hand? Put it back, or delete its folder to train those "
        "runs again."
    )


def cannot_write(path: Path, error: Exception, option: str = "--out") -> RecordError:
    """`option`: which says where."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    mend = f"Free some space or choose another {option}" if full else f"Choose another {option}"
    return RecordError(
        f"{path}: cannot be written ({getattr(error, 'strerror', None) or error}). {mend}, then run the same command "
        "again: what is recorded so far is kept."
    )
