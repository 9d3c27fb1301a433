"""The verbs of `paceline data`."""

from typing import Annotated, Any

import typer

from paceline import cli_complete as complete
from paceline.cli_options import Data, console, print_table

data_app = typer.Typer(no_args_is_help=True, help="Data sets: what there is, fetch it, check it.")


@data_app.command("list")
def data_list(data: Data = None) -> None:
    """The data sets Paceline knows, and which are here."""
    import polars as pl

    from paceline.data.describe import describe
    from paceline.data.locate import Files

    rows = [{**row, "shape": " x ".join(map(str, row["shape"]))} for row in describe(Files.search(data))]
    print_table(pl.DataFrame(rows).drop("source"))


@data_app.command("get")
def data_get(
    name: Annotated[
        str, typer.Argument(metavar="SET", help="A data set, or a file of weights.", autocompletion=complete.fetched)
    ],
    data: Data = None,
) -> None:
    """Fetch a data set or pre-trained weights, checked by SHA-256; goes on where a broken download stopped."""
    from paceline.data import catalogue, pretrained
    from paceline.data.fetch import fetch
    from paceline.data.locate import Files
    from paceline.errors import DataError, nearest
    from paceline.report.fetching import Fetching

    name = pretrained.IMAGENET.get(name, name)
    wanted = pretrained.entry(name) or catalogue.ENTRIES.get(name)
    if wanted is None:
        raise DataError(f"Nothing to fetch is called '{name}'. {nearest(name, complete.fetched(''))}")
    with Fetching(console()) as fetching:
        fetch(wanted, Files.search(data, must_exist=False).home(wanted.name), report=fetching.report)


@data_app.command("check")
def data_check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="A data set, folder:PATH, or my_file:name in this folder.",
            autocompletion=complete.data_sets,
        ),
    ],
    data: Data = None,
    leakage: Annotated[bool, typer.Option(metavar="", help="Compare test images with those trained on.")] = True,
) -> None:
    """Read a data set as training would: checksum, counts, class balance, corrupt images, test images trained on."""
    import polars as pl

    from paceline.data.check import check as check_set
    from paceline.data.check import checked
    from paceline.data.locate import Files

    files = Files.search(data)
    if ":" in name and not name.startswith("folder:"):
        found = checked(_own(name, files), compare=leakage)
    else:
        found = check_set(name, files, compare=leakage)
    rows = [{**row, "shape": " x ".join(map(str, row["shape"]))} for row in found.rows]
    table = pl.DataFrame(rows)
    print_table(
        table.drop([column for column in ("fewest_of", "most_of") if table[column].null_count() == table.height])
    )
    for note in found.notes:
        print(f"\nNote: {note}")
    if leakage:
        print(f"\n{found.verdict}")
    if found.pairs:
        print_table(pl.DataFrame(found.pairs), "The closest pairs:")


def _own(name: str, files: Any) -> Any:
    """The data that a function of the user's gives, unsaid arguments at their defaults."""
    import traceback
    from pathlib import Path

    from paceline.errors import DataError, PacelineError
    from paceline.report.failures import place
    from paceline.spec.argument import ArgumentError
    from paceline.spec.part import read
    from paceline.spec.signature import check as check_signature
    from paceline.train.build import dataset_of

    try:
        part = read("data", name)
        check_signature(part, Path.cwd())
    except ArgumentError as error:
        raise DataError(f"{name}: {error}") from None
    try:
        return dataset_of(part, files, Path.cwd())
    except PacelineError:
        raise
    except Exception as error:
        raise DataError(f"{name}: {type(error).__name__}: {error}{place(traceback.format_exc())}") from None
