"""The command line: thin verbs over the API. Everything heavy is imported inside the verb that needs it."""

import sys
from typing import Annotated, Any

import typer

from paceline import cli_complete as complete
from paceline.cli_data import data_app
from paceline.cli_options import (
    OUT,
    Data,
    Jobs,
    Out,
    Scale,
    Seeds,
    Sets,
    Stack,
    StudyArgument,
    Version,
    console,
    print_table,
)
from paceline.cli_results import results_app

app = typer.Typer(
    name="paceline",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Declare a training study, train it for real, get an answer with its evidence.",
)

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
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        console(stderr=True).print(f"error: {said}.", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)


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
def check(study: StudyArgument, sets: Sets = None, seeds: Seeds = None, scale: Scale = None) -> None:
    """Read a study and say what it asks for, and what of that is missing on this machine; nothing trains."""
    from paceline.api import absent, load
    from paceline.plan.expand import expand
    from paceline.report.names import counted
    from paceline.report.results import axis_names

    loaded = load(study, sets=sets, seeds=seeds, scale=scale)
    trials = expand(loaded)
    for size in loaded.scales if scale is None else ():
        expand(load(study, sets=sets, seeds=seeds, scale=size))
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
    from paceline.api import load, prepare, results
    from paceline.errors import RecordError
    from paceline.execute.members import follow, follows
    from paceline.execute.session import execute, open_session
    from paceline.report.methods import totals
    from paceline.report.names import titled
    from paceline.report.page import write_page
    from paceline.report.results import compact
    from paceline.report.terminal import duration, show

    if follows():
        follow()
        return
    terminal = console()
    loaded = load(study, sets=sets, seeds=seeds, scale=scale)
    session, tally = prepare(
        loaded, out, terminal, jobs=jobs, stack=stack, data=data, retry_failed=retry_failed, redo_stale=redo_stale
    )
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
    _end(open_session(loaded, out, jobs=jobs, stack=stack, data=data))


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
    elsewhere = session.with_others()
    if elsewhere and ended + failed + elsewhere == total:
        print(f"{elsewhere} are being trained by another process.")
        raise typer.Exit(1 if failed else 0)
    if ended + failed < total:
        print("The same command continues.")
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


@app.command()
def status(
    study: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", help="One study. If omitted, all of them.", autocompletion=complete.recorded),
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


app.add_typer(results_app)
app.add_typer(data_app, name="data")


if __name__ == "__main__":
    main()
