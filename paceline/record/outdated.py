"""Whether what is recorded is what a study says now."""

import os
from collections.abc import Iterator
from pathlib import Path

from paceline.errors import StudyError
from paceline.record.layout import StudyFolder, read_json
from paceline.spec import Study
from paceline.spec.full import alike
from paceline.spec.study import load

WORDS = ("question", "published", "assumed")  # of a study, which change no run


def outdated(study: Study | str | os.PathLike[str], stored: Study, folder: StudyFolder) -> Iterator[str]:
    """That what is recorded was said by another study than the one asked for, or by the file as it was then."""
    said = str(read_json(folder.study).get("file") or folder.study)
    file = stored.folder / Path(said).name
    asked = _asked(study, stored, file)
    if asked is None or _same(asked, stored, words=isinstance(study, Study) or Path(study).is_file()):
        return
    if (asked.folder / Path(asked.document.file).name).resolve() != file.resolve():
        yield f"These are the results of {said}, the last study of that name to run."
        return
    how, now = (f", with {stored.changed}", "By itself") if stored.changed else ("", "Now")
    yield f"These are the results of {said} as it was last run{how}. {now} it says something else: run it for that."


def _asked(study: Study | str | os.PathLike[str], stored: Study, file: Path) -> Study | None:
    """The study whose results were asked for, at the size that was recorded. By a name or a record it is that of the
    recorded file, if it was run as it stands there and still has this name."""
    if isinstance(study, Study):
        return study
    if Path(study).is_file():
        asked = load(Path(study))
        return load(Path(study), scale=stored.scale) if stored.scale in asked.scales else asked
    try:
        now = load(file, scale=stored.scale or None) if file.is_file() else None
    except StudyError:
        return None
    return now if now and now.name == stored.name and stored.changed in ("", now.changed) else None


def _same(asked: Study, stored: Study, *, words: bool) -> bool:
    one, other = asked.model_dump(mode="json"), stored.model_dump(mode="json")
    seeds = [study.base.get("seed") or 0 for study in (asked, stored)]
    return alike(one, other) and seeds[0] == seeds[1] and not (words and any(one[key] != other[key] for key in WORDS))
