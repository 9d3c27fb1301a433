"""Writes docs/gallery from recorded runs: `python docs/gallery.py RUNS [STUDY ...]`, or, without arguments, anew from
the records kept in docs/gallery/records. Nothing on these pages is typed by hand.

RUNS is a folder of records as `paceline run --out` fills it; unsaid, all of its studies are taken. Its records are
kept, so that analyses and words can be mended without training anew. What a study says of its source (findings, rows,
what was assumed) is read from the gallery as it is now.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import records

from paceline import load, results
from paceline.gallery import gallery
from paceline.record.layout import StudyFolder, studies
from paceline.record.reader import read_machines
from paceline.record.writer import OVER
from paceline.report.advice import advise
from paceline.report.answer import Answer
from paceline.report.charts import Figure
from paceline.report.charts.picture import picture
from paceline.report.claims import Claim, summary
from paceline.report.claims.values import CONTRADICTED, OPEN, REPRODUCED, UNTESTABLE
from paceline.report.formats import render

FOLDER = Path(__file__).with_suffix("")
SPEEDUPS = ("speedup", "speedup-goal", "devices", "quickest")
SPEEDS = ("speed", "workers", "tradeoff", "phases", "bottleneck")
TABLES = (
    *("claims", "best", *SPEEDUPS, "epochs-goal", "useful-batch", *SPEEDS),
    *("models", "fit", "target", "published", "confused", "pairs"),
)
VERDICTS = (REPRODUCED, CONTRADICTED, OPEN, UNTESTABLE)
FIGURES = 3
LONG = 40  # lines of a table
WHY = 200  # characters of evidence in a row of the index
REPORTS = {
    "J. Valério, Practical Work 3, UPC, 2023": ("upc-",),
    "S. Patel, Lab 3 report, HPC - DL": ("lab3-",),
    "G. Nicka, Performance Improvements of Deep Learning Networks using PyTorch, University of Bristol, 2021": (
        "bristol-",
    ),
    "N. Nelson, CS2300 Lab 10, Milwaukee School of Engineering, 2021": ("msoe-", "fruit-pretrained", "caltech-"),
    "L. Voss, Parallelization of Neural Network Training, NAR Labs course, 2023": ("nar-", "parallel-"),
    "Where a report guessed": ("adam-", "growing-", "fruit-split", "averaging-"),
    "Our own": ("mnist-fast", "quickstart"),
}


def recorded(name: str, runs: Path) -> Answer:
    """What the records say, with the words that the study has now."""
    found = results(name, out=runs)
    now = load(name, scale=found.study.scale or None)
    words = {"published": now.published, "assumed": now.assumed, "question": now.question}
    return replace(found, study=found.study.model_copy(update=words)).answer


def keep(name: str, runs: Path) -> None:
    """One study as data, with its charts."""
    answer = recorded(name, runs)
    charts = []
    for figure in telling(answer):
        file = f"{name}-{figure.key}.svg".replace(" ", "-")
        (FOLDER / file).write_text(picture(figure.chart))
        charts.append({"file": file, "title": figure.title, "caption": figure.caption})
    found = {sheet.key: sheet for sheet in answer.sheets}
    kept = [found[key] for key in TABLES if key in found and told(answer, key)]
    claims = answer.published.findings if answer.published else ()
    said: dict[str, Any] = {
        "study": name,
        "question": answer.question,
        "date": trained(runs / name),
        "scale": answer.study.scale,
        "size": answer.size,
        "seeds": answer.study.repeat,
        "machine": machines(runs / name),
        "labels": answer.facts.best["label"].to_list(),
        "headline": headline(answer),
        "sentences": (*answer.timing, *answer.sentences),
        "notes": (*answer.outdated, *answer.notes),
        "methods": answer.methods,
        "source": answer.published.source if answer.published else "",
        "claims": [claim._asdict() for claim in claims],
        "verdict": "; ".join(filter(None, (judged(claims, asked=False), figures(answer)))),
        "answers": judged(claims, asked=True),
        "runs": [answer.facts.count(*OVER), answer.facts.runs["run"].n_unique()],
        "advice": advise(answer).text,
        "charts": charts,
        "tables": [
            {
                "key": s.key,
                "title": s.title,
                "note": s.note,
                "text": render(s.table.head(LONG), "md"),
                "of": s.table.height,
            }
            for s in kept
        ],
    }
    write(said)


def write(said: dict[str, Any]) -> None:
    """With what the study assumes and the seeds that it asks for now, and the command that trains as many as it had."""
    now = load(said["study"], scale=said["scale"] or None)
    said["asked"], said["assumed"] = now.repeat, now.assumed
    said["command"] = command(said)
    (FOLDER / f"{said['study']}.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")


def telling(answer: Answer) -> list[Figure]:
    """The charts of a page: of a study of time where it goes first; those of a tuned axis before curves; W and b of a
    line beside them, as the reports have them."""
    tuned = [figure for figure in answer.figures[1:] if figure.key.startswith("sensitivity")][:1]
    others = [figure for figure in answer.figures if figure not in tuned and told(answer, figure.key)]
    others.sort(key=lambda figure: timed(answer) and figure.key != "phases")
    parameters = [figure for figure in others if figure.title.startswith("Parameter ")]
    first = [*others[:1], *tuned, *(figure for figure in others[1:] if figure not in parameters)][:FIGURES]
    return [*first, *parameters]


def told(answer: Answer, key: str) -> bool:
    return timed(answer) or key not in (*SPEEDUPS, *SPEEDS)


def timed(answer: Answer) -> bool:
    return answer.study.measure == "time"


def trained(record: Path) -> str:
    """The day on which the last run ended."""
    ended = max(pack.status.stat().st_mtime for pack in StudyFolder(record).packs() if pack.status.exists())
    return date.fromtimestamp(ended).isoformat()


def machines(record: Path) -> list[str]:
    found = [
        f"{m.get('cpu')}, {m.get('cores')} cores, {m.get('memory_gb'):.0f} GB"
        for pack in read_machines(StudyFolder(record)).values()
        for m in pack
    ]
    return list(dict.fromkeys(found))


def judged(claims: Sequence[Claim], *, asked: bool) -> str:
    return summary([claim.verdict for claim in claims if claim.verdict and claim.asked == asked])


def figures(answer: Answer) -> str:
    """How many of the published figures are reproduced, contradicted, or not testable here."""
    table = answer.published.table if answer.published else None
    columns = [name for name in table.columns if name.endswith(" verdict")] if table is not None else []
    words = [said.partition(":")[0] for name in columns for said in table[name].drop_nulls()] if columns else []
    return f"figures: {summary(words)}" if words else ""


def headline(answer: Answer) -> str:
    """The answer's first sentence; of a study of time what it found of that."""
    if not timed(answer) or not answer.timing:
        return answer.sentences[0]
    left = answer.facts.runs["run"].n_unique() - answer.facts.count(*OVER)
    waits = f" {answer.sentences[2].partition(';')[0].rstrip('.')}." if left else ""
    return f"{answer.timing[0]}{waits}"


def page(said: dict[str, Any]) -> str:
    file = f"[{said['study']}.yaml](../../paceline/gallery/{said['study']}.yaml)"
    lines = [f"# {said['study']}", "", said["question"], "", f"    {said['command']}", "", f"The study: {file}.", ""]
    lines += [f"**{said['size']}**", ""] if said["size"] else []
    lines += [f"Published claims: {said['verdict']}.", ""] if said["verdict"] else []
    lines += [f"Our own questions: {said['answers']}.", ""] if said["answers"] else []
    lines += [line for sentence in said["sentences"] for line in (sentence, "")]
    for chart in said["charts"]:
        caption = f"{chart['title']}. {chart.get('caption', '')}".strip()
        lines += [f"![{chart['title']}]({chart['file']})", "", caption, ""]
    for table in said["tables"]:
        more = f" The first {LONG} of {table['of']} lines." if table["of"] > LONG else ""
        lines += [f"## {table['title']}", "", table["text"], "", f"{table['note']}{more}", ""]
    if said["study"] in records.kept():
        lines += ["## What to change (`paceline advise`)", "", "```text", said["advice"].strip(), "```", ""]
    else:
        lines += [UNKEPT, ""]
    if said["source"]:
        unjudged = [f"- {claim['text']}" for claim in said["claims"] if not claim["verdict"]]
        lines += ["## Published", "", f"{said['source']}.", "", *unjudged, *([""] if unjudged else [])]
    if said["assumed"]:
        lines += ["## Assumed", "", *(f"- {line}" for line in said["assumed"]), ""]
    if said["notes"]:
        lines += ["## Notes", "", *(f"- {note}" for note in said["notes"])]
    lines += ["", "## Methods", "", said["methods"], "", f"Trained until {said['date']}.", ""]
    return "\n".join(lines)


def command(said: dict[str, Any]) -> str:
    size = f" --scale {said['scale']}" if said["scale"] else ""
    seeds = f" --seeds {said['seeds']}" if said["seeds"] != said["asked"] else ""
    return f"paceline run {said['study']}{size}{seeds}"


def overall(kept: list[dict[str, Any]]) -> str:
    """How much was trained, and what became of what was published."""
    smaller = sum(bool(said["scale"]) for said in kept)
    ended, planned = (sum(said["runs"][place] for said in kept) for place in (0, 1))
    judged = [(said["study"], claim) for said in kept for claim in said["claims"]]
    claims = [claim["verdict"] for _, claim in judged if claim["verdict"] and not claim["asked"]]
    unkept = sum(study not in records.kept() for study, claim in judged if claim["verdict"] and not claim["asked"])
    old = (
        f"; {unkept} of the {len(claims)} are as they were when trained, for their records were not kept"
        if unkept
        else ""
    )
    return (
        f"{len(kept)} studies, {len(kept) - smaller} at full size on two CPU cores, {smaller} at a smaller one; "
        f"{ended:,} of {planned:,} runs trained. {len(claims)} verdicts on published claims: "
        f"{summary(sorted(claims, key=VERDICTS.index))}{old}."
    )


def index(kept: list[dict[str, Any]]) -> str:
    lines = ["# Gallery", "", *HEAD, ""]
    archives = f"The records of {len(records.kept())} of them are in [records](records). {UNPACK}"
    lines += [overall(kept), "", archives, ""]
    lines += ["No machine had a GPU.", ""]
    for title, starts in REPORTS.items():
        rows = [row(said) for said in kept if said["study"].startswith(starts)]
        columns = "| study | question | published | measured here | verdict | size, machine, command |"
        lines += [f"## {title}", "", columns, "| --- | --- | --- | --- | --- | --- |", *rows, ""]
    missing = sorted(set(gallery()) - {said["study"] for said in kept})
    lines += [f"Not trained here yet: {', '.join(missing)}.", ""] if missing else []
    return "\n".join(lines)


UNKEPT = "The records of this page were not kept; it says what was written when it was trained."
UNPACK = (
    "Their pages are written from these. Unpacked into `runs/`, every verb reads them, as `paceline report quickstart`."
)
HEAD = (
    "The experiments of five reports on high-performance deep learning: what was published beside what was measured.",
    "Each row is one `paceline run STUDY`; the page behind its name has the first charts, the main tables, what was",
    "assumed and how it was measured. Written by `docs/gallery.py` from recorded runs.",
    "",
    "A claim is *reproduced* where the difference it claims is separated (95 %, paired by seed), *contradicted* where",
    "it is separated the other way or far smaller than claimed, *not separated* where the runs show neither, *not",
    "testable here* for the reason that stands with it. Whether something learns is judged by four in five of its",
    "seeds. A figure is reproduced where one more run here would give it (95 % prediction interval, and that no wider",
    "than two points of accuracy or a tenth of another figure to each side). Questions of our own are answered *yes*,",
    "*no* or *open*.",
    "[Definitions](../definitions.md#published-claims).",
)


def evidence(said: dict[str, Any]) -> tuple[str, str]:
    """The published finding of a row and what was measured of it: the first that could be judged; of none the first,
    beside what the study itself asks, or why it is not testable."""
    claims, asked = ([claim for claim in said["claims"] if claim["asked"] is own] for own in (False, True))
    judged, answered = ([c for c in part if c["verdict"] not in ("", UNTESTABLE)] for part in (claims, asked))
    found = next((claim for claim in (*judged, *answered, *claims) if claim["verdict"]), None)
    published = claims[0]["text"] if claims else ""
    if found is None:
        return published, said["headline"]
    published = published if found["asked"] else found["text"]
    question = f"{found['text'][:1].upper()}{found['text'][1:]} " if found["asked"] else ""
    why, *more = [found["why"]] if len(found["why"]) <= WHY else found["why"].split("; ")
    rest = f", and {len(more)} more on its page" if more else ""
    return published, f"{question}{found['verdict'].capitalize()}: {why}{rest}. {said['headline']}"


def row(said: dict[str, Any]) -> str:
    published, measured = evidence(said)
    size = f"`{said['scale']}`" if said["scale"] else "full"
    seeds = "" if said["seeds"] >= said["asked"] else f", {said['seeds']} of {said['asked']} seeds"
    ended, planned = said["runs"]
    seeds += "" if ended == planned else f", {ended:,} of {planned:,} runs"
    verdict = "; ".join(filter(None, (said["verdict"], said["answers"] and f"our questions: {said['answers']}")))
    cells = [f"[{said['study']}]({said['study']}.md)", said["question"], published, measured, verdict]
    how = f"{size}{seeds}; {'; '.join(said['machine'])}; `{said['command']}`"
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (*cells, how)) + " |"


def main(asked: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    names = records.kept()
    if asked:
        runs = Path(asked[0])
        names = asked[1:] or [folder.path.name for folder in studies(runs)]
        for name in names:
            records.pack(StudyFolder(runs / name))
    for name in names:
        with tempfile.TemporaryDirectory() as room:
            records.unpack(name, Path(room))
            keep(name, Path(room))
    kept = [json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))]
    for said in kept:
        write(said)
        (FOLDER / f"{said['study']}.md").write_text(page(said))
    (FOLDER / "index.md").write_text(index(kept))
    shown = {chart["file"] for said in kept for chart in said["charts"]}
    for file in FOLDER.glob("*.svg"):
        if file.name not in shown:
            file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
