"""One self-contained HTML page: question, answer, charts, tables, every run, methods. It needs no network."""

import re
from html import escape
from importlib import metadata, resources
from pathlib import Path

from paceline.report.advice import RULE, advise
from paceline.report.answer import Answer
from paceline.report.charts.picture import picture
from paceline.report.configs import cases, shared
from paceline.report.markup import figure_html, list_html, sheet_html, specs_json, table_html, write_whole
from paceline.report.pictures import pictures_html
from paceline.report.scripts import vega
from paceline.report.sheet import Sheet

# tables that stand open; the others unfold
OPEN = ("best", "claims", "speedup", "speedup-goal", "quickest", "cost", "devices", "epochs-goal", "speed", "loader",
        "workers", "tradeoff", "phases", "bottleneck", "models", "fit", "published", "confused", "target")  # fmt: skip
TOP = 25  # lines of an open table; the whole of a longer one unfolds
FIRST = 2  # charts in a notebook
ADVISED = 5  # lines of advice


def write_page(answer: Answer, file: Path) -> Path:
    return write_whole(page(answer), file)


def page(answer: Answer) -> str:
    parts = {
        "title": escape(answer.question or answer.study.name),
        "name": escape(answer.study.name),
        "answer": "\n".join(f"<p>{escape(sentence)}</p>" for sentence in answer.text.splitlines()),
        "notes": list_html(answer.notes, "notes"),
        "best": "".join(_section(sheet) for sheet in answer.sheets if sheet.key == "best"),
        "advice": _advice(answer),
        "charts": "\n".join(map(figure_html, answer.figures)),
        "pictures": pictures_html(answer.facts.wrong),
        "tables": "\n".join(_section(sheet) for sheet in answer.sheets if sheet.key not in ("best", "runs")),
        "claims": _claims(answer),
        "assumed": _assumed(answer),
        "runs": "".join(_section(sheet) for sheet in answer.sheets if sheet.key == "runs"),
        "config": _config(answer),
        "methods": escape(answer.methods),
        "version": escape(metadata.version("paceline")),
        "specs": specs_json(answer.figures),
        "vega": vega() if answer.figures else "",
    }
    template = resources.files("paceline.report").joinpath("page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def fragment(answer: Answer) -> str:
    """For a notebook: the answer, the best table and the main charts as pictures, without scripts."""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in answer.text.splitlines())
    best = "".join(table_html(sheet.table) for sheet in answer.sheets if sheet.key == "best")
    pictures = "".join(f"<figure>{picture(figure.chart, 'currentColor')}</figure>" for figure in answer.figures[:FIRST])
    return f"<div><h3>{escape(answer.question or answer.study.name)}</h3>{said}{best}{pictures}</div>"


def _section(sheet: Sheet) -> str:
    title, count = escape(sheet.title), f"{sheet.table.height:,}"
    if sheet.key in OPEN and sheet.table.height > TOP:
        first = sheet._replace(table=sheet.table.head(TOP))
        rest = sheet._replace(key=f"{sheet.key}-all", title=f"{sheet.title}: all", note="")
        return f'<section id="{sheet.key}"><h2>{title}</h2>\n{sheet_html(first)}</section>{_section(rest)}'
    body = sheet_html(sheet)
    if sheet.key in OPEN:
        return f'<section id="{sheet.key}"><h2>{title}</h2>\n{body}</section>'
    lines = "line" if count == "1" else "lines"
    return (
        f'<details id="{sheet.key}"><summary><h2>{title}</h2> <span>{count} {lines}</span></summary>\n{body}</details>'
    )


def _advice(answer: Answer) -> str:
    """The first few; the evidence of each and what is not said are for `paceline advise`."""
    said = tuple(one.summary for one in advise(answer).advice[:ADVISED])
    note = f"By the runs recorded. {RULE} paceline advise has the evidence of each, and what is not said."
    head = f'<h2>What to change</h2><p class="note">{note}</p>'
    return f'<section id="advice">{head}{list_html(said, "claims")}</section>' if said else ""


def _claims(answer: Answer) -> str:
    found = answer.published
    unjudged = tuple(claim.text for claim in found.findings if not claim.verdict) if found else ()
    if not found or not unjudged:
        return ""
    said = escape(". ".join(filter(None, (found.source, answer.size))))
    source = f' <span class="note">{said}</span>' if said else ""
    return f"<section><h2>What was published, in words</h2>{source}{list_html(unjudged, 'claims')}</section>"


def _assumed(answer: Answer) -> str:
    assumed = tuple(answer.study.assumed)
    return (
        f"<section><h2>Assumed, because the source leaves it unsaid</h2>{list_html(assumed, 'claims')}</section>"
        if assumed
        else ""
    )


def _config(answer: Answer) -> str:
    rows = {**shared(answer.study), **{f"case {name}": said for name, said in cases(answer.study).items()}}
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in rows.items())
    note = "With its case and axes, a run's whole configuration."
    return (
        '<details id="config"><summary><h2>What all runs share</h2></summary>'
        f'<p class="note">{escape(note)}</p><div class="wide"><table class="config">{body}</table></div></details>'
    )
