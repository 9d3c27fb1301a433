"""What benchmarks leave: docs/benchmarks.json with the numbers, docs/benchmarks.md and its charts made from it."""

import datetime
import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.ratio import Ratio
from paceline.record.machine import describe

DOCS = Path(__file__).parents[1] / "docs"
PAGE, NUMBERS = DOCS / "benchmarks.md", DOCS / "benchmarks.json"

INTRODUCTION = """# Benchmarks

Written by `make bench` and `make bench-scaling`. A ratio is the peer's time over Paceline's, so above 1 Paceline is
faster: the median over rounds of alternating blocks, with its 95 % interval. A target is met when the whole interval
lies above it, missed when it lies below, else unresolved.
"""
CHARTS = {
    "Ratios": DOCS / "benchmarks-ratios.svg",
    "Growth": DOCS / "benchmarks-growth.svg",
    "Predicted against measured": DOCS / "benchmarks-predicted.svg",
}


@dataclass(frozen=True)
class Line:
    """Paceline against one peer; seconds in whatever unit the section names."""

    against: str
    ratio: Ratio
    target: float | None
    ours: list[float]
    peer: list[float]

    def plain(self) -> dict[str, Any]:
        medians = {"ours": statistics.median(self.ours), "peer": statistics.median(self.peer)}
        verdict = "" if self.target is None else self.ratio.verdict(self.target)
        return {"against": self.against, **asdict(self.ratio), "target": self.target, "verdict": verdict, **medians}


@dataclass(frozen=True)
class Section:
    title: str
    unit: str
    lines: list[Line]
    notes: list[str] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)  # of a chart
    rows: list[dict[str, Any]] = field(default_factory=list)  # of a table of its own


def keep(name: str, section: Section) -> None:
    """Replaces the numbers of one section, with the day and the machine they are from."""
    machine = describe(Path())
    kept = read()
    kept[name] = {
        "title": section.title,
        "unit": section.unit,
        "date": str(datetime.date.today()),
        "machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"torch {machine['packages']['torch']}, Python {machine['python']}",
        "lines": [line.plain() for line in section.lines],
        "notes": section.notes,
        "points": section.points,
        "rows": section.rows,
    }
    NUMBERS.write_text(json.dumps(kept, indent=1) + "\n")


def read() -> dict[str, Any]:
    return json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}


def write(order: list[str]) -> None:
    """The page, from all sections there are numbers of."""
    kept = read()
    charts = "".join(f"\n![{title}]({file.name})\n" for title, file in CHARTS.items() if file.exists())
    PAGE.write_text(INTRODUCTION + charts + "".join(_markdown(kept[name]) for name in order if name in kept))


def _markdown(section: dict[str, Any]) -> str:
    head = f"\n## {section['title']}\n\n{section['date']}, {section['machine']}.\n"
    table = ""
    if section["lines"]:
        unit = section["unit"]
        table = f"\n| against | ratio (95 %) | rounds | target | verdict | Paceline, {unit} | peer, {unit} |\n"
        table += "| --- | ---: | ---: | ---: | --- | ---: | ---: |\n"
        table += "".join(map(_row, section["lines"]))
    return head + table + _own(section.get("rows", [])) + "".join(f"\n{note}\n" for note in section["notes"])


def _own(rows: list[dict[str, Any]]) -> str:
    """A table with the columns that its lines have."""
    if not rows:
        return ""
    numbers = [any(isinstance(row[name], float | int) for row in rows) for name in rows[0]]
    head = f"\n| {' | '.join(rows[0])} |\n| {' | '.join('---:' if number else '---' for number in numbers)} |\n"
    return head + "".join(f"| {' | '.join(map(_shown, row.values()))} |\n" for row in rows)


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:,.4g}" if isinstance(value, float) else str(value)


def _row(line: dict[str, Any]) -> str:
    found = f"{line['value']:.3g} ({line['low']:.3g} to {line['high']:.3g})"
    target = "" if line["target"] is None else f"{line['target']:.3g}"
    times = f"{line['ours']:.3g} | {line['peer']:.3g}"
    return f"| {line['against']} | {found} | {line['rounds']} | {target} | {line['verdict']} | {times} |\n"
