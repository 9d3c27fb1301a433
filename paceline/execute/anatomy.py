"""What a step of a run is made of on this machine, and what exchanging gradients costs it: measured by a team of two,
in less than a minute, and kept in the user's cache.

torchrun --nproc-per-node=2 -m paceline.execute.anatomy ASKED FOUND     a process of the team; both are files
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from paceline import cache
from paceline.errors import DeviceError
from paceline.execute import neighbours, torchrun
from paceline.execute.cores import environment
from paceline.execute.job import Job
from paceline.record.machine import fingerprint, usable_cores
from paceline.spec import Run, plain
from paceline.spec.argument import ArgumentError
from paceline.spec.run import PARTS
from paceline.spec.sources import source_hash

TEAM = 2
ROUNDS = 2  # of all profiles; of each the quickest counts, for a machine is now and then disturbed
SECONDS = 1.5  # of steps for each profile of a round
MESSAGES_SECONDS = 3.0
PATIENCE = 300.0  # after which a measurement is given up
_UNFELT = ("seed", "lr", "steps", "epochs", "evaluate_every", "early_stop", "schedule", "warmup")  # by a step
_SHARING = ("devices", "batch", "batch_mode", "lr_scale")  # said by the batches


@dataclass(frozen=True)
class Work:
    """One device's work of a step; tensors in the order in which their gradients come."""

    batch: int  # examples on this device
    forward_seconds: float  # and of all that belongs to every step
    backward_seconds: tuple[float, ...]  # from the gradient before to this one
    gradient_bytes: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    optimizer_seconds: float
    jitter: float = 0.0  # standard deviation over mean of a device's work, from step to step

    @property
    def step_seconds(self) -> float:
        return self.forward_seconds + sum(self.backward_seconds) + self.optimizer_seconds

    def scaled(self, factor: float) -> "Work":
        """On a machine so many times slower."""
        return replace(
            self,
            forward_seconds=self.forward_seconds * factor,
            backward_seconds=tuple(seconds * factor for seconds in self.backward_seconds),
            optimizer_seconds=self.optimizer_seconds * factor,
        )

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Work":
        """From what was written down."""
        lists = {name: tuple(said[name]) for name in ("backward_seconds", "gradient_bytes")}
        return cls(**{**said, **lists, "shapes": tuple(tuple(shape) for shape in said["shapes"])})


@dataclass(frozen=True)
class Costs:
    """What hosts spend on an all-reduce, whatever the link."""

    call_seconds: float
    seconds_per_byte: float  # received
    on_cores: bool  # the cores that compute do this too


@dataclass(frozen=True)
class Anatomy:
    alone: Work  # a device by itself
    together: tuple[Work, ...]  # beside others, with one batch or two; gradients are made ready to be sent
    costs: Costs
    at: float = 0.0  # when it was measured
    disturbed: bool = False  # by another process that trained meanwhile

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Anatomy":
        together = tuple(map(Work.of, said["together"]))
        costs, disturbed = Costs(**said["costs"]), bool(said.get("disturbed"))
        return cls(Work.of(said["alone"]), together, costs, float(said["at"]), disturbed)


def costs_of(taken: Sequence[tuple[float, float]], size: int, *, on_cores: bool) -> Costs:
    """From measured all-reduces over so many devices, (bytes, seconds): a line with the least relative errors.

    A device receives 2 (N - 1) / N of a message.
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    columns = [[1 / seconds, 2 * (size - 1) / size * count / seconds] for count, seconds in taken]
    (call, each), _ = nnls(columns, [1.0] * len(columns))
    return Costs(float(call), float(each), on_cores)


def anatomy(
    run: Run, alone: int, together: tuple[int, ...], *, folder: Path = Path(), data: Path | None = None
) -> Anatomy:
    """Of one device with so many examples a step, and of devices side by side with so many each.

    Kept for 30 days, for this machine and these versions, and shared by runs that differ in what no step feels; not
    kept if it was disturbed.
    """
    kind = _kind(run, alone, together, folder)
    kept = cache.recent(_file(), Anatomy.of)
    if kind in kept:
        return kept[kind]
    with neighbours.present():
        beside = neighbours.others()
        found = Anatomy.of(_measured(run, alone, together, folder, data))
        beside = beside or neighbours.others()
    if beside:
        return replace(found, disturbed=True)
    entries = {**kept, kind: found}
    cache.keep(_file(), json.dumps({kind: asdict(entry) for kind, entry in entries.items()}, indent=1))
    return found


def _kind(run: Run, alone: int, together: tuple[int, ...], folder: Path) -> str:
    said = {name: value for name, value in plain(run).items() if name not in (*_UNFELT, *_SHARING)}
    own = [part for kind in PARTS if (part := getattr(run, kind)).own]
    try:
        sources = {part.name: source_hash(part, folder) for part in own}
    except ArgumentError as error:
        raise DeviceError(f"a step could not be measured: {error}") from None
    return json.dumps({**said, "sources": sources, "alone": alone, "together": together}, sort_keys=True)


def _file() -> Path:
    return cache.user_cache() / f"anatomies-{fingerprint()}.json"


def _measured(run: Run, alone: int, together: tuple[int, ...], folder: Path, data: Path | None) -> dict[str, Any]:
    size = _team_size(run)
    threads = max(1, usable_cores() // size)
    asked = {"alone": alone, "together": together, "run": plain(run), "size": size, "threads": threads}
    with tempfile.TemporaryDirectory(prefix="paceline-") as room:
        files = [Path(room) / name for name in ("asked.json", "found.json")]
        files[0].write_text(json.dumps({**asked, "folder": str(folder), "data": str(data) if data else None}))
        with subprocess.Popen(
            torchrun.command(size, __name__, *map(str, files)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(threads),
        ) as process:
            try:
                _, said = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                late = f"a step was not measured within {PATIENCE:g} s. Try a smaller batch, or --no-mechanism."
                raise DeviceError(late) from None
            finally:
                if process.returncode is None:
                    process.terminate()
                    torchrun.end(process)
        if process.returncode or not files[1].exists():
            raise DeviceError(f"a step could not be measured: {torchrun.last_words(said, process.returncode)}")
        found: dict[str, Any] = json.loads(files[1].read_text())
        return found


def _team_size(run: Run) -> int:
    """Two, or as many GPUs as there are."""
    from paceline.train import device

    if device.resolve(run.device).type != "cuda":
        return TEAM
    import torch

    return min(TEAM, torch.cuda.device_count())


def main() -> None:
    import torch

    from paceline.train import device
    from paceline.train.parallel.team import gathered

    said: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    run = Run.model_validate(said["run"])
    torch.set_num_threads(said["threads"])
    with gathered(device.resolve(run.device).type, said["size"]) as team:
        found = measure(run, said, team)
        if team.first:
            Path(sys.argv[2]).write_text(json.dumps(asdict(found)))


def measure(run: Run, said: Mapping[str, Any], team: Any) -> Anatomy:
    """What every process of the team does; the first one's answer counts."""
    from paceline.execute import datasets
    from paceline.train import device
    from paceline.train.parallel.link import exchanges
    from paceline.train.parallel.profile import profile

    here, threads = device.resolve(run.device), int(said["threads"])
    job = Job(
        Path(), Path(said["folder"]), Path(said["data"]) if said["data"] else None, threads, "shared", frozenset()
    )
    dataset, files = datasets.dataset(run, job), datasets.files(job)

    def profiled(batch: int, *of: Any) -> Work:
        found = profile(run, dataset, batch, SECONDS, *of, folder=job.folder, cores=threads, files=files)
        return Work.of(asdict(found))

    def side_by_side(batch: int) -> Work:
        work = profiled(batch, team)
        steps = [step for (step,) in team.spread([work.step_seconds], here)]
        return work.scaled(sum(steps) / len(steps) / work.step_seconds)

    alone, together = [], []
    for _ in range(ROUNDS):
        if team.first:
            alone.append(profiled(said["alone"]))
        team.wait()
        together.append([side_by_side(batch) for batch in said["together"]])
    works = tuple(_quickest(each) for each in zip(*together, strict=True))
    costs = Costs(0.0, 0.0, False)  # one device sends nothing, and the stated link says all
    if team.size > 1:
        compress = run.strategy.complete.get("compress", "none")
        kind = compress if compress in ("fp16", "bf16") else "none"
        taken = exchanges(team, here, (kind,), seconds=MESSAGES_SECONDS)[kind]
        costs = costs_of(taken, team.size, on_cores=here.type == "cpu")
    return Anatomy(_quickest(alone or works), works, costs, time.time())


def _quickest(works: Sequence[Work]) -> Work:
    return min(works, key=lambda work: work.step_seconds)


if __name__ == "__main__":
    main()
