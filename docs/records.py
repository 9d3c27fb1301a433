"""The records that docs/gallery is written from: one archive a study, docs/gallery/records/STUDY.tar.xz."""

import io
import json
import tarfile
from pathlib import Path

from paceline.record.layout import StudyFolder, read_json

FOLDER = Path(__file__).parent / "gallery" / "records"


def pack(record: StudyFolder) -> None:
    """What was measured, without what is only for going on: claims, checkpoints, pages."""
    FOLDER.mkdir(exist_ok=True)
    files = []
    for one in record.packs():
        kept = (one.pack, one.machine, one.status, one.rows, one.examined, one.telemetry)
        files += [file for file in kept if file.exists()]
    with tarfile.open(archive(record.path.name), "w:xz", preset=9) as into:
        study, content = into.gettarinfo(record.study, f"{record.path.name}/{record.study.name}"), _study(record)
        study.size = len(content)
        into.addfile(_anonymous(study), io.BytesIO(content))
        for file in files:
            into.add(file, file.relative_to(record.path.parent), filter=_anonymous)


def _study(record: StudyFolder) -> bytes:
    """Without the folders of the machine that it was trained on."""
    said = read_json(record.study)
    return json.dumps({**said, "file": Path(said["file"]).name, "folder": "."}, indent=1).encode()


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
