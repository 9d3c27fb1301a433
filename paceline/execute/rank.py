"""One process of the team that trains a run on several devices. torchrun starts it, on one host or on many.

torchrun --nproc-per-node=N -m paceline.execute.rank JOB PACK     JOB: a file; events go to stdout

Every process keeps its own state in a checkpoint, all at the same step. After a process has died torchrun starts all of
them again, and they go on from the newest step that all of them have.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from paceline.errors import PacelineError
from paceline.execute import datasets
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.single import train_one
from paceline.execute.stop import Stop
from paceline.execute.waiting import missing
from paceline.record.layout import PackFolder, StudyFolder
from paceline.record.writer import PackWriter
from paceline.spec import Run

STOP = "stop"  # a file beside the job's: training ends at the next beat


def main() -> None:
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever own parts print goes to stderr, not among the events
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    file, pack = Path(sys.argv[1]), sys.argv[2]
    job = Job.loads(file.read_text())
    try:
        for event in work(StudyFolder(job.study).pack(pack), job, file.with_name(STOP).exists):
            print(json.dumps(event.plain()), file=events)
    except PacelineError as error:
        print(json.dumps(Event("refused", pack, reason=str(error)).plain()), file=events)
        sys.exit(error.exit_code)


def work(folder: PackFolder, job: Job, stop: Stop, room: str = "team") -> Iterator[Event]:
    """Trains what is missing of the pack; only the first process writes and tells, but for a run that fails by what
    another does. `room`: where the team meets."""
    import torch

    from paceline.train import device
    from paceline.train.parallel.team import gathered

    torch.set_num_threads(job.threads)
    for name, run in missing(folder, job):
        with (
            gathered(device.resolve(run.device).type, run.devices, room, partial(_read, run, job)) as team,
            contextlib.ExitStack() as exits,
        ):
            writer = exits.enter_context(PackWriter(folder)) if team.first else None
            for event in train_one(name, run, folder, writer, job, stop, team):
                if team.first or event.status == "failed":
                    yield event
        if stop():
            return


def _read(run: Run, job: Job) -> None:
    """The data are kept for when they are asked for. What fails here fails again there, and is written down."""
    with contextlib.suppress(Exception):
        datasets.dataset(run, job)


if __name__ == "__main__":
    main()
