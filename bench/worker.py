"""(j) Paceline's worker against a bare script that torchrun starts: the same steps, two processes, side by side."""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.net.team import Pair
from bench.ratio import alternate, ratio
from bench.scaling import PORTS, RUNS, SECONDS
from bench.table import Line, Section

TARGET = 0.98  # no more than 2 % slower
COUNTS = {"lab_cnn": 12, "mlp": 12}  # steps of the script in a round
ABOUT = {
    False: "a bare DDP script, torch's defaults",
    True: "a bare DDP script tuned by hand: channels_last, fused update, gradients in the buckets",
}


def section(rounds: int) -> Section:
    lines = []
    with Pair(False, PORTS[0]) as pair:
        for name in ("lab_cnn", "mlp"):
            contestants: dict[str, Callable[[], float]] = {"ours": partial(_ours, pair, RUNS[name])}
            contestants |= {
                about: partial(_bare, pair, RUNS[name], COUNTS[name], tuned) for tuned, about in ABOUT.items()
            }
            seconds = alternate(contestants, rounds)
            for about in ABOUT.values():
                found = ratio(seconds["ours"], seconds[about])
                words = f"{name}, batch {RUNS[name]['batch']}: {about}"
                lines.append(Line(words, found, TARGET, seconds["ours"], seconds[about]))
    notes = [
        "Median seconds of a step after a warm-up, two processes of one thread each on localhost; start-up is not "
        "counted. A target of 0.98 is: no more than 2 % slower."
    ]
    return Section("(j) the worker of several devices against a bare script", "s a step", lines, notes)


def _ours(pair: Pair, run: dict[str, Any]) -> float:
    return float(statistics.median(pair.ask("steps", run=run, seconds=SECONDS)))


def _bare(pair: Pair, run: dict[str, Any], count: int, tuned: bool) -> float:
    return float(statistics.median(pair.ask("bare", run=run, count=count, tuned=tuned)))
