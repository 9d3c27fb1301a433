"""The page of a comparison: answer, chart, settings, what differs in the machines, what was refused. No network."""

import re
from html import escape
from importlib import metadata, resources
from pathlib import Path

from paceline.report.charts.picture import picture
from paceline.report.comparison import METHODS, Comparison
from paceline.report.markup import figure_html, list_html, sheet_html, specs_json, table_html, write_whole
from paceline.report.scripts import vega
from paceline.report.sheet import Sheet


def write_comparison(comparison: Comparison, file: Path) -> Path:
    return write_whole(page(comparison), file)


def page(comparison: Comparison) -> str:
    look = _template("page.html")
    parts = {
        "title": escape(comparison.title),
        "style": _piece(look, "<style>", "</style>"),
        "answer": "\n".join(f"<p>{escape(sentence)}</p>" for sentence in comparison.sentences),
        "notes": list_html(comparison.notes, "notes"),
        "charts": "\n".join(map(figure_html, comparison.figures)),
        "tables": "\n".join(map(_section, comparison.sheets)),
        "methods": escape(METHODS),
        "version": escape(metadata.version("paceline")),
        "specs": specs_json(comparison.figures),
        "vega": vega() if comparison.figures else "",
        "draw": _piece(look, '<script type="module">\n', "</script>"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _template("comparison.html"))


def fragment(comparison: Comparison) -> str:
    """For a notebook: the answer, the table and the chart as a picture, without scripts."""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in comparison.sentences)
    pictures = "".join(f"<figure>{picture(figure.chart, 'currentColor')}</figure>" for figure in comparison.figures)
    return f"<div><h3>{escape(comparison.title)}</h3>{said}{table_html(comparison.table)}{pictures}</div>"


def _template(name: str) -> str:
    return resources.files("paceline.report").joinpath(name).read_text(encoding="utf-8")


def _piece(text: str, start: str, end: str) -> str:
    """What a report's page has between two marks, and the marks: both pages look and draw alike."""
    begin = text.index(start)
    return text[begin : text.index(end, begin) + len(end)]


def _section(sheet: Sheet) -> str:
    return f'<section id="{sheet.key}"><h2>{escape(sheet.title)}</h2>\n{sheet_html(sheet)}</section>'
