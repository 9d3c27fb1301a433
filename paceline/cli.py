"""The command line: thin verbs over the API. Everything heavy is imported inside the verb that needs it."""

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from paceline import cli_complete as complete
from paceline.cli_data import data_app
from paceline.cli_options import (
    OUT,
    Data,
    Exchange,
    Format,
    Goal,
    Jobs,
    Out,
    Price,
    Recorded,
    Scale,
    Seeds,
    Sets,
    Stack,
    StudyArgument,
    Target,
    Version,
    console,
    print_table,
)

app = typer.Typer(
    name="paceline",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Declare a training study, train it for real, get an answer with its evidence.",
)
app.add_typer(data_app, name="data")


SHOWN = 30  # settings that `run` prints at its end


def main() -> None:
    """Runs a verb. Exit code 0: all well; 1: some runs failed; 2: the user's mistake; 130: interrupted."""
    from paceline.errors import PacelineError

    try:
        app()
    except PacelineError as error:
        console(stderr=True).print(f"error: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)


@app.callback()
def options(version: Version = False) -> None:
    pass


@app.command("list")
def list_studies(out: Out = OUT) -> None:
    """The studies that ship with Paceline."""
    import polars as pl

    from paceline.api import load
    from paceline.gallery import gallery
    from paceline.record.layout import StudyFolder

    studies = [load(path) for path in gallery().values()]
    recorded = [
        str(StudyFolder.of(out, s.name).path) if StudyFolder.of(out, s.name).study.exists() else "" for s in studies
    ]
    print_table(
        pl.DataFrame(
            {"study": [s.name for s in studies], "question": [s.question for s in studies], "recorded": recorded}
        )
    )


@app.command()
def check(study: StudyArgument, sets: Sets = None, seeds: Seeds = None, scale: Scale = None, out: Out = OUT) -> None:
    """Read a study and say what it asks for, and what of that is missing on this machine; nothing trains."""
    from paceline.api import absent, load
    from paceline.plan.expand import expand
    from paceline.report.names import counted
    from paceline.report.results import axis_names

    loaded = load(study, sets=sets, seeds=seeds, scale=scale)
    trials = expand(loaded)
    unique = len({trial.id for trial in trials})
    cases = f"{counted(len(loaded.cases), 'case')}, " if loaded.cases else ""
    axes = ", ".join(axis_names(trials)) or "none"
    print(f"{loaded.name}: ok. {cases}axes: {axes}; {counted(loaded.repeat, 'seed')}; {counted(unique, 'run')}.")
    for line in absent(loaded, trials):
        print(line)


@app.command()
def schema() -> None:
    """The JSON schema of the study file, by which an editor completes and checks it."""
    import json

    from paceline.spec.schema import schema as made

    print(json.dumps(made(), indent=1))


@app.command()
def plan(
    study: StudyArgument,
    sets: Sets = None,
    seeds: Seeds = None,
    scale: Scale = None,
    jobs: Jobs = None,
    stack: Stack = None,
    out: Out = OUT,
) -> None:
    """Say what `run` would do: runs, packs, minutes, memory, disk, and what of data, weights and devices is missing.

    Nothing trains.
    """
    from paceline.api import plan as made

    print(made(study, out=out, jobs=jobs, stack=stack, sets=sets, seeds=seeds, scale=scale))


@app.command()
def run(
    study: StudyArgument,
    sets: Sets = None,
    seeds: Seeds = None,
    scale: Scale = None,
    jobs: Jobs = None,
    stack: Stack = None,
    out: Out = OUT,
    data: Data = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", metavar="", help="Try failed runs again.")] = False,
    redo_stale: Annotated[
        bool, typer.Option("--redo-stale", metavar="", help="Train runs again whose own parts or data changed.")
    ] = False,
) -> None:
    """Train what is missing of a study. The same command continues a study that was broken off."""
    from paceline.api import load, results
    from paceline.errors import RecordError
    from paceline.execute.calibrate import calibrate
    from paceline.execute.members import follow, follows
    from paceline.execute.session import execute, open_session, set_stale_aside
    from paceline.report.methods import totals
    from paceline.report.names import titled
    from paceline.report.page import write_page
    from paceline.report.planned import begin
    from paceline.report.results import compact
    from paceline.report.terminal import duration, show

    if follows():
        follow()
        return
    terminal = console()
    loaded = load(study, sets=sets, seeds=seeds, scale=scale)
    session = open_session(loaded, out, jobs=jobs, stack=stack)
    if redo_stale and session.stale:
        set_stale_aside(session)
        session = open_session(loaded, out, jobs=jobs, stack=stack)
    measured = False
    for line in calibrate(session, session.missing(retry_failed)):
        terminal.print(line, markup=False, highlight=False, soft_wrap=True)
        measured = True
    if measured:
        session = open_session(loaded, out, jobs=jobs, stack=stack)
    lines, tally = begin(session, retry_failed)
    for line in lines:
        terminal.print(line, markup=False, highlight=False, soft_wrap=True)
    refused = show(execute(session, data=data, retry_failed=retry_failed), tally, terminal)
    if refused:
        raise RecordError(refused.reason)
    found = results(loaded, out=out)
    table = found.table
    print_table(compact(table.head(SHOWN)), titled(loaded))
    if table.height > SHOWN:
        print(f"... and {table.height - SHOWN} more settings: paceline table {loaded.name} --out {out}")
    page = write_page(found.answer, found.folder / "report.html")
    print(f"\n{found.answer.text}\nReport: {page}")
    _, evaluated, wall = totals(found.runs.unique("run"))
    if evaluated:
        print(f"Trained in {duration(wall)}; evaluation took {evaluated / wall:.0%} of it.")
    _end(open_session(loaded, out, jobs=jobs, stack=stack))


def _end(session: Any) -> None:
    """The last line and the exit code."""
    from paceline.report.failures import failures

    standing = session.standing()
    failed, total = standing.get("failed", 0), len(session.ids)
    ended = standing.get("done", 0) + standing.get("diverged", 0)
    where = session.folder.path
    print(f"{ended} of {total} done. Records: {where}")
    if failed:
        print(*failures(session.runs.values()), sep="\n")
    waiting = len(session.missing() & session.left_out.keys())
    if waiting:
        print(f"{waiting} are left for a machine that can train them: the same command there, into the same folder.")
    total -= waiting
    elsewhere = standing.get("running", 0)
    if elsewhere and ended + failed + elsewhere == total:
        print(f"{elsewhere} are being trained by another process.")
        raise typer.Exit(1 if failed else 0)
    if ended + failed < total:
        print("The same command continues.")
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


def _note(notes: Iterable[str]) -> None:
    """Beside what is printed, so that a table in a file stays a table."""
    for note in notes:
        print(f"Note: {note}", file=sys.stderr)


@app.command()
def status(
    study: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", help="One study; unsaid, all of them.", autocompletion=complete.recorded),
    ] = None,
    out: Out = OUT,
) -> None:
    """How recorded studies stand: done, running, failed, interrupted."""
    from paceline.api import record_of
    from paceline.record.layout import studies
    from paceline.report.planned import standing

    folders = studies(out) if study is None else [record_of(study, out)]
    found, wrong = standing(folders)
    if not found.is_empty():
        print_table(found)
    elif not wrong:
        print(f"Nothing is recorded under {out} yet.")
    for line in wrong:
        console(stderr=True).print(f"error: {line}", markup=False, highlight=False, soft_wrap=True)
    if wrong:
        raise typer.Exit(2)


@app.command()
def table(
    study: Recorded,
    form: Annotated[Format, typer.Option("--format", help="How to write the table.")] = Format.text,
    out: Out = OUT,
) -> None:
    """The results so far: a line a setting, the mean over its seeds, best first."""
    from paceline.api import results
    from paceline.report.formats import render
    from paceline.report.names import size, titled
    from paceline.report.results import compact

    found = results(study, out=out)
    _note(found.notes)
    text = form == Format.text
    title = titled(found.study) if text else size(found.study)
    print(render(compact(found.table) if text else found.table, str(form), title))


@app.command()
def report(
    study: Recorded,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="The page; unsaid, in the record.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Charts as PNG, SVG and PDF, tables as files.")
    ] = None,
    target: Goal = None,
    price: Price = None,
    out: Out = OUT,
) -> None:
    """One page that answers the study's question: sentences, tables, charts, methods. It needs no network."""
    from paceline.api import results
    from paceline.report.figures import write_figures
    from paceline.report.page import write_page

    found = results(study, out=out)
    said = found.answered(target=target, price=price)
    print(said.text)
    print(f"Report: {write_page(said, file or found.folder / 'report.html')}")
    if figures is not None:
        print(f"{len(write_figures(said, figures))} files in {figures}")


@app.command()
def advise(
    study: Recorded,
    target: Goal = None,
    price: Price = None,
    form: Annotated[
        Format, typer.Option("--format", help="How to write it; but for text, as a table, what is not said included.")
    ] = Format.text,
    out: Out = OUT,
) -> None:
    """What to change, by the runs recorded: ranked, each with its evidence, its gain, its price and how sure it is.

    Nothing trains. At the end stands what is not said, and why.
    """
    from paceline.api import results
    from paceline.report.advice import advise as advised
    from paceline.report.formats import render
    from paceline.report.names import titled

    found = results(study, out=out)
    said = advised(found.answered(target=target, price=price), price)
    _note(found.notes)
    print(said.text if form == Format.text else render(said.table, str(form), titled(found.study)))


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A study's record, as runs/NAME, or a folder of records.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The same runs, trained elsewhere.")],
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="The page; unsaid, compare.html in this folder.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How to write the table; but for text, only the table is written.")
    ] = Format.text,
) -> None:
    """Two records of the same runs (two machines, CPU and GPU, two versions): times, results, what differs.

    Runs that are not the same on both sides are refused and listed.
    """
    from paceline.api import compare as compared
    from paceline.report.comparison import printed
    from paceline.report.comparison_page import write_comparison
    from paceline.report.formats import render

    found = compared(a, b)
    if form == Format.text:
        print(printed(found))
        print(f"Page: {write_comparison(found, file or Path('compare.html'))}")
        return
    print(render(found.table, str(form), found.title))
    _note((*found.notes, found.join))
    if file is not None:
        write_comparison(found, file)


@app.command()
def predict(
    study: Recorded,
    devices: Annotated[str, typer.Option("--devices", metavar="N,N,...", help="Counts, as 16,32,1024.")],
    target: Goal = None,
    price: Price = None,
    mechanism: Annotated[
        bool | None,
        typer.Option(
            "--mechanism/--no-mechanism",
            metavar="",
            help="Also by the mechanism of a step, for which this machine is measured the first time, about a minute. "
            "Unsaid, only where runs are recorded; --mechanism does without.",
        ),
    ] = None,
    link: Annotated[
        str | None, typer.Option("--link", metavar="LINK", help="Of a node to others, as '10 Gbit/s, 50 us'.")
    ] = None,
    within: Annotated[
        str | None, typer.Option("--within", metavar="LINK", help="Between devices of a node, as '12 GB/s, 5 us'.")
    ] = None,
    per_node: Annotated[int, typer.Option("--per-node", metavar="N", min=1, help="Devices of a node.")] = 1,
    exchange: Annotated[Exchange, typer.Option("--all-reduce", help="How gradients are summed.")] = Exchange.ring,
    form: Annotated[
        Format, typer.Option("--format", help="How to write the table; but for text, only that of the fits is written.")
    ] = Format.text,
    out: Out = OUT,
    data: Data = None,
) -> None:
    """What more devices would do: by laws fitted to the runs recorded, and by the mechanism of a step.

    Every prediction has its own check: the fit without the largest count, the mechanism against what was recorded.
    """
    from paceline.api import load, results
    from paceline.errors import RecordError
    from paceline.execute.anatomy import anatomy
    from paceline.report.by_mechanism import by_mechanism, stated
    from paceline.report.formats import render
    from paceline.report.predicted import asked, flat, forecasts, notes, printed, read_counts

    links, recorded = stated(link, within, per_node, str(exchange)), None
    try:
        found = results(study, out=out)
        loaded, recorded = found.study, found.runs
        wanted = asked(found.answered(target=target, price=price), devices, price)
    except RecordError as error:
        if not mechanism:
            raise
        loaded = load(study)
        print(f"Nothing is fitted: {error}")
    else:
        _note(found.notes)
        if form != Format.text:
            made = list(forecasts(wanted))
            print(render(flat(made), str(form)))
            _note(notes(made))
            return
        print(printed(wanted))
    if mechanism is not False:
        measure = partial(anatomy, folder=loaded.folder, data=data)
        for block in by_mechanism(loaded, read_counts(devices), measure, links, recorded):
            print(f"\n{block}", flush=True)


@app.command()
def export(
    study: Recorded,
    to: Annotated[Target, typer.Option("--to", help="The format.")],
    file: Annotated[Path, typer.Option("--file", metavar="F", help="A file; a folder for tensorboard.")],
    out: Out = OUT,
) -> None:
    """Write every recorded row, with case, axes and seed, for other tools."""
    from paceline.api import results
    from paceline.report.export import export as write

    found = results(study, out=out)
    _note(found.notes)
    print(write(found.rows, str(to), file))


if __name__ == "__main__":
    main()
