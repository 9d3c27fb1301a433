"""What the verbs of the command line have in common: their options, and how they print."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from paceline import cli_complete as complete

OUT = Path("runs")


class Format(StrEnum):
    text = "text"
    json = "json"
    csv = "csv"
    md = "md"
    latex = "latex"


class Target(StrEnum):
    csv = "csv"
    parquet = "parquet"
    tensorboard = "tensorboard"


class Exchange(StrEnum):
    ring = "ring"
    tree = "tree"
    hierarchical = "hierarchical"


StudyArgument = Annotated[
    str, typer.Argument(metavar="STUDY", help="A gallery name or a study file.", autocompletion=complete.studies)
]
Recorded = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="A study's name, its file, or its record.", autocompletion=complete.recorded),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the records are.")]
Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Where the data sets are.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the study; may be repeated.", autocompletion=complete.keys
    ),
]
Seeds = Annotated[int | None, typer.Option("--seeds", metavar="N", help="Seeds for every setting.")]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="NAME", help="A size that the study defines.", autocompletion=complete.scales),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Processes side by side. If omitted, what is fastest.")
]
Stack = Annotated[
    bool | None,
    typer.Option(
        "--stack/--no-stack", metavar="", help="Whether like runs train as one program. If omitted, what is fastest."
    ),
]
Goal = Annotated[
    float | None,
    typer.Option(
        "--target",
        metavar="VALUE",
        help="Report the time to this accuracy (or loss). If omitted, the target at which the study stops; else an "
        "accuracy one point below the best, or the median of the losses, and for several devices a stable curve.",
    ),
]
Price = Annotated[
    float | None, typer.Option("--price", metavar="P", help="The price of an hour of a device. Costs are then shown.")
]


def _version(asked: bool) -> None:
    if asked:
        import paceline

        print(f"paceline {paceline.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, metavar="", help="Say the version.")
]


def console(stderr: bool = False) -> Any:
    from rich.console import Console

    return Console(stderr=stderr)


def print_table(table: Any, title: str = "") -> None:
    from paceline.report.formats import render

    print(render(table, "text", title))
