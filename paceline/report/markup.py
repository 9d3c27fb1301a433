"""The pieces of a page as HTML. Everything that comes from outside is escaped here."""

import contextlib
import json
import math
import os
import re
import uuid
from html import escape
from pathlib import Path

import polars as pl

from paceline.record.layout import cannot_write, make_folder
from paceline.report.charts import Figure, spec
from paceline.report.names import plain
from paceline.report.results import shown
from paceline.report.sheet import Sheet
from paceline.report.sheets import TIED

_RESULTS = (
    "accuracy",
    "loss",
    "low",
    "high",
    "sd",
    "difference",
    "validation_accuracy",
    "validation_loss",
    "train_loss",
    "gap",
    "precision",
    "recall",
    "truth",
    "probability",
)
LONG = 400  # rows; beyond, a table becomes lines of plain text: it scrolls, and the browser's search finds all of it


def sheet_html(sheet: Sheet) -> str:
    body = table_html(sheet.table) if sheet.table.height <= LONG else text_html(sheet.table)
    return f'<p class="note">{prose(sheet.note)}</p>\n{body}'


def table_html(table: pl.DataFrame) -> str:
    numeric = [table[name].dtype.is_numeric() for name in table.columns]
    head = "".join(
        f"<th{_right(right)}>{escape(plain(name))}</th>" for name, right in zip(table.columns, numeric, strict=True)
    )
    stands = table["stands"].to_list() if "stands" in table.columns else [None] * table.height
    texts = zip(*(texts_of(table[name]) for name in table.columns), strict=True)
    body = "\n".join(_row(row, numeric, stand) for row, stand in zip(texts, stands, strict=True))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _row(row: tuple[str, ...], numeric: list[bool], stand: str | None) -> str:
    """Strong only where it is significantly the best; a tie is marked as one."""
    kind = {"best": ' class="best"', TIED: ' class="tied"'}.get(stand or "", "")
    cells = "".join(
        f"<td{_right(right) or _short(value)}>{escape(value)}</td>" for value, right in zip(row, numeric, strict=True)
    )
    return f"<tr{kind}>{cells}</tr>"


def _right(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def _short(value: str) -> str:
    return ' class="s"' if len(value) <= 30 else ""


def texts_of(column: pl.Series) -> list[str]:
    """A column's cells: measured values of one magnitude with the same number of decimals, all others as they are."""
    decimals = _decimals(column)
    if decimals is None:
        missing = "-" if column.dtype.is_numeric() else ""
        return [missing if value is None else _cell(value) for value in column]
    return ["-" if value is None else f"{value:.{decimals}f}" for value in column]


def _decimals(column: pl.Series) -> int | None:
    """Four digits of the largest; None where that would hide the smallest, or the column holds no results."""
    first, *_, last = column.name.split(" ") * 2
    if not column.dtype.is_float() or last not in _RESULTS or first == "published":  # which keeps its own digits
        return None
    sizes = column.drop_nulls().abs()
    least, most = (float(sizes.filter(sizes > 0).min() or 0), float(sizes.max() or 0))  # type: ignore[arg-type]
    if not 1e-3 <= most < 1e4 or least < 1e-3 * most:
        return None
    return max(0, 3 - math.floor(math.log10(most)))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value == "" else shown(value)


def text_html(table: pl.DataFrame) -> str:
    """Lines of aligned text: ten thousand of them are no burden to a browser."""
    columns = [[plain(name), *texts_of(table[name])] for name in table.columns]
    wide = [max(map(len, column)) for column in columns]
    numeric = [table[name].dtype.is_numeric() for name in table.columns]
    padded = [
        [cell.rjust(width) if right else cell.ljust(width) for cell in column]
        for column, width, right in zip(columns, wide, numeric, strict=True)
    ]
    lines = ("  ".join(cells).rstrip() for cells in zip(*padded, strict=True))
    return f'<pre class="long" tabindex="0">{escape(chr(10).join(lines))}</pre>'


def figure_html(figure: Figure) -> str:
    title, caption = escape(figure.title), escape(figure.caption)
    return (
        f'<figure id="chart-{escape(figure.key)}"><figcaption><b>{title}</b> {caption}</figcaption>'
        f'<div class="chart wide" data-chart="{escape(figure.key)}" role="img" aria-label="{title}"></div></figure>'
    )


def specs_json(figures: tuple[Figure, ...]) -> str:
    """As JSON inside a script: no `<` may stand in it."""
    made = {figure.key: spec(figure.chart, "currentColor") for figure in figures}
    return json.dumps(made, allow_nan=False, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def list_html(items: tuple[str, ...], kind: str) -> str:
    return f'<ul class="{kind}">{"".join(f"<li>{prose(item)}</li>" for item in items)}</ul>' if items else ""


def prose(text: str) -> str:
    """Words as HTML; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def write_whole(text: str, file: Path) -> Path:
    """Writes a page, whole or not at all."""
    make_folder(file.parent, "--file")
    beside = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise cannot_write(file, error, "--file") from None
    return file
