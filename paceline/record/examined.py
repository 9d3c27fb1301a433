"""What runs got wrong, read back: which class was taken for which, and the surest mistakes as pictures."""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from paceline.errors import RecordError
from paceline.record.layout import PackFolder, StudyFolder
from paceline.record.writer import is_examined

MATRIX = {"truth": pl.Int64, "said": pl.Int64, "count": pl.Int64}
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Mistake:
    """An example of the test split that was answered wrongly."""

    index: int
    truth: int
    said: int
    probability: float  # that the run gave its answer
    png: str | None  # base64; none where the example is no picture


@dataclass(frozen=True)
class Examined:
    run: str
    names: tuple[str, ...]  # of the classes, by their number
    matrix: pl.DataFrame  # truth, said, count; a pair that never occurred is not there
    worst: tuple[Mistake, ...]  # the surest first
    data: str  # the checksum of its data, in which the examples have their numbers


def read_examined(folder: StudyFolder, packs: Iterable[tuple[str, str]]) -> dict[str, Examined]:
    """By run; `packs` says which runs are asked for, each with the pack it is read from. The last line of a run stands.

    A run that was never examined is not there.
    """
    wanted: dict[str, set[str]] = {}
    for run, pack in packs:
        wanted.setdefault(pack, set()).add(run)
    return {run: said for pack, runs in wanted.items() for run, said in _last(folder.pack(pack), runs).items()}


def _last(folder: PackFolder, runs: set[str]) -> dict[str, Examined]:
    said: dict[str, tuple[int, dict[str, Any]]] = {}
    pictures: dict[Any, Any] = {}  # by data and example: each stands once in the file
    for number, line in _lines(folder):
        mistakes = [mistake for mistake in line["worst"] if isinstance(mistake, dict)]
        pictures.update((_key(line, m), m["png"]) for m in mistakes if m.get("png"))
        if line["run"] in runs:
            said[line["run"]] = (number, line)
    found = {}
    for run, (number, line) in said.items():
        try:
            found[run] = _examined(line, pictures)
        except (TypeError, ValueError, KeyError, OverflowError, pl.exceptions.PolarsError):
            raise _spoilt(folder, number) from None
    return found


def _lines(folder: PackFolder) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines with their numbers, without a torn last one."""
    data = folder.examined.read_bytes() if folder.examined.exists() else b""
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if is_examined(line):
            yield number, json.loads(line)
        elif line.strip() and number < len(lines):
            raise _spoilt(folder, number)


def _examined(line: dict[str, Any], pictures: dict[Any, Any]) -> Examined:
    names = tuple(map(str, line["names"]))
    matrix = pl.DataFrame(line["matrix"], schema=MATRIX, orient="row")
    worst = tuple(
        Mistake(m["index"], m["truth"], m["said"], float(m["probability"]), m["png"] or pictures.get(_key(line, m)))
        for m in line["worst"]
    )
    classes = [*matrix["truth"], *matrix["said"], *(m.truth for m in worst), *(m.said for m in worst)]
    if not all(isinstance(number, int) and 0 <= number < len(names) for number in classes):
        raise ValueError("a class without a name")
    if not all(m.png is None or _is_png(m.png) for m in worst):
        raise ValueError("a picture that is no PNG")
    return Examined(line["run"], names, matrix, worst, str(line.get("data")))


def _key(line: dict[str, Any], mistake: dict[str, Any]) -> tuple[str, str]:
    return str(line.get("data")), str(mistake.get("index"))


def _is_png(text: str) -> bool:
    try:
        return base64.b64decode(text, validate=True).startswith(_PNG)
    except (binascii.Error, ValueError):
        return False


def _spoilt(folder: PackFolder, number: int) -> RecordError:
    return RecordError(
        f"{folder.examined}:{number}: does not say what a run got wrong. Was it edited by hand? Take the line out: "
        "the report does without it."
    )
