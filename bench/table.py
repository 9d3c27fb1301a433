"""The page that benchmarks write: ratios first, with machine and date."""

import datetime
import statistics
from dataclasses import dataclass
from pathlib import Path

from bench.ratio import Ratio
from paceline.record.machine import describe

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Line:
    work: str
    peer: str
    ratio: Ratio
    target: float
    peer_seconds: list[float]
    our_seconds: list[float]
    steps: int  # a block

    def markdown(self) -> str:
        peer, ours = (statistics.median(s) / self.steps * 1e3 for s in (self.peer_seconds, self.our_seconds))
        verdict = self.ratio.verdict(self.target)
        return f"| {self.work} | {self.peer} | {self.ratio} | {self.target:g} | {verdict} | {ours:.1f} | {peer:.1f} |"


INTRODUCTION = """# Benchmarks

Written by `make bench`. A ratio is the peer's time over Paceline's, so above 1 Paceline is faster: the median over
{rounds} rounds of alternating blocks, with its 95 % interval. A target is met when the whole interval lies above
it, missed when it lies below, else unresolved.

{date}, {cpu}, {cores} cores, {memory_gb} GB, torch {torch}, Python {python}.

| work | against | ratio (95 %) | target | verdict | ms a step | peer's ms |
| --- | --- | ---: | ---: | --- | ---: | ---: |
"""


def write(lines: list[Line]) -> None:
    machine = describe(Path())
    facts = {name: machine[name] for name in ("cpu", "cores", "memory_gb", "python")}
    head = INTRODUCTION.format(
        rounds=lines[0].ratio.rounds, date=datetime.date.today(), torch=machine["packages"]["torch"], **facts
    )
    PAGE.write_text(head + "".join(f"{line.markdown()}\n" for line in lines))
