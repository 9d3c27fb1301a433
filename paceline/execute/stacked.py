"""The runs of a pack as one program. What cannot be stacked after all is left to be trained run by run."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from paceline.errors import BrokenDeviceError, DataError, DeviceError, RecordError, StackError
from paceline.execute import checkpoints, datasets, origins, outcome
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.single import train_one
from paceline.execute.stop import Stop
from paceline.execute.waiting import missing, runs_of
from paceline.plan.cost import run_bytes
from paceline.plan.stacks import most_runs
from paceline.record.layout import PackFolder, read_json, write_json
from paceline.record.writer import PackWriter
from paceline.spec import Run
from paceline.spec.run import PARTS


def train_stacked(folder: PackFolder, writer: PackWriter, job: Job, stop: Stop) -> Iterator[Event]:
    """Trains what is missing of the pack, in as many stacks as memory asks for; none if it cannot be stacked. A run
    that was stopped when it trained by itself goes on by itself, first of all."""
    from paceline.train import device

    yield from _alone(folder, writer, job, stop)
    while (waiting := dict(missing(folder, job))) and not stop():
        try:
            kept = _kept(folder, waiting, job)
            names = kept["names"] if kept else _as_many_as_fit(waiting, job)
            if len(names) < 2 and not kept:
                return
            yield from _Stack(names, folder, writer, job).train(kept, stop)
        except (DataError, DeviceError, RecordError):
            raise
        except (Exception, SystemExit) as error:
            why = str(error) if isinstance(error, StackError) else f"{type(error).__name__}: {error}"
            give_up(folder, why)
            if device.broken(error):
                raise BrokenDeviceError(why) from None
            return


def _alone(folder: PackFolder, writer: PackWriter, job: Job, stop: Stop) -> Iterator[Event]:
    state = _state(folder)
    name = str(state.get("run"))
    run = dict(missing(folder, job)).get(name)
    if run is not None:
        yield from train_one(name, run, folder, writer, job, stop)


def _as_many_as_fit(waiting: dict[str, Run], job: Job) -> list[str]:
    from paceline.train.stack.size import memory, size

    run = next(iter(waiting.values()))
    parameters, activations, batch = size(run, datasets.dataset(run, job), job.folder, datasets.files(job))
    width = 8 if run.precision == "fp64" else 4
    each = run_bytes(parameters, activations, batch, width)
    most = most_runs(each, parameters, width, memory(run) * job.memory_share)
    count = math.ceil(len(waiting) / most)
    return list(waiting)[: math.ceil(len(waiting) / count)]


def give_up(folder: PackFolder, why: str) -> None:
    """From now on the pack's runs train in a row; what a stack left behind is of no use to them."""
    folder.checkpoint.unlink(missing_ok=True)
    write_json(folder.pack, {**read_json(folder.pack), "stacked": False, "unstacked": why})


def _kept(folder: PackFolder, waiting: dict[str, Run], job: Job) -> dict[str, Any] | None:
    """The stack to go on with, if its data and own parts are still the same."""
    state = _state(folder)
    if "names" not in state:
        return None
    members = dict(runs_of(folder))
    left = [name for name in state["names"] if name in waiting]
    if left and all(name in members for name in state["names"]):
        run = waiting[left[0]]
        now = _origin([members[name] for name in state["names"]], datasets.dataset(run, job).checksum, job)
        if all(state[key] == now[key] for key in ("data", "sources")):
            return state
    folder.checkpoint.unlink()
    return None


def _state(folder: PackFolder) -> dict[str, Any]:
    """What was kept, of a stack or of a run that trained by itself; nothing if there is nothing."""
    file = folder.checkpoint
    return checkpoints.load(file, ("names", "leaves"), checkpoints.RUN) if file.exists() else {}


def _origin(runs: list[Run], checksum: str, job: Job) -> dict[str, Any]:
    """What the numbers of all these runs come from."""
    alike = {tuple(getattr(run, kind) for kind in PARTS): run for run in runs}
    found = [origins.origin("", run, checksum, job) for run in alike.values()]
    return {"data": checksum, "sources": {name: hash for one in found for name, hash in one["sources"].items()}}


@dataclass
class _Stack:
    names: list[str]
    folder: PackFolder
    writer: PackWriter
    job: Job
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)  # the last of each run

    def train(self, kept: dict[str, Any] | None, stop: Stop) -> Iterator[Event]:
        from paceline.train.rows import Pause
        from paceline.train.stack.check import checked
        from paceline.train.stack.loop import train_stack

        members = dict(runs_of(self.folder))
        runs = [members[name] for name in self.names]
        dataset = datasets.dataset(runs[0], self.job)
        yield from datasets.notes(self.folder, dataset)
        origin = _origin(runs, dataset.checksum, self.job)
        origins.note_machine(self.folder, runs[0], dataset, origin, self.job)
        left = set(dict(missing(self.folder, self.job)))
        without = [place for place, name in enumerate(self.names) if name not in left]
        if kept is None:
            checked(runs, dataset, self.job.folder, self.job.threads)
        items = train_stack(runs, dataset, self.job.folder, kept, self.job.threads, without, datasets.files(self.job))
        alive = [name for name in self.names if name in left]
        stack = (kept or {}).get("stack") or self.names[0]  # which of a pack's stacks, whose runs share a clock
        noted = {"timing": "stacked", "stack": stack, **origins.noted(origin)}
        begun = {"status": "running", "step": kept["position"][0] if kept else 0, **noted}
        self.writer.statuses(dict.fromkeys(alive, begun))
        yield Event("began", self.folder.id, runs=tuple(alive))
        saved, saves = time.monotonic(), kept is not None
        said: list[Any] = []
        for item in items:
            if not isinstance(item, Pause):
                said.append(item)
                continue
            over = self._write(said, noted)
            yield from over
            said, alive = [], [name for name in alive if name not in {event.run for event in over}]
            stopping = stop()
            if stopping or time.monotonic() - saved > checkpoints.CHECKPOINT_SECONDS:
                self._save(item.snapshot(), {"stack": stack, **origin})
                self.writer.statuses({name: {"status": "running", "step": item.step, **noted} for name in alive})
                saved, saves = time.monotonic(), True
            if stopping:
                items.close()  # type: ignore[attr-defined]
                yield from self._interrupt(alive, item, noted)
                return
            yield Event("progress", self.folder.id, runs=tuple(alive), step=item.step, total=item.total)
        yield from self._write(said, noted)
        if saves:
            self.folder.checkpoint.unlink(missing_ok=True)

    def _write(self, said: list[Any], noted: dict[str, Any]) -> list[Event]:
        """Writes what was said of the runs since the last pause, all at once; the events of those that ended."""
        from paceline.train.rows import Outcome

        ended: dict[str, Any] = {}
        lines = []
        for place, item in said:
            name = self.names[place]
            if isinstance(item, Outcome):
                ended[name] = item
            else:
                self.rows[name] = outcome.plain_row(item)
                lines.append({"run": name, **self.rows[name]})
        self.writer.rows(lines)
        runs = dict(runs_of(self.folder)) if ended else {}
        for name, item in ended.items():
            if item.examined is not None:
                self.writer.examined(outcome.examined(name, runs[name], item.examined, self.job))
        if ended:
            self.writer.statuses(
                {name: {"status": item.status, **outcome.ended(item), **noted} for name, item in ended.items()}
            )
        return [
            Event("ended", self.folder.id, name, (), item.step, 0, item.status, item.reason, self.rows.get(name))
            for name, item in ended.items()
        ]

    def _save(self, state: dict[str, Any], noted: dict[str, Any]) -> None:
        self.writer.sync()
        names = [self.names[place] for place in state.pop("places")]
        checkpoints.save(self.folder.checkpoint, {**state, "names": names, **noted})

    def _interrupt(self, alive: list[str], pause: Any, noted: dict[str, Any]) -> Iterator[Event]:
        self.writer.statuses({name: {"status": "interrupted", "step": pause.step, **noted} for name in alive})
        for name in alive:
            row = self.rows.get(name)
            yield Event("ended", self.folder.id, name, (), pause.step, pause.total, "interrupted", "stopped", row)
