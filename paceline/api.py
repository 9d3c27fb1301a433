"""The Python API: what the command line does, as functions; results as Polars tables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from paceline.errors import RecordError, StudyError, nearest
from paceline.execute.calibrate import calibrate
from paceline.execute.members import follow, follows
from paceline.execute.session import execute, open_session, set_stale_aside, stale_runs
from paceline.gallery import gallery
from paceline.plan.expand import expand
from paceline.record.layout import StudyFolder, read_json, studies
from paceline.record.reader import read_packs, read_rows, read_study, states
from paceline.report.results import join_rows, run_table, setting_table
from paceline.spec import Study
from paceline.spec.document import Document
from paceline.spec.study import from_document
from paceline.spec.study import load as load_file

if TYPE_CHECKING:
    from paceline.report.advice import Advised
    from paceline.report.answer import Answer
    from paceline.report.comparison import Comparison

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Results:
    """What a study has recorded so far."""

    study: Study  # the study as it was run
    runs: pl.DataFrame  # a line a run: case, axes, seed, status, last values
    rows: pl.DataFrame  # every recorded row, with case, axes and seed
    table: pl.DataFrame  # a line a setting: mean over seeds, best first
    folder: Path  # the record
    stale: int = 0  # finished runs whose own parts have changed since
    namesake: str = ""  # the file these results are of, if it is not the one asked for

    @cached_property
    def answer(self) -> "Answer":
        """What the runs say: three sentences, tables, charts, methods. Shows itself in a notebook."""
        from paceline.report.answer import answer

        return answer(self, self.folder)

    @cached_property
    def advice(self) -> "Advised":
        """What to change, ranked, each with evidence, gain, price and how sure it is; and what is not said."""
        from paceline.report.advice import advise

        return advise(self.answer)

    def _repr_html_(self) -> str:
        return self.answer.html_fragment()

    def __repr__(self) -> str:
        return f"Results of {self.study.name}: {self.runs.height} runs, {self.rows.height} rows\n{self.table}"


def load(
    study: PathLike | Mapping[str, Any],
    *,
    sets: list[str] | None = None,
    seeds: int | None = None,
    scale: str | None = None,
) -> Study:
    """A study from a file, from the gallery by name, or from a mapping as a study file would hold it."""
    if isinstance(sets, str):
        raise StudyError('sets is a list of "key=value".', where=f"sets={sets!r}")
    if isinstance(study, Mapping):
        if sets or seeds or scale:
            raise StudyError("sets, seeds and scale go with a file or a gallery name; change the mapping instead.")
        return from_document(Document("<mapping>", dict(study)), Path.cwd())
    return load_file(find(study), sets=sets, seeds=seeds, scale=scale)


def find(study: PathLike) -> Path:
    """The file that STUDY means: itself, or the gallery's of that name."""
    path, shelf = Path(study), gallery()
    other = path.with_suffix(".yaml" if path.suffix == ".yml" else ".yml")
    if path.suffix in (".yaml", ".yml") and not path.is_file() and other.is_file():
        raise StudyError(f"no such file. Did you mean '{other}'?", where=str(path))
    if path.is_file() or path.suffix in (".yaml", ".yml"):
        return path
    if str(study) in shelf:
        return shelf[str(study)]
    beside = [file for suffix in (".yaml", ".yml") if (file := path.with_suffix(suffix)).is_file()]
    hint = f"Did you mean '{beside[0]}'?" if beside else nearest(str(study), shelf)
    raise StudyError(f"no study file and no gallery study '{study}'. {hint}")


def run(
    study: Study | PathLike | Mapping[str, Any],
    *,
    out: PathLike = "runs",
    jobs: int | None = None,
    stack: bool | None = None,
    data: PathLike | None = None,
    retry_failed: bool = False,
    redo_stale: bool = False,
) -> Results:
    """Trains what is missing of a study and gives all its results; PacelineError if it cannot. In processes that
    torchrun has started, all of them have to call it.

    `jobs`: processes side by side; `stack`: whether like runs train as one program. Unsaid, what is fastest.
    """
    study = study if isinstance(study, Study) else load(study)
    if follows():
        follow()
        return results(study, out=out)
    session = open_session(study, Path(out), jobs=jobs, stack=stack)
    if redo_stale and session.stale:
        set_stale_aside(session)
        session = open_session(study, Path(out), jobs=jobs, stack=stack)
    if list(calibrate(session, session.missing(retry_failed))):
        session = open_session(study, Path(out), jobs=jobs, stack=stack)
    for event in execute(session, data=Path(data) if data else None, retry_failed=retry_failed):
        if event.kind == "refused":
            raise RecordError(event.reason)
        if event.kind == "stopped":
            raise KeyboardInterrupt
    return results(study, out=out)


def results(study: Study | PathLike, *, out: PathLike = "runs") -> Results:
    """What is recorded of a study, by its name, its file, or its record folder."""
    folder = record_of(study, Path(out))
    stored = read_study(folder)
    packs = read_packs(folder)
    trials = expand(stored, own_parts=False)
    rows = read_rows(packs)
    runs = run_table(trials, packs, rows, stored.select)
    stale = len(stale_runs(stored, trials, states(packs))) if stored.folder.is_dir() else 0
    table = setting_table(stored, runs)
    return Results(stored, runs, join_rows(trials, rows, packs), table, folder.path, stale, _namesake(study, folder))


def compare(a: PathLike, b: PathLike) -> "Comparison":
    """Two records of a study, or two folders of records, joined like for like; RecordError if no run is in both.

    The result has sentences (text), tables (settings, pairs, machines, refused), and shows itself in a notebook.
    """
    from paceline.report.comparison import compare as compared

    return compared(Path(a), Path(b))


def _namesake(study: Study | PathLike, folder: StudyFolder) -> str:
    file = str(read_json(folder.study).get("file", ""))
    asked = Path(study) if not isinstance(study, Study) else Path()
    return file if file and asked.is_file() and asked.resolve() != Path(file).resolve() else ""


def record_of(study: Study | PathLike, out: Path) -> StudyFolder:
    if isinstance(study, Study):
        name = study.name
    elif (Path(study) / "study.json").is_file():
        return StudyFolder(Path(study))
    elif (out / str(study) / "study.json").is_file():
        name = str(study)
    else:
        known = [known.path.name for known in studies(out)]
        try:
            name = load(study).name
        except StudyError:
            if Path(study).suffix in (".yaml", ".yml"):
                raise
            shown = nearest(str(study), known, "Recorded") if known else "Nothing is recorded there yet."
            raise RecordError(f"no records of '{study}' under {out}. {shown}") from None
    folder = StudyFolder.of(out, name)
    if not folder.study.is_file():
        raise RecordError(f"no records of '{name}' under {out}. Run `paceline run {name}` first, or say --out.")
    return folder
