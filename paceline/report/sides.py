"""One side of a comparison: the runs of a record, what was measured of them, and what they were trained with."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from paceline.analyse.finals import finals
from paceline.errors import RecordError
from paceline.plan.expand import expand
from paceline.record.layout import StudyFolder, studies
from paceline.record.machine import read_machine
from paceline.record.reader import RunState, read_packs, read_rows, read_study, states
from paceline.report.names import labels
from paceline.spec import Run, Study, run_id
from paceline.spec.run import construct

_DESCRIBED = ("host", "system", "cpu", "cores", "memory_gb", "gpus", "device", "threads", "python")


class Member(NamedTuple):
    """A run of one side and its place in the study."""

    id: str
    run: Run
    place: tuple[Any, ...]  # case, axes without the device, seed
    setting: str  # case and axes in words, without the device
    by_device: bool  # whether the device is an axis
    state: RunState | None

    @property
    def status(self) -> str:
        return self.state.status if self.state else "queued"

    @property
    def details(self) -> dict[str, Any]:
        return self.state.details if self.state else {}


@dataclass(frozen=True)
class Side:
    """What one folder has recorded of one study."""

    folder: StudyFolder
    study: Study
    members: dict[str, list[Member]]  # by the run's identity without its device
    rows: pl.DataFrame

    @cached_property
    def machines(self) -> dict[str, dict[str, Any]]:
        """machine.json by pack; without those that cannot be read."""
        found = {}
        for pack in self.folder.packs():
            with contextlib.suppress(RecordError):
                found[pack.id] = read_machine(pack)
        return found

    def machine(self, member: Member) -> dict[str, Any]:
        return self.machines.get(member.state.pack.id, {}) if member.state else {}

    def data(self, member: Member) -> str | None:
        """The checksum of what a run was trained on."""
        return member.details.get("data") or (self.machine(member).get("data") or {}).get(str(member.run.data))


def records(path: Path) -> list[StudyFolder]:
    if not path.is_dir():
        raise RecordError(
            f"{path}: no such folder. Say a study's record, as runs/NAME, or a folder of records, as runs."
        )
    found = [StudyFolder(path)] if (path / "study.json").is_file() else studies(path)
    if not found:
        raise RecordError(f"{path}: no records: neither it nor a folder in it holds a study.json.")
    return found


def read(folder: StudyFolder) -> Side:
    study, packs = read_study(folder), read_packs(folder)
    known = states(packs)
    trials = expand(study, own_parts=False)
    placed = [({**({"case": t.case} if t.case else {}), **t.axes}, t) for t in trials]
    for axes, _ in placed:
        axes.pop("device", None)
    said = labels([axes for axes, _ in placed], study.name)
    members: dict[str, list[Member]] = defaultdict(list)
    seen = set[str]()
    for (axes, trial), label in zip(placed, said, strict=True):
        if trial.id in seen:  # two cases that say the same thing share one run: the first names it
            continue
        seen.add(trial.id)
        place = (tuple(sorted((key, str(value)) for key, value in axes.items())), trial.run.seed)
        member = Member(trial.id, trial.run, place, label, "device" in trial.axes, known.get(trial.id))
        members[_without_device(trial.run)].append(member)
    return Side(folder, study, members, read_rows(packs))


def _without_device(run: Run) -> str:
    return run_id(construct({**run.__dict__, "device": "auto"}))


def measured(side: Side, members: list[Member], select: str, metric: str) -> pl.DataFrame:
    """run, timing, step, seconds, value, samples, memory, before, after: a line a run."""
    details = [member.details for member in members]
    probes = [found.get("probe") or {} for found in details]
    noted = pl.DataFrame(
        {
            "run": [member.id for member in members],
            "status": ["done"] * len(members),
            "timing": [found.get("timing") for found in details],
            "samples": [found.get("samples_per_second") for found in details],
            "memory": [found.get("peak_bytes") for found in details],
            "before": [probe.get("before") for probe in probes],
            "after": [probe.get("after") for probe in probes],
        },
        schema={
            **dict.fromkeys(("run", "status", "timing"), pl.String),
            **dict.fromkeys(("samples", "memory", "before", "after"), pl.Float64),
        },
        strict=False,
    )
    mine = side.rows.join(noted.select("run"), on="run", how="semi")
    last = mine.group_by("run").agg(pl.col("step", "seconds").sort_by("step").last())
    ends = finals(mine, noted, select=select, metric=metric).select("run", "value")
    return noted.drop("status").join(last, on="run", how="left").join(ends, on="run", how="left")


def described(machine: dict[str, Any], member: Member) -> Iterator[dict[str, str]]:
    """A machine as words by what they are about; where a pack was resumed elsewhere, the earlier ones too."""
    used = {"threads used": str(member.details["threads"])} if member.details.get("threads") else {}
    for found in (machine, *(machine.get("earlier") or [])):
        plain = {name: found.get(name) for name in _DESCRIBED}
        packages = {name: version for name, version in (found.get("packages") or {}).items() if version}
        yield {name: _fact(value) for name, value in {**plain, **packages}.items()} | used | _git(found.get("git"))


def _fact(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not recorded" if value is None else str(value)


def _git(git: dict[str, Any] | None) -> dict[str, str]:
    return {"git": f"{git['commit'][:10]}{' with changes' if git.get('dirty') else ''}"} if git else {}
