"""`make bench`: runs everything and writes docs/benchmarks.md. BENCH_ROUNDS sets the number of rounds of all.

python -m bench softmax line     these alone; the page keeps the others as they were
python -m bench scaling          predictions for several devices against measurements: `make bench-scaling`
python -m bench page             only writes the page anew from the numbers kept
"""

import os
import sys
from collections.abc import Callable
from functools import partial

from bench import (
    chart,
    growth,
    lab_cnn,
    line,
    loader,
    published,
    resnet18,
    scaling,
    softmax,
    table,
    telemetry,
    ways,
    worker,
)

SECTIONS = {
    "softmax": (softmax.section, 9),
    "line": (line.section, 9),
    "ways": (ways.section, 6),
    "lab_cnn": (lab_cnn.section, 40),
    "resnet18": (resnet18.section, 12),
    "loader": (loader.section, 12),
    "telemetry": (telemetry.section, 60),
    "growth": (growth.section, 1),
}
SCALING: dict[str, tuple[Callable[[int], table.Section], int]] = {
    "worker": (worker.section, 20),
    **{f"links-{name}": (partial(scaling.section, name), 3) for name in scaling.RUNS},
    "links": (lambda rounds: scaling.together(), 1),
    "published": (lambda rounds: published.section(), 1),
}
LINKS = ["links", *(f"links-{name}" for name in scaling.RUNS)]
ORDER = ["softmax", "growth", *(name for name in SECTIONS if name not in ("softmax", "growth")), *LINKS]
ORDER += [name for name in SCALING if name not in ORDER]


def main(asked: list[str]) -> None:
    every: dict[str, tuple[Callable[[int], table.Section], int]] = {**SECTIONS, **SCALING}
    if wrong := set(asked) - {*every, "scaling", "page"}:
        raise SystemExit(f"no benchmark {', '.join(sorted(wrong))}; there are {', '.join(every)}")
    chosen = set(asked or SECTIONS) | (set(SCALING) if "scaling" in asked else set())
    for name, (section, rounds) in every.items():
        if name in chosen:
            print(f"{name} ...", flush=True)
            table.keep(name, section(int(os.environ.get("BENCH_ROUNDS", rounds))))
            table.write(ORDER)
    chart.draw(table.read())
    table.write(ORDER)
    print(table.PAGE.read_text())


if __name__ == "__main__":
    main(sys.argv[1:])
