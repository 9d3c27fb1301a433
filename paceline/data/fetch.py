"""Get a data set from the first mirror that has it, checked. Free of torch."""

import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from paceline.data.catalogue import Entry, File, Mirror, Url
from paceline.data.download import download
from paceline.data.lock import alone
from paceline.data.packages import contents
from paceline.data.progress import Event, MirrorError, Report, silent
from paceline.data.verify import ContentError, is_right, verified
from paceline.errors import DataError

SLACK = 1 << 20  # bytes a gzip file may have beyond its content


def fetch(wanted: Entry, folder: Path, *, report: Report = silent) -> None:
    """Fill `folder` with the files of a set: its mirrors are tried in order, each for what is still missing. Files that
    are there and right are left alone."""
    if wanted.by_hand:
        raise DataError(f"{wanted.name} cannot be downloaded automatically to {folder}. {wanted.by_hand}")
    if not wanted.fetched:
        report(Event("nothing", f"{wanted.name}: nothing to fetch ({wanted.source})"))
        return
    missing = _missing(wanted, folder)
    for file in wanted.files:
        if file not in missing:
            report(Event("present", f"{folder / file.name}"))
    if not missing:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with alone(folder, lambda: report(Event("waiting", f"{folder} is being filled by another process"))):
            _fetch(wanted, folder, report)
    except OSError as error:
        raise DataError(
            f"{wanted.name} cannot be written to {folder}: {error.strerror or error}. "
            f"Make room or name another folder with --data."
        ) from error


def _fetch(wanted: Entry, folder: Path, report: Report) -> None:
    missing, failures = _missing(wanted, folder), []
    for mirror in wanted.mirrors:
        if not missing:
            return
        report(Event("trying", f"{wanted.name}: trying {mirror.label}"))
        reason = _take(mirror, missing, folder, report)
        if missing:
            failures.append(f"{mirror.label}: {reason}")
            report(Event("failed", f"{mirror.label} failed: {reason}"))
    if missing:
        raise DataError(_all_failed(wanted, missing, failures, folder))


def _take(mirror: Mirror, missing: list[File], folder: Path, report: Report) -> str:
    """Save what one mirror has and strike it off `missing`; returns why some may still be missing."""
    try:
        for file in _deliver(mirror, tuple(missing), folder, report):
            missing.remove(file)
            report(Event("saved", f"{folder / file.name}"))
    except MirrorError as error:
        return str(error)
    return f"it lacks {', '.join(file.name for file in missing)}"


def _missing(wanted: Entry, folder: Path) -> list[File]:
    return [file for file in wanted.files if not is_right(folder / file.name, file)]


def _all_failed(wanted: Entry, missing: list[File], failures: list[str], folder: Path) -> str:
    tried = "".join(f"\n  {failure}" for failure in failures)
    places = "".join(f"\n  {folder / file.name}" for file in missing)
    return f"No mirror could give {wanted.name}:{tried}\nTry again later, or put the files by hand at:{places}"


def _deliver(mirror: Mirror, missing: tuple[File, ...], folder: Path, report: Report) -> Iterator[File]:
    """Save each missing file from one mirror, yielding it when it is in place."""
    if isinstance(mirror, Url):
        for file in missing:
            _from_url(f"{mirror.base.rstrip('/')}/{file.name}", file, folder, report)
            yield file
        return
    with tempfile.TemporaryDirectory(prefix="paceline-") as work:
        for file, content in contents(mirror, missing, Path(work)):
            part = folder / f"{file.name}.package.part"
            part.write_bytes(gzip.compress(content, 6, mtime=0))
            _settle(part, file, folder)
            yield file


def _from_url(url: str, file: File, folder: Path, report: Report) -> None:
    """A part belongs to one URL. One that was resumed and came out wrong is got once more, whole."""
    part = folder / f"{file.name}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"
    resumed = part.exists()
    download(url, part, name=file.name, limit=file.size + SLACK, report=report)
    try:
        _settle(part, file, folder)
    except MirrorError:
        if not resumed:
            raise
        download(url, part, name=file.name, limit=file.size + SLACK, report=report)
        _settle(part, file, folder)


def _settle(part: Path, file: File, folder: Path) -> None:
    """Put a finished part in its place if its content is right, else throw it away."""
    try:
        verified(part.read_bytes(), file)
    except ContentError as error:
        part.unlink()
        raise MirrorError(f"{file.name} is not the expected file: {error}") from error
    os.replace(part, folder / file.name)
    for left in folder.glob(f"{file.name}.*.part"):
        left.unlink(missing_ok=True)
