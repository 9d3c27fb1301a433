"""Several hosts: torchrun starts `paceline run` in every process; the first of them leads, the others do as it says.

torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=HOST:PORT -m paceline run STUDY

The leader plans, writes and tells as ever. An order goes to the others through the store that all of them meet at; of a
run on N devices the first N processes are the team. One in which a run fails says so there too: the others, who lose
it, go on to the next order. NCCL does not tell them: there the process says so in the pack's folder and ends. When a
process ends torchrun starts all of them again, and the same command goes on. Records and data lie where every host sees
them.
"""

import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.outcome import note_turnaround
from paceline.execute.rank import work
from paceline.execute.stop import Stop
from paceline.record.layout import PackFolder, StudyFolder, write_json
from paceline.record.writer import PackWriter, read_statuses
from paceline.spec import Run

_ENDLESS = timedelta(days=365)
SILENT = "nccl"  # between processes that wait for each other it is silent when one of them ends
GRACE = timedelta(seconds=10)  # in which a run that fails in every process has failed in all of them
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
    """Orders a run, and is the first to train it. It has failed if a process left word that it does."""
    if noted := _noted(name, folder):
        folder.failure.unlink()
        again = job.retry_failed and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        if not again and read_statuses(folder).get(name, {}).get("status") != "failed":
            _record_failure(name, folder, job, noted)
            yield noted
            return
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
        _record_failure(name, folder, job, failed)
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
            if _waited_for(number):
                _end(folder, event)
        yield event


def _waited_for(number: int) -> bool:
    """Whether others of the team train on and would wait for this process in vain. Over gloo they notice at once; over
    NCCL only if the run fails in all of them is there nobody who waits."""
    import torch.distributed as dist

    if not dist.is_initialized() or dist.get_backend() != SILENT:  # a run on one device has no team
        return False
    keys = [f"failed-{number}-{rank}" for rank in range(dist.get_world_size())]
    _store().set(keys[dist.get_rank()], "failed")
    try:
        _store().wait(keys, GRACE)
    except dist.DistStoreError:
        return True
    return False


def _end(folder: PackFolder, failed: Event) -> None:
    """At once: what is under way between GPUs cannot be taken back, and leaving the team would wait for it."""
    if int(os.environ["RANK"]) > 0:  # the first has written it into the record
        write_json(folder.failure, failed.plain())
    again = "torchrun starts all processes again if it was told --max-restarts; else give the same command again."
    print(f"paceline: a run failed in process {os.environ['RANK']} alone: {failed.reason}. {again}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1)


def _noted(name: str, folder: PackFolder) -> Event | None:
    if not folder.failure.exists():
        return None
    event = Event.loads(folder.failure.read_text(encoding="utf-8"))
    return event if event.run == name else None


def _record_failure(name: str, folder: PackFolder, job: Job, failed: Event) -> None:
    with PackWriter(folder) as writer:
        writer.status(name, "failed", reason=failed.reason, traceback=failed.traceback, timing=job.timing)


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
