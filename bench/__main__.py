"""`make bench`: runs everything and writes docs/benchmarks.md. BENCH_ROUNDS sets the number of rounds of all.

python -m bench softmax line     these alone; the page keeps the others as they were
python -m bench page             only writes the page anew from the numbers kept
"""

import os
import sys

from bench import chart, growth, lab_cnn, line, loader, resnet18, softmax, table, telemetry, ways

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


def main(asked: list[str]) -> None:
    if wrong := set(asked) - {*SECTIONS, "page"}:
        raise SystemExit(f"no benchmark {', '.join(sorted(wrong))}; there are {', '.join(SECTIONS)}")
    for name, (section, rounds) in SECTIONS.items():
        if not asked or name in asked:
            print(f"{name} ...", flush=True)
            table.keep(name, section(int(os.environ.get("BENCH_ROUNDS", rounds))))
            table.write(list(SECTIONS))
    chart.draw(table.read())
    table.write(list(SECTIONS))
    print(table.PAGE.read_text())


if __name__ == "__main__":
    main(sys.argv[1:])
