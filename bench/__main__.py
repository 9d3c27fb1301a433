"""`make bench`: runs everything and writes docs/benchmarks.md. BENCH_ROUNDS sets the number of blocks."""

import os

from bench import lab_cnn, table


def main() -> None:
    rounds = int(os.environ.get("BENCH_ROUNDS", "60"))
    lines = lab_cnn.lines(rounds)
    table.write(lines)
    print(table.PAGE.read_text())


main()
