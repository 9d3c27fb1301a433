"""The records that docs/gallery is written from: one archive a study, docs/gallery/records/STUDY.tar.xz."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

from paceline.record.layout import StudyFolder, read_json

FOLDER = Path(__file__).parent / "gallery" / "records"


def pack(record: StudyFolder) -> None:
    """What was measured, without what is only for going on: claims, checkpoints, pages."""
    FOLDER.mkdir(exist_ok=True)
    files, changed = [record.study], {record.study: _study(record)}
    for one in record.packs():
        kept = (one.pack, one.machine, one.status, one.rows, one.examined, one.telemetry)
        files += [file for file in kept if file.exists()]
        if one.status.exists() and not timed(record):
            changed[one.status] = _status(one.status)
    with tarfile.open(archive(record.path.name), "w:xz", preset=9) as into:
        for file in files:
            content = changed.get(file) or file.read_bytes()
            member = into.gettarinfo(file, str(file.relative_to(record.path.parent)))
            member.size = len(content)
            into.addfile(_anonymous(member), io.BytesIO(content))


def timed(record: StudyFolder) -> bool:
    return bool(read_json(record.study)["study"]["measure"] == "time")


def _study(record: StudyFolder) -> bytes:
    """Without the folders of the machine that it was trained on."""
    said = read_json(record.study)
    return _written({**said, "file": Path(said["file"]).name, "folder": "."})


def _status(file: Path) -> bytes:
    """Only studies of time had the machine to themselves: beside the runs of others there was other work."""
    said = read_json(file)
    for run in said["runs"].values():
        if run.get("timing") == "exclusive":
            run["timing"] = "shared"
    return _written(said)


def _written(said: dict[str, Any]) -> bytes:
    return json.dumps(said, indent=1).encode()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    return member.replace(uid=0, gid=0, uname="", gname="", mode=0o644, deep=False)


def unpack(study: str, runs: Path) -> None:
    with tarfile.open(archive(study)) as found:
        found.extractall(runs, filter="data")


def archive(study: str) -> Path:
    return FOLDER / f"{study}.tar.xz"


def kept() -> list[str]:
    """The studies whose records are here."""
    return sorted(file.name.removesuffix(".tar.xz") for file in FOLDER.glob("*.tar.xz"))
