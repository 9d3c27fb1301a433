"""A process of a team that is measured: it reads what to do from stdin, a JSON line each, and answers on stdout.

python -m bench.net.node     with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them
"""

import json
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bench.net.team import SIZE
from bench.peers import ddp
from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.spec import Run
from paceline.train import build
from paceline.train.parallel.link import exchanges
from paceline.train.parallel.profile import profile, step_seconds
from paceline.train.parallel.team import Team, gathered

_datasets: dict[Any, Dataset] = {}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    torch.set_num_threads(1)
    with gathered("cpu", SIZE) as team:
        print(json.dumps("ready"), file=answers)
        for line in sys.stdin:
            said = json.loads(line)
            team.wait()
            print(json.dumps(DO[said.pop("do")](team, **said)), file=answers)


def profiled(team: Team, run: dict[str, Any], seconds: float) -> dict[str, Any]:
    """All processes side by side, each by itself."""
    read = Run.model_validate(run)
    assert isinstance(read.batch, int)
    return asdict(profile(read, dataset(read), read.batch // team.size, seconds, team, cores=1))


def exchanged(team: Team, **said: Any) -> Any:
    return exchanges(team, torch.device("cpu"), **said)


def stepped(team: Team, run: dict[str, Any], seconds: float) -> float:
    """Paceline's own worker, all processes together: median seconds of a step."""
    read = Run.model_validate(run)
    return statistics.median(step_seconds(read, dataset(read), seconds, team, cores=1))


def bare(team: Team, run: dict[str, Any], count: int, tuned: bool) -> float:
    """The same network, with torch's own dropout."""
    read = Run.model_validate(run)
    data = dataset(read)
    model = build.model(read, data, Path())
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if hasattr(layer, "reseed"):
                setattr(parent, name, nn.Dropout(read.model.complete["dropout"]))
    assert isinstance(read.batch, int)
    return ddp.steps(model, data.train.x, data.train.y, read.batch, count, team, tuned=tuned)


def dataset(run: Run) -> Dataset:
    if run.data not in _datasets:
        _datasets.clear()
        _datasets[run.data] = build.data(run, Files.search(), Path())
    return _datasets[run.data]


DO: dict[str, Callable[..., Any]] = {"profile": profiled, "exchange": exchanged, "steps": stepped, "bare": bare}

if __name__ == "__main__":
    main()
