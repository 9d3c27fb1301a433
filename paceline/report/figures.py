"""The charts and tables of an answer as files for a paper: PNG, SVG, PDF; Markdown, LaTeX, CSV."""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import vl_convert

from paceline.record.layout import cannot_write, make_folder
from paceline.report.answer import Answer
from paceline.report.charts.picture import picture
from paceline.report.formats import render, tex
from paceline.report.markup import LONG
from paceline.report.names import plain
from paceline.report.results import shown
from paceline.report.sheet import Sheet
from paceline.report.sheets import TIED

SCALE = 2.0  # pixels of a PNG for each of the chart


def write_figures(answer: Answer, folder: Path) -> list[Path]:
    """Writes every chart and table; the files written. Long tables are written as CSV alone."""
    make_folder(folder, "--figures")
    written = []
    try:
        for path, content in (*_charts(answer, folder), *tables(answer, folder)):
            path.write_bytes(content)
            written.append(path)
    except OSError as error:
        raise cannot_write(folder, error, "--figures") from None
    return written


def _charts(answer: Answer, folder: Path) -> Iterator[tuple[Path, bytes]]:
    for figure in answer.figures:
        svg = picture(figure.chart)
        name = _file_name(figure.key)
        yield folder / f"{name}.svg", svg.encode()
        yield folder / f"{name}.png", vl_convert.svg_to_png(svg, scale=SCALE)
        yield folder / f"{name}.pdf", vl_convert.svg_to_pdf(svg)


def tables(answer: Answer, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Each table as it would stand in the folder; a long one as CSV alone."""
    for sheet in answer.sheets:
        yield folder / f"{sheet.key}.csv", sheet.table.write_csv().encode()
        if sheet.table.height <= LONG:
            yield folder / f"{sheet.key}.md", f"{render(sheet.table, 'md', sheet.title)}\n\n{sheet.note}\n".encode()
            yield folder / f"{sheet.key}.tex", latex(sheet).encode()


def _file_name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", key)


def latex(sheet: Sheet) -> str:
    """A booktabs table. Bold only what is significantly best; a dagger marks what is not separated from it."""
    table = _intervals(sheet.table)
    stands = table["stands"].to_list() if "stands" in table.columns else [""] * table.height
    kept = [name for name in table.columns if name != "stands"]
    columns = "".join("r" if table[name].dtype.is_numeric() or name.endswith("interval") else "l" for name in kept)
    rows = [_line(row, stand) for row, stand in zip(table.select(kept).iter_rows(), stands, strict=True)]
    caption = tex(sheet.note) + (r" $^\dagger$ not separated from the best." if TIED in stands else "")
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{tex(sheet.title)}. {caption}}}",
            rf"\label{{tab:{sheet.key}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(tex(plain(name)) for name in kept) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _intervals(table: pl.DataFrame) -> pl.DataFrame:
    """low and high as one column, as a paper has them."""
    if not {"low", "high"} <= set(table.columns):
        return table
    said = [
        f"[{shown(low)}, {shown(high)}]" if low is not None else "-"
        for low, high in zip(table["low"], table["high"], strict=True)
    ]
    place = table.columns.index("low")
    return table.clone().insert_column(place, pl.Series("95 % interval", said, pl.String)).drop("low", "high")


def _line(row: tuple[object, ...], stand: str) -> str:
    cells = [tex(shown(value)) if value != "" else "" for value in row]
    if stand == "best":
        cells = [rf"\textbf{{{cell}}}" if cell else "" for cell in cells]
    if stand == TIED:
        cells[1] += r"$^\dagger$"
    return " & ".join(cells) + r" \\"
