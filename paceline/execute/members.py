"""Several hosts: torchrun starts `paceline run` in every process; the first of them leads, the others do as it says.

torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=HOST:PORT -m paceline run STUDY

The leader plans, writes and tells as ever. An order goes to the others through the store that all of them meet at; of a
run on N devices the first N processes are the team. One in which a run fails says so there too: the others, who lose
it, go on to the next order. When a process dies torchrun starts all of them again, and the same command goes on.
Records and data lie where every host sees them.
"""

import itertools
import json
import os
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.outcome import note_turnaround
from paceline.execute.rank import work
from paceline.execute.stop import Stop
from paceline.record.layout import PackFolder, StudyFolder
from paceline.record.writer import PackWriter
from paceline.spec import Run

_ENDLESS = timedelta(days=365)
_orders = itertools.count()  # of this process, which all processes of torchrun's count alike
_NEEDED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def processes() -> int:
    """How many torchrun has started, this one among them; 0 if it was not torchrun that started this."""
    return int(os.environ["WORLD_SIZE"]) if all(name in os.environ for name in _NEEDED) else 0


def processes_here() -> int:
    """Of these, on this host."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", processes()))


def follows() -> bool:
    """Whether this process waits for orders."""
    return processes() > 0 and int(os.environ["RANK"]) > 0


def follow() -> None:
    """Does what the leader orders, until it orders no more."""
    while order := _heard(number := next(_orders)):
        job = Job.loads(order["job"])
        if int(os.environ["RANK"]) < order["devices"]:
            try:
                for _ in _together(number, StudyFolder(job.study).pack(order["pack"]), job, lambda: False):
                    pass
            except RuntimeError as error:
                if not _failed_elsewhere(number, error):
                    raise


def lead(name: str, run: Run, folder: PackFolder, job: Job, stop: Stop) -> Iterator[Event]:
    """Orders a run, and is the first to train it."""
    begun, number = time.perf_counter(), next(_orders)
    job = job.only(name)
    order = {"pack": folder.id, "devices": run.devices, "job": job.dumps()}
    _store().set(f"order-{number}", json.dumps(order))
    try:
        yield from _together(number, folder, job, stop)
    except RuntimeError as error:
        failed = _failed_elsewhere(number, error)
        if not failed:
            raise
        with PackWriter(folder) as writer:
            writer.status(name, "failed", reason=failed.reason, traceback=failed.traceback, timing=job.timing)
        yield failed
    note_turnaround(name, folder, time.perf_counter() - begun)


def dismiss() -> None:
    """Orders no more, until a study is run again."""
    _store().set(f"order-{next(_orders)}", "")


def _together(number: int, folder: PackFolder, job: Job, stop: Stop) -> Iterator[Event]:
    """The part of this process in an order. If its run fails here the others are told before they lose this one."""
    for event in work(folder, job, stop, f"team-{number}"):
        if event.status == "failed":
            _store().set(f"failed-{number}", json.dumps(event.plain()))
        yield event


def _failed_elsewhere(number: int, error: RuntimeError) -> Event | None:
    """What the process said that the run of this order failed in, where the error is that it left the team."""
    from paceline.train.parallel.team import lost

    key = f"failed-{number}"
    return Event.loads(_store().get(key)) if lost(error) and _store().check([key]) else None


def _heard(number: int) -> dict[str, Any]:
    key = f"order-{number}"
    _store().wait([key], _ENDLESS)
    said = _store().get(key)
    return json.loads(said) if said else {}


def _store() -> Any:
    from paceline.train.parallel.meeting import met

    return met()
