"""Trains runs on the devices that torchrun has started, and says what the first of them saw. Not a test itself.

torchrun --nproc-per-node=2 together.py RUNS OUT     RUNS: a file with a list of runs as plain values; `broken_off` in one
of them breaks it off at its third step, then goes on
"""

import json
import sys
from pathlib import Path

import torch

from paceline.data.dataset import Dataset, Split
from paceline.data.locate import Files
from paceline.data.sources.synthetic import synthetic
from paceline.spec import Run
from paceline.train.loop import train
from paceline.train.parallel import beat
from paceline.train.parallel.team import ALONE, Team, gathered
from paceline.train.rows import Outcome, Pause, Row, Spent


def pictures() -> Dataset:
    """101 of them: batches of 20 leave one for the last, which two devices cannot share."""
    return synthetic(Files.search(), examples=101, validation=0, test=31, shape=(1, 8, 8), classes=3, noise=0.5)


def colours() -> Dataset:
    draw = torch.Generator().manual_seed(1)

    def split(count: int) -> Split:
        x = torch.randint(0, 256, (count, 3, 16, 16), generator=draw, dtype=torch.uint8)
        return Split(x, torch.randint(0, 3, (count,), generator=draw))

    return Dataset("colours", split(41), None, split(12), 3, "sha256:colours", names=("r", "g", "b"))


def trained(run: Run, team: Team = ALONE, broken_off: bool = False) -> dict[str, object]:
    data = colours() if run.data.name == "cifar10" else pictures()
    items = []
    for item in train(run, data, team=team):
        items.append(item)
        if broken_off and isinstance(item, Pause) and item.step > 2:
            items += train(run, data, team=team, resume=item.snapshot())
            break
    rows = [item for item in items if isinstance(item, Row)]
    outcome = items[-1]
    assert isinstance(outcome, Outcome)
    spent = [item for item in items if isinstance(item, Spent)][-1]
    names = ("step", "examples", "loss", "accuracy", "train_loss", "train_accuracy", "lr")
    return {
        "rows": [{name: getattr(row, name) for name in names} for row in rows],
        "status": outcome.status,
        "phases": spent.phases,
        "seconds": spent.seconds,
        "sent": outcome.speed.sent_bytes if outcome.speed else 0,
        "extras": [row.extras for row in rows],
        "imbalance": outcome.speed.imbalance if outcome.speed else 0,
    }


def main() -> None:
    torch.set_num_threads(1)
    asked = json.loads(Path(sys.argv[1]).read_text())
    broken_off = [said.pop("broken_off", False) for said in asked]
    runs = [Run.model_validate(said) for said in asked]
    beat.PAUSE_SECONDS = 0.0
    with gathered("cpu", runs[0].devices) as team:
        found = [trained(run, team, broken) for run, broken in zip(runs, broken_off, strict=True)]
    if team.first:
        Path(sys.argv[2]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
