"""Writes docs/gallery from recorded runs: `python docs/gallery.py RUNS [STUDY ...]`, or, without arguments, the pages
anew from the data kept beside them. Nothing on these pages is typed by hand.

RUNS is a folder of records as `paceline run --out` fills it; unsaid, all of its studies are taken.
"""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from paceline import results
from paceline.record.layout import studies
from paceline.report.answer import Answer
from paceline.report.charts.picture import picture
from paceline.report.formats import render

FOLDER = Path(__file__).with_suffix("")
TIMES = ("speed", "workers", "tradeoff", "phases", "bottleneck")
SHARED = ("speedup", "speedup-goal", "devices", "quickest", "epochs-goal", "useful-batch")
TABLES = ("best", *SHARED, *TIMES, "models", "fit", "target", "published", "confused", "pairs")
FIGURES = 3
LONG = 40  # lines of a table


def keep(answer: Answer) -> None:
    """One study as data, with its charts."""
    name = answer.study.name
    charts = []
    for figure in answer.figures[:FIGURES]:
        file = f"{name}-{figure.key}.svg".replace(" ", "-")
        (FOLDER / file).write_text(picture(figure.chart))
        charts.append({"file": file, "title": figure.title})
    found = {sheet.key: sheet for sheet in answer.sheets}
    kept = [found[key] for key in TABLES if key in found]
    said = {
        "study": name,
        "question": answer.question,
        "date": date.today().isoformat(),
        "scale": answer.study.scale,
        "size": answer.size,
        "headline": headline(answer),
        "sentences": (*answer.timing, *answer.sentences),
        "notes": answer.notes,
        "methods": answer.methods,
        "source": answer.published.source if answer.published else "",
        "findings": answer.published.findings if answer.published else (),
        "assumed": answer.study.assumed,
        "charts": charts,
        "tables": [
            {"title": s.title, "note": s.note, "text": render(s.table.head(LONG), "md"), "of": s.table.height}
            for s in kept
        ],
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")


def headline(answer: Answer) -> str:
    """What the question is about: of a study of time, what it found of that."""
    if answer.study.measure == "time":
        return answer.timing[0] if answer.timing else answer.sentences[2]
    return answer.sentences[0]


def page(said: dict[str, Any]) -> str:
    command = f"paceline run {said['study']}" + (f" --scale {said['scale']}" if said["scale"] else "")
    lines = [f"# {said['study']}", "", said["question"], "", f"    {command}", ""]
    lines += [f"**{said['size']}**", ""] if said["size"] else []
    lines += [line for sentence in said["sentences"] for line in (sentence, "")]
    for chart in said["charts"]:
        lines += [f"![{chart['title']}]({chart['file']})", ""]
    for table in said["tables"]:
        more = f" The first {LONG} of {table['of']} lines." if table["of"] > LONG else ""
        lines += [f"## {table['title']}", "", table["text"], "", f"{table['note']}{more}", ""]
    if said["source"]:
        lines += ["## Published", "", f"{said['source']}.", "", *(f"- {finding}" for finding in said["findings"]), ""]
    if said["assumed"]:
        lines += ["## Assumed", "", *(f"- {line}" for line in said["assumed"]), ""]
    lines += [f"- {note}" for note in said["notes"]]
    lines += ["", "## Methods", "", said["methods"], "", f"Recorded runs read on {said['date']}.", ""]
    return "\n".join(lines)


def index(kept: list[dict[str, Any]]) -> str:
    lines = ["# Gallery", "", "Written by `docs/gallery.py` from recorded runs.", ""]
    lines += ["| study | question | answer | size |", "| --- | --- | --- | --- |"]
    for said in kept:
        first = said["headline"].replace("|", "\\|")
        size = f"`{said['scale']}`" if said["scale"] else "full"
        lines.append(f"| [{said['study']}]({said['study']}.md) | {said['question']} | {first} | {size} |")
    return "\n".join([*lines, ""])


def main(asked: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    if asked:
        runs, names = Path(asked[0]), asked[1:]
        for name in names or [folder.path.name for folder in studies(runs)]:
            keep(results(name, out=runs).answer)
    kept = [json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))]
    for said in kept:
        (FOLDER / f"{said['study']}.md").write_text(page(said))
    (FOLDER / "index.md").write_text(index(kept))


if __name__ == "__main__":
    main(sys.argv[1:])
