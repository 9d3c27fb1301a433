"""One table in five formats: text for the terminal, JSON, CSV, Markdown, LaTeX."""

import io
import json
import shutil
import sys
from collections.abc import Iterable

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from paceline.report.results import shown

WIDTH = 200  # of text that goes to a file or a pipe
_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def render(table: pl.DataFrame, form: str, title: str = "") -> str:
    return {"text": _text, "json": _json, "csv": _csv, "md": _markdown, "latex": _latex}[form](table, title)


def rich_table(table: pl.DataFrame) -> Table:
    made = Table(header_style="bold", box=None, pad_edge=False)
    for name in table.columns:
        number = table[name].dtype.is_numeric()
        made.add_column(Text(name), justify="right" if number else "left", overflow="fold", no_wrap=number)
    for row in table.iter_rows():
        made.add_row(*(Text(shown(value)) for value in row))
    return made


def _text(table: pl.DataFrame, title: str) -> str:
    buffer = io.StringIO()
    width = max(60, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH
    Console(file=buffer, width=width, color_system=None).print(rich_table(table))
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join([title, *lines] if title else lines)


def _json(table: pl.DataFrame, title: str) -> str:
    return json.dumps(table.to_dicts(), indent=1, allow_nan=False)


def _csv(table: pl.DataFrame, title: str) -> str:
    return table.write_csv().rstrip("\n")


def _markdown(table: pl.DataFrame, title: str) -> str:
    lines = [
        _pipes(map(_cell, table.columns)),
        _pipes(["---:" if table[c].dtype.is_numeric() else "---" for c in table.columns]),
    ]
    lines += [_pipes(_cell(shown(value)) for value in row) for row in table.iter_rows()]
    return "\n".join([f"**{_line(title)}**", "", *lines] if title else lines)


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    """Of a text with several lines, as an error has: one."""
    return " ".join(text.split())


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _latex(table: pl.DataFrame, title: str) -> str:
    columns = "".join("r" if table[name].dtype.is_numeric() else "l" for name in table.columns)
    body = [" & ".join(tex(_line(shown(value))) for value in row) + r" \\" for row in table.iter_rows()]
    head = " & ".join(map(tex, table.columns)) + r" \\"
    inside = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*([f"% {_line(title)}"] if title else []), r"% needs \usepackage{booktabs}", *inside])


def tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)
