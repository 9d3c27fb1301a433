"""Predicted against measured: steps of two processes on localhost, and of two emulated nodes at several link speeds.

Hosts are calibrated once, on localhost, and never per link: a link is what is stated of it.
"""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from bench.net import namespaces
from bench.net.team import SIZE, Pair
from bench.table import Section, read
from paceline.analyse.simulate import simulate
from paceline.execute.anatomy import Costs, Work, costs_of
from paceline.report.mechanism import Links, exchange, layers, link, machine
from paceline.spec import Run

AIM_MEDIAN, AIM_WORST = 10.0, 25.0  # per cent
LOCAL = "localhost"
LINKS = {"10 Gbit/s": 1e10, "1 Gbit/s": 1e9, "200 Mbit/s": 2e8}
COMPRESSED = ("none", "fp16", "powersgd")
SECONDS = 1.0  # of steps, each time
PORTS = (29461, 29462)


def _data(*shape: int, examples: int) -> dict[str, Any]:
    return {"name": "synthetic", "shape": list(shape), "examples": examples, "validation": 0, "test": 10}


_BASE: dict[str, Any] = {"optimizer": "adam", "lr": 1e-3, "steps": 1, "device": "cpu", "threads": 1, "devices": SIZE}
RUNS: dict[str, dict[str, Any]] = {
    "lab_cnn": {**_BASE, "data": _data(1, 28, 28, examples=3000), "model": "lab_cnn", "batch": 150},
    "mlp": {
        **_BASE,
        "data": _data(784, examples=3000),
        "model": {"name": "mlp", "widths": [2048, 2048, 2048]},
        "batch": 128,
    },
    "resnet18": {
        **_BASE,
        "data": _data(3, 32, 32, examples=500),
        "model": {"name": "resnet18", "stem": "small"},
        "optimizer": {"name": "sgd", "momentum": 0.9},
        "batch": 8,
    },
}


class Calibrated(NamedTuple):
    works: dict[str, Work]  # by compression
    costs: dict[str, Costs]


def section(name: str, rounds: int) -> Section:
    """One network: every compression on every link, interleaved, so many times."""
    missing = namespaces.lacking()
    with ExitStack() as exits:
        local = exits.enter_context(Pair(False, PORTS[0]))
        pairs = {LOCAL: local}
        if not missing:
            exits.enter_context(namespaces.joined())
            apart = exits.enter_context(Pair(True, PORTS[1]))
            pairs |= dict.fromkeys(LINKS, apart)
        found = calibrated(local, RUNS[name])
        measured = [each for _ in range(rounds) for each in measure(pairs, RUNS[name], found)]
    rows = cells(name, measured)
    batch, notes = RUNS[name]["batch"], [verdict(rows)]
    if missing:
        notes.append(f"Two emulated nodes: not measured, because {missing}.")
    return Section(f"(i) predicted against measured: {name}, batch {batch}, 2 processes", "", [], notes, rows=rows)


def calibrated(pair: Pair, run: dict[str, Any]) -> Calibrated:
    works = {
        compress: work(pair.ask("profile", run=_with(run, compress), seconds=2 * SECONDS)) for compress in COMPRESSED
    }
    taken = pair.ask("exchange", kinds=["none", "fp16"], seconds=3 * SECONDS)[0]
    costs = {kind: costs_of(sizes, SIZE, on_cores=True) for kind, sizes in taken.items()}
    return Calibrated(works, {**costs, "powersgd": costs["none"]})


def work(answers: list[dict[str, Any]]) -> Work:
    """Of devices that were measured side by side: as fast as they are on average."""
    each = [Work.of(answer) for answer in answers]
    mean = sum(one.step_seconds for one in each) / len(each)
    return each[0].scaled(mean / each[0].step_seconds)


def measure(pairs: dict[str, Pair], run: dict[str, Any], found: Calibrated) -> Iterator[dict[str, Any]]:
    """A round: before and after each measurement the step without sending anew, for the machine's speed just then."""
    for compress in COMPRESSED:
        said = _with(run, compress)
        before = _probed(pairs[LOCAL], said)
        for name, pair in pairs.items():
            if name in LINKS:
                namespaces.limit(LINKS[name])
            seconds = statistics.median(pair.ask("steps", run=said, seconds=SECONDS))
            after = _probed(pair, said)
            pace = (before + after) / 2 / found.works[compress].step_seconds
            before = after
            yield {
                "link": name,
                "compress": compress,
                "measured": seconds,
                "predicted": predicted(found, run, compress, name, pace),
                "unpaced": predicted(found, run, compress, name, 1.0),
                "pace": pace,
            }


def _probed(pair: Pair, run: dict[str, Any]) -> float:
    return work(pair.ask("profile", run=run, seconds=SECONDS / 2)).step_seconds


def predicted(found: Calibrated, run: dict[str, Any], compress: str, name: str, pace: float) -> float:
    """Seconds of a step by the simulator; `pace`: how many times slower the machine is than when it was calibrated."""
    one, costs = found.works[compress].scaled(pace), found.costs[compress]
    costs = replace(costs, call_seconds=costs.call_seconds * pace, seconds_per_byte=costs.seconds_per_byte * pace)
    links = Links(link(name)) if name in LINKS else Links()
    how = exchange(Run.model_validate(_with(run, compress)).strategy.complete, one)
    return float(simulate(layers(one), machine(costs, links, one.jitter), how, SIZE)["step_seconds"][0])


def cells(name: str, measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line a link and compression: medians over rounds, the miss of the median round, and the range of all."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in measured:
        groups.setdefault((each["link"], each["compress"]), []).append(each)
    return [_cell(name, link, compress, several) for (link, compress), several in groups.items()]


def _cell(name: str, link: str, compress: str, several: list[dict[str, Any]]) -> dict[str, Any]:
    misses = [100 * (each["predicted"] / each["measured"] - 1) for each in several]
    return {
        "network": name,
        "link": link,
        "compression": compress,
        "measured, ms": 1e3 * statistics.median(each["measured"] for each in several),
        "predicted, ms": 1e3 * statistics.median(each["predicted"] for each in several),
        "miss, %": statistics.median(misses),
        "least": min(misses),
        "most": max(misses),
        "rounds": len(several),
        "miss without the probe, %": statistics.median(
            100 * (each["unpaced"] / each["measured"] - 1) for each in several
        ),
    }


def verdict(rows: list[dict[str, Any]], column: str = "miss, %") -> str:
    sizes = sorted(abs(row[column]) for row in rows)
    median, worst = statistics.median(sizes), sizes[-1]
    held = "met" if median <= AIM_MEDIAN and worst <= AIM_WORST else "missed"
    aim = f"aim: at most {AIM_MEDIAN:.0f} % and {AIM_WORST:.0f} %"
    return f"Median miss {median:.1f} %, worst {worst:.1f} % over {len(rows)} cells ({aim}: {held})."


def together() -> Section:
    """What all networks say, from the numbers kept."""
    rows = [row for name in RUNS for row in read().get(f"links-{name}", {}).get("rows", ())]
    notes = [f"All cells: {verdict(rows)}"] if rows else ["Not measured yet."]
    for where in (LOCAL, *LINKS):
        if some := [row for row in rows if row["link"] == where]:
            notes.append(f"{where}: {verdict(some)}")
    if rows:
        notes.append(f"Without the probe of the machine's speed: {verdict(rows, 'miss without the probe, %')}")
    notes.append(ABOUT)
    return Section("(h) predicted against measured: all networks", "", [], notes)


ABOUT = (
    "Measured are median steps of Paceline's worker, two processes of one thread each: on localhost, and in two "
    "network namespaces whose link is held to a rate. Predicted are the simulator's steps. Hosts were calibrated once, "
    "on localhost; a link is its stated rate, nothing is fitted to it. This machine's speed changes by half from one "
    "minute to the next, so before and after each measurement the step of a device that sends nothing is timed anew, "
    "and what was calibrated is multiplied by that pace; the last column of the tables in (i) is without. A miss is "
    "above 0 where the prediction is too slow; those tables have its median over rounds, the least and the most."
)


def _with(run: dict[str, Any], compress: str) -> dict[str, Any]:
    return {**run, "strategy": {"name": "ddp", "compress": compress}}
