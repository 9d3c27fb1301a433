"""(b) The line through four points: 10 optimizers x 5 learning rates x 30,000 steps."""

from typing import Any

from bench import ours
from bench.peers import tight
from bench.peers.work import Setting
from bench.ratio import alternate, ratio
from bench.softmax import OPTIMIZERS
from bench.table import Line, Section

NAMES = (*OPTIMIZERS, "proximal_gd")
RATES = (0.0005, 0.001, 0.002, 0.005, 0.01)
STEPS, EVALUATE_EVERY = 30_000, 1500
PEER_STEPS = 3000
RUNS = len(NAMES) * len(RATES)
STUDY: dict[str, Any] = {
    "name": "line",
    "base": {
        "data": "line",
        "model": "line",
        "loss": "sum_squares",
        "order": "file",
        "batch": 4,
        "steps": STEPS,
        "evaluate_every": EVALUATE_EVERY,
    },
    "compare": {"optimizer": list(NAMES)},
    "tune": {"lr": list(RATES)},
    "select": "test",
    "repeat": 1,
}


def section(rounds: int) -> Section:
    settings = [Setting(name, RATES[place % len(RATES)]) for place, name in enumerate(NAMES)]

    def peer() -> float:
        taken = tight.line_sweep(settings, PEER_STEPS, EVALUATE_EVERY).seconds
        return taken / len(settings) * STEPS / PEER_STEPS

    seconds = alternate({"ours": lambda: ours.seconds(STUDY, jobs=1) / RUNS, "tight": peer}, rounds)
    found = ratio(seconds["ours"], seconds["tight"])
    about = "a tight hand-written loop: fused optimizers, no sync"
    notes = [
        f"The peer trains one run of each optimizer for {PEER_STEPS:,} steps, and its seconds are scaled to "
        f"{STEPS:,}. As a stretch, 50 times: {found.verdict(50.0)}."
    ]
    line = Line(about, found, 10.0, seconds["ours"], seconds["tight"])
    return Section(f"(b) line: {RUNS} runs x {STEPS:,} steps", "s a run", [line], notes)
