"""The Python API: what the command line does, as functions; results as Polars tables."""

import contextlib
import json
import os
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console

from paceline.data.describe import lacking
from paceline.data.locate import Files
from paceline.errors import RecordError, StudyError, nearest
from paceline.execute.calibrate import calibrate
from paceline.execute.capable import unable
from paceline.execute.events import Event
from paceline.execute.members import follow, follows
from paceline.execute.session import Session, execute, open_session, set_stale_aside, stale_runs, unlike_data
from paceline.gallery import gallery
from paceline.plan.expand import Trial, expand
from paceline.record.layout import StudyFolder, studies
from paceline.record.outdated import outdated
from paceline.record.reader import PackState, read_packs, read_rows, read_study, states
from paceline.report.planned import begin, left_out, planned
from paceline.report.results import join_rows, run_table, setting_table
from paceline.report.terminal import Tally, show
from paceline.spec import Study, published
from paceline.spec.argument import ArgumentError
from paceline.spec.document import Document
from paceline.spec.study import from_document
from paceline.spec.study import load as load_file

if TYPE_CHECKING:
    from paceline.report.advice import Advised
    from paceline.report.answer import Answer
    from paceline.report.comparison import Comparison

PathLike = str | os.PathLike[str]
Sets = list[str] | Mapping[str, Any]
STALE = "{} of these runs are stale: own parts, data or weights have changed since."
EXPORTS = ("csv", "parquet", "tensorboard")


@dataclass(frozen=True)
class Results:
    """What a study has recorded so far."""

    study: Study  # the study as it was run
    runs: pl.DataFrame  # a line a run: case, axes, seed, status, last values
    rows: pl.DataFrame  # every recorded row, with case, axes and seed
    table: pl.DataFrame  # a line a setting: mean over seeds, best first
    folder: Path  # the record
    stale: int = 0  # finished runs whose own parts, data or weights have changed since
    notes: tuple[str, ...] = ()  # in what these are not the results of what was asked for

    @cached_property
    def answer(self) -> "Answer":
        """What the runs say: three sentences, tables, charts, methods. Shows itself in a notebook."""
        return self.answered()

    def answered(self, *, target: float | None = None, price: float | None = None) -> "Answer":
        """The answer with a value of the metric to time, and with what runs cost by the price of a device-hour."""
        from paceline.report.answer import answer

        return answer(self, self.folder, target=target, price=price, outdated=self.notes)

    @cached_property
    def advice(self) -> "Advised":
        """What to change, ranked, each with evidence, gain, price and how sure it is; and what is not said."""
        from paceline.report.advice import advise

        return advise(self.answer)

    def page(self, file: PathLike | None = None) -> Path:
        """Writes the page that `paceline report` writes; unsaid, report.html in the record."""
        from paceline.report.page import write_page

        return write_page(self.answer, Path(file) if file is not None else self.folder / "report.html")

    def export(self, to: str, file: PathLike) -> str:
        """Writes every row for other tools, to csv, parquet or tensorboard, and says what was written."""
        from paceline.report.export import export

        if to not in EXPORTS:
            raise StudyError(f"unknown format '{to}'. {nearest(to, EXPORTS)}")
        return export(self.rows, to, Path(file))

    def _repr_html_(self) -> str:
        return self.answer.html_fragment()

    def __repr__(self) -> str:
        head = f"Results of {self.study.name}: {self.runs.height} runs, {self.rows.height} rows"
        return "\n".join((head, *self.notes, str(self.table)))


def load(
    study: PathLike | Mapping[str, Any],
    *,
    sets: Sets | None = None,
    seeds: int | None = None,
    scale: str | None = None,
) -> Study:
    """A study from a file, from the gallery by name, or from a mapping as a study file would hold it.

    `sets`: values to change, as `["lr=0.1"]` or `{"lr": 0.1}`; `seeds`: for every setting; `scale`: a size that the
    study defines. They go with a file or a name.
    """
    if isinstance(sets, str):
        raise StudyError('sets is a list of "key=value", or a mapping.', where=f"sets={sets!r}")
    if isinstance(sets, Mapping):
        sets = [f"{key}={json.dumps(_plain(value), default=str)}" for key, value in sets.items()]
    if isinstance(study, Mapping):
        if sets or seeds is not None or scale:
            raise StudyError("sets, seeds and scale go with a file or a gallery name; change the mapping instead.")
        made = from_document(Document("<mapping>", _plain(study)), Path.cwd())
    else:
        made = load_file(find(study), sets=sets, seeds=seeds, scale=scale)
    published.check(made)
    return made


def _plain(said: Any) -> Any:
    """Numbers and lists of NumPy and torch as Python's own."""
    if isinstance(said, Mapping):
        if odd := [key for key in said if not isinstance(key, str)]:
            raise StudyError(f"{odd[0]!r} is no key; keys are text.")
        return {key: _plain(value) for key, value in said.items()}
    if isinstance(said, (list, tuple)):
        return [_plain(value) for value in said]
    return said.tolist() if hasattr(said, "tolist") else said


def _loaded(
    study: Study | PathLike | Mapping[str, Any], sets: Sets | None, seeds: int | None, scale: str | None
) -> Study:
    if not isinstance(study, Study):
        return load(study, sets=sets, seeds=seeds, scale=scale)
    if sets or seeds is not None or scale:
        raise StudyError("sets, seeds and scale go with a file or a gallery name; give them to load instead.")
    return study


def find(study: PathLike) -> Path:
    """The file that STUDY means: itself, or the gallery's of that name."""
    path, shelf = Path(study), gallery()
    if str(study) in shelf and not path.is_file():
        return shelf[str(study)]
    if not str(study):
        raise StudyError(f"no study file and no gallery study ''. {nearest('', shelf)}")
    if path.is_dir():
        raise StudyError(f"'{study}' is a folder; name a study file in it, or a study of the gallery.")
    other = path.with_suffix(".yaml" if path.suffix == ".yml" else ".yml")
    if path.suffix in (".yaml", ".yml") and not path.is_file() and other.is_file():
        raise StudyError(f"no such file. Did you mean '{other}'?", where=str(path))
    if path.is_file() or path.suffix in (".yaml", ".yml"):
        return path
    beside = [file for suffix in (".yaml", ".yml") if (file := path.with_suffix(suffix)).is_file()]
    hint = f"Did you mean '{beside[0]}'?" if beside else nearest(str(study), shelf)
    raise StudyError(f"no study file and no gallery study '{study}'. {hint}")


def plan(
    study: Study | PathLike | Mapping[str, Any],
    *,
    out: PathLike = "runs",
    jobs: int | None = None,
    stack: bool | None = None,
    sets: Sets | None = None,
    seeds: int | None = None,
    scale: str | None = None,
) -> str:
    """What `run` would do, and what this machine lacks for it. Nothing trains."""
    session = open_session(_loaded(study, sets, seeds, scale), Path(out), jobs=jobs, stack=stack)
    return "\n".join((*planned(session), *absent(session.study, session.trials)))


def absent(study: Study, trials: list[Trial]) -> list[str]:
    """What the runs would miss on this machine: data, weights, devices."""
    files = replace(Files.search(must_exist=False), beside=study.folder)
    return [*lacking((trial.run for trial in trials), files), *left_out(unable(trials))]


def run(
    study: Study | PathLike | Mapping[str, Any],
    *,
    out: PathLike = "runs",
    jobs: int | None = None,
    stack: bool | None = None,
    data: PathLike | None = None,
    retry_failed: bool = False,
    redo_stale: bool = False,
    sets: Sets | None = None,
    seeds: int | None = None,
    scale: str | None = None,
    progress: bool | None = None,
) -> Results:
    """Trains what is missing of a study and gives all its results; PacelineError if it cannot. In processes that
    torchrun has started, all of them have to call it.

    `jobs`: processes side by side; `stack`: whether like runs train as one program. Unsaid, what is fastest.
    `sets`, `seeds`, `scale`: as for `load`. `progress`: whether to show how it goes, as `paceline run` does, on stderr;
    unsaid, on a terminal and in a notebook.
    """
    study = _loaded(study, sets, seeds, scale)
    if follows():
        follow()
        return results(study, out=out)
    console, where = _console(progress), Path(data) if data else None
    session, tally = prepare(
        study, Path(out), console, jobs=jobs, stack=stack, data=where, retry_failed=retry_failed, redo_stale=redo_stale
    )
    events = _watched(execute(session, data=where, retry_failed=retry_failed))
    if console is None:
        for _ in events:
            pass
    else:
        show(events, tally, console)
    return results(study, out=out)


def prepare(
    study: Study,
    out: Path,
    console: Console | None,
    *,
    jobs: int | None = None,
    stack: bool | None = None,
    data: Path | None = None,
    retry_failed: bool = False,
    redo_stale: bool = False,
) -> tuple[Session, Tally]:
    """What is to be executed, and what of it is done: stale runs are set aside, if so asked, and how like runs train
    fastest is measured, where that is not known. The console is told."""

    def opened() -> Session:
        return open_session(study, out, jobs=jobs, stack=stack, data=data)

    def say(line: str) -> None:
        if console is not None:
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    session = opened()
    if redo_stale and session.stale:
        set_stale_aside(session)
        session = opened()
    measured = False
    for line in calibrate(session, session.missing(retry_failed)):
        say(line)
        measured = True
    if measured:
        session = opened()
    lines, tally = begin(session, retry_failed)
    for line in lines:
        say(line)
    return session, tally


def _console(progress: bool | None) -> Console | None:
    shown = progress if progress is not None else Console(stderr=True).is_terminal or Console().is_jupyter
    return Console(stderr=True, force_jupyter=False) if shown else None  # plain lines in a notebook, not a cell each


def _watched(events: Generator[Event]) -> Iterator[Event]:
    """Ends what trains with itself, whoever still holds on to it."""
    with contextlib.closing(events):
        for event in events:
            if event.kind == "refused":
                raise RecordError(event.reason)
            if event.kind == "stopped":
                raise KeyboardInterrupt
            yield event


def results(study: Study | PathLike | Mapping[str, Any], *, out: PathLike = "runs") -> Results:
    """What is recorded of a study, by its name, its file, its mapping, or its record folder. Where that is not what the
    study says now, its notes say so."""
    study = load(study) if isinstance(study, Mapping) else study
    folder = record_of(study, Path(out))
    stored = read_study(folder)
    packs = read_packs(folder)
    trials = expand(stored, own_parts=False)
    rows = read_rows(packs)
    runs = run_table(trials, packs, rows, stored.select)
    stale = _stale(stored, trials, packs)
    unlike = unlike_data(trials, states(packs))
    notes = [*outdated(study, stored, folder), *([STALE.format(stale)] if stale else []), *unlike]
    table = setting_table(stored, runs)
    return Results(stored, runs, join_rows(trials, rows, packs), table, folder.path, stale, tuple(notes))


def compare(a: PathLike, b: PathLike) -> "Comparison":
    """Two records of a study, or two folders of records, joined like for like; RecordError if no run is in both.

    The result has sentences (text), tables (settings, pairs, machines, refused), and shows itself in a notebook.
    """
    from paceline.report.comparison import compare as compared

    return compared(Path(a), Path(b))


def _stale(stored: Study, trials: list[Trial], packs: list[PackState]) -> int:
    try:
        return len(stale_runs(stored, trials, states(packs))) if stored.folder.is_dir() else 0
    except ArgumentError:  # own parts are not here: a record is read on any machine
        return 0


def record_of(study: Study | PathLike, out: Path) -> StudyFolder:
    first = "Run it" if isinstance(study, Study) else f"Run `paceline run {study}`"
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
        raise RecordError(f"no records of '{name}' under {out}. {first} first, or say --out.")
    return folder
