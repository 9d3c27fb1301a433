"""Verbs that read what is recorded: table, report, advise, compare, predict, export."""

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from paceline.cli_options import OUT, Data, Exchange, Format, Goal, Out, Price, Recorded, Target

results_app = typer.Typer()


@results_app.command()
def table(
    study: Recorded,
    form: Annotated[Format, typer.Option("--format", help="How to write the table.")] = Format.text,
    out: Out = OUT,
) -> None:
    """The results so far: one line per setting, the mean over its seeds, best first."""
    from paceline.api import results
    from paceline.report.formats import render
    from paceline.report.names import size, titled
    from paceline.report.results import compact

    found = results(study, out=out)
    _note(found.notes)
    text = form == Format.text
    title = titled(found.study) if text else size(found.study)
    print(render(compact(found.table) if text else found.table, str(form), title))


@results_app.command()
def report(
    study: Recorded,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="The page. If omitted, in the record.")
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


@results_app.command()
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
    said = advised(found.answered(target=target, price=price))
    _note(found.notes)
    print(said.text if form == Format.text else render(said.table, str(form), titled(found.study)))


@results_app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A study's record, as runs/NAME, or a folder of records.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The same runs, trained elsewhere.")],
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="The page. If omitted, compare.html in this folder.")
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


@results_app.command()
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
            "If omitted, only where runs are recorded; --mechanism does without.",
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
    from paceline.errors import RecordError, StudyError
    from paceline.execute.anatomy import anatomy
    from paceline.report.by_mechanism import by_mechanism, stated
    from paceline.report.formats import render
    from paceline.report.predicted import asked, flat, forecasts, notes, printed, read_counts

    if mechanism and form != Format.text:
        raise StudyError("the mechanism is said in text alone; leave --mechanism or --format out.", where="--format")
    links, found = stated(link, within, per_node, str(exchange)), None
    try:
        found = results(study, out=out)
        wanted = asked(found.answered(target=target, price=price), devices)
    except RecordError as error:
        if not mechanism:
            raise
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
        loaded = found.study if found else load(study)
        measure = partial(anatomy, folder=loaded.folder, data=data)
        for block in by_mechanism(loaded, read_counts(devices), measure, links, found.runs if found else None):
            print(f"\n{block}", flush=True)


@results_app.command()
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


def _note(notes: Iterable[str]) -> None:
    """Beside what is printed, so that a table in a file stays a table."""
    for note in notes:
        print(f"Note: {note}", file=sys.stderr)
