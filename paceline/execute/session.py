"""One `run` of a study: what is done already, what is missing, and the packs that will train it."""

from collections.abc import Generator, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import SupportsIndex

import psutil

from paceline.errors import DeviceError, RecordError, StudyError
from paceline.execute import members
from paceline.execute import speeds as kept_speeds
from paceline.execute.capable import unable
from paceline.execute.datafiles import files_hash, label, weights_hash, weights_label
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.plan.choose import Choice, Group, Speeds, choose, groups
from paceline.plan.cost import Cost, cost
from paceline.plan.expand import Trial, expand
from paceline.plan.packs import Pack, pack
from paceline.plan.stacks import MEMORY_SHARE
from paceline.record.claim import Claim, alive, waited
from paceline.record.layout import FORMAT, StudyFolder, make_folder, write_json
from paceline.record.machine import accelerator, usable_cores
from paceline.record.reader import PackState, RunState, read_packs, states
from paceline.record.writer import OVER
from paceline.spec import Part, Run, Study, plain
from paceline.spec.run import PARTS
from paceline.spec.sources import source_hash


@dataclass(frozen=True)
class Session:
    study: Study
    folder: StudyFolder
    trials: list[Trial]
    packs: list[PackState]
    runs: dict[str, RunState]  # by id, those of this study that have been planned before
    stale: frozenset[str]  # finished, but by sources or data that have changed since
    jobs_said: tuple[int, ...]  # the numbers of processes to choose from
    stack: bool | None  # whether to stack, if it was said
    speeds: Speeds = field(repr=False)  # measured on this machine

    @cached_property
    def ids(self) -> set[str]:
        return {trial.id for trial in self.trials}

    @cached_property
    def groups(self) -> dict[Hashable, Group]:
        """What is to be trained, by what may train as one program."""
        missing = self.missing()
        memory = psutil.virtual_memory().total / max(self.jobs_said)
        return groups([trial for trial in self.trials if trial.id in missing], _cost, self.jobs_said, memory)

    @cached_property
    def choice(self) -> Choice:
        return choose(self.groups, self.jobs_said, self.speeds, stack=self.stack)

    @property
    def devices(self) -> int:
        """The most that a run of the study has: on a CPU every device has the same share of the cores."""
        return max((trial.run.devices for trial in self.trials), default=1)

    @property
    def jobs(self) -> int:
        return self.choice.jobs

    @cached_property
    def costs(self) -> dict[str, Cost | None]:
        jobs, known = self.jobs, dict[str, Cost]()
        for group in self.groups.values():
            if group.kind:
                known.update(zip((trial.id for trial in group.trials), group.costs[jobs], strict=True))
        return {trial.id: known.get(trial.id) or _cost(trial.run, jobs) for trial in self.trials}

    def standing(self) -> dict[str, int]:
        """How many runs of the study stand how."""
        counts: dict[str, int] = {}
        for run in self.ids:
            status = self.runs[run].status if run in self.runs else "queued"
            counts[status] = counts.get(status, 0) + 1
        return counts

    def with_others(self) -> int:
        """How many runs wait or train in packs that some process has now."""
        packs = {state.pack.id: state.pack for state in self.runs.values()}
        taken = {name for name, pack in packs.items() if alive(pack.claim)}
        states = [self.runs[run] for run in self.ids if run in self.runs]
        return sum(state.pack.id in taken and state.status not in OVER for state in states)

    def missing(self, retry_failed: bool = False) -> set[str]:
        """Runs to train now. A failed one is tried again only when asked; a finished one never."""
        over = {
            run for run, state in self.runs.items() if state.ended or (state.status == "failed" and not retry_failed)
        }
        return self.ids - over

    @cached_property
    def steps_kept(self) -> dict[str, int]:
        """By run, the steps from which those go on that were stopped or killed."""
        kept = {known.folder for known in self.packs if known.folder.kept()}
        stopped = [state for state in self.runs.values() if state.status == "interrupted" and state.pack in kept]
        return {state.run: step for state in stopped if (step := state.details.get("step"))}

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Runs that this machine cannot train, and why."""
        return unable(self.trials)

    def new_packs(self, missing: set[str]) -> list[Pack]:
        """Packs for what no pack holds yet."""
        held = {state.run for known in self.packs for state in known.runs}
        fresh = [trial for trial in self.trials if trial.id in missing and trial.id not in held]
        alone = self.study.measure == "time" or self.devices > 1 or members.processes() > 0
        return pack(fresh, self.costs, jobs=self.jobs, alone=alone, stacks=self.choice.stacks)

    def kept_packs(self, missing: set[str]) -> list[str]:
        """Packs that an earlier `run` began; their members stay together."""
        return [known.folder.id for known in self.packs if any(state.run in missing for state in known.runs)]


def open_session(
    study: Study, out: Path, *, jobs: int | None = None, stack: bool | None = None, data: Path | None = None
) -> Session:
    """`jobs` and `stack`: as asked; unsaid, what is expected to be fastest. `data`: where data and weights are."""
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, SupportsIndex) or jobs < 1):
        raise StudyError(f"{jobs!r} jobs; say a whole number from 1.", key="jobs")
    if study.measure == "time" and jobs and jobs > 1:
        raise StudyError("a study of time runs one run at a time; leave --jobs out.", key="measure", where=study.name)
    if study.measure == "time" and stack:
        raise StudyError("a study of time runs one run at a time; leave --stack out.", key="measure", where=study.name)
    folder = StudyFolder.of(out, study.name)
    trials = expand(study)
    packs = read_packs(folder)
    ids = {trial.id for trial in trials}
    runs = {run: state for run, state in states(packs).items() if run in ids}
    timed = study.measure == "time"
    spread = max((trial.run.devices for trial in trials), default=1) > 1 or members.processes() > 0
    accelerated = any(trial.run.device != "cpu" for trial in trials) and accelerator()
    alone = timed or spread or accelerated  # at an accelerator several processes only get in each other's way
    if spread and (stack or (jobs and jobs > 1)):
        raise StudyError("several devices train one run at a time; leave --jobs and --stack out.", key="devices")
    jobs_said = (jobs,) if jobs else (1,) if alone else tuple(sorted({1, usable_cores()}))
    stale = stale_runs(study, trials, runs, data)
    stack = False if timed or spread else stack
    return Session(study, folder, trials, packs, runs, stale, jobs_said, stack, kept_speeds.load())


def _cost(run: Run, jobs: int) -> Cost | None:
    return cost(run, max(1, usable_cores() // jobs))


def stale_runs(
    study: Study, trials: list[Trial], runs: dict[str, RunState], data: Path | None = None
) -> frozenset[str]:
    """Finished runs whose own parts, data or weights are not those of today: other sources, other files."""
    now: dict[str, str | None] = {}
    files = cache(partial(files_hash, folder=study.folder))
    weights = cache(partial(weights_hash, folder=study.folder, data=data))
    stale = set()
    for trial in trials:
        if trial.id not in runs or not runs[trial.id].ended:
            continue
        before = runs[trial.id].details.get("sources") or {}
        for part in (part for kind in PARTS if (part := getattr(trial.run, kind)).own):
            if part.path not in now:
                now[part.path] = source_hash(part, study.folder)
            if now[part.path] and before.get(part.name) not in (None, now[part.path]):
                stale.add(trial.id)
        read = before.get(label(trial.run.data))
        began = before.get(weights_label(trial.run.weights))
        if (read and files(trial.run.data) not in (None, read)) or (
            began and weights(trial.run.weights) not in (None, began)
        ):
            stale.add(trial.id)
    return frozenset(stale)


def unlike_data(trials: list[Trial], runs: dict[str, RunState]) -> list[str]:
    """A sentence for each data set of which finished runs saw unlike contents, by what they recorded."""
    found: dict[Part, dict[str, set[str]]] = {}
    for trial in trials:
        state = runs.get(trial.id)
        if state and state.ended and (checksum := state.details.get("data")):
            found.setdefault(trial.run.data, {}).setdefault(checksum, set()).add(trial.id)
    return [
        f"{data} changed between runs: {', '.join(f'{each[:19]} in {len(ids)}' for each, ids in sums.items())}."
        for data, sums in found.items()
        if len(sums) > 1
    ]


def set_stale_aside(session: Session) -> None:
    """Moves the packs of stale runs away, so that they are trained again by the sources of today."""
    for known in session.packs:
        if any(state.run in session.stale for state in known.runs):
            with Claim(known.folder.claim) as claim:
                if not claim.held:
                    raise RecordError(f"{known.folder.path}: is being trained by another process; try again later.")
                session.folder.set_aside(known.folder).claim.unlink(missing_ok=True)


def execute(session: Session, *, data: Path | None = None, retry_failed: bool = False) -> Generator[Event]:
    """Trains what is missing, and says how it goes."""
    try:
        yield from _execute(session, data, retry_failed)
    finally:
        if members.processes():
            members.dismiss()


def _execute(session: Session, data: Path | None, retry_failed: bool) -> Iterator[Event]:
    make_folder(session.folder.path)
    with waited(session.folder.planning):
        session = _with_packs(session, read_packs(session.folder))
        missing = session.missing(retry_failed)
        lacking = session.left_out
        if missing == session.ids == lacking.keys():
            raise DeviceError(f"this machine can train none of the {len(missing)} runs: {next(iter(lacking.values()))}")
        missing -= lacking.keys()
        packs = _settle_packs(session, missing)
    _sweep(session)
    if not packs:
        return
    job = Job(
        study=session.folder.path.absolute(),
        folder=session.study.folder,
        data=data.absolute() if data else None,
        threads=max(1, usable_cores() // (session.jobs * (members.processes_here() or session.devices))),
        timing="exclusive" if session.jobs == 1 else "shared",
        wanted=frozenset(missing),
        spread=session.devices > 1 or members.processes() > 0,
        timed=session.study.measure == "time",
        retry_failed=retry_failed,
        memory_share=MEMORY_SHARE / session.jobs,
    )
    if session.jobs == 1:
        from paceline.execute.inline import inline

        yield from inline(packs, job)
    else:
        from paceline.execute.local import local

        yield from local(packs, job, session.jobs)


def _sweep(session: Session) -> None:
    """What a process left that was killed when all of its pack had ended."""
    for known in session.packs:
        if all(state.ended for state in known.runs) and known.folder.claim.exists():
            with Claim(known.folder.claim) as claim:
                if claim.held:
                    known.folder.drop_leftovers()


def _with_packs(session: Session, packs: list[PackState]) -> Session:
    """The session as it stands now that these packs are there."""
    ids = session.ids
    runs = {run: state for run, state in states(packs).items() if run in ids}
    return replace(session, packs=packs, runs=runs)


def _settle_packs(session: Session, missing: set[str]) -> list[str]:
    """Writes which packs there are, one `run` at a time: two that packed alike runs unlike would train them twice."""
    write_study(session)
    fresh = session.new_packs(missing)
    for new in fresh:
        write_pack(session, new)
    return [*session.kept_packs(missing), *(new.id for new in fresh)]


def write_study(session: Session) -> None:
    study = session.study
    said = study.model_dump(mode="json")
    write_json(
        session.folder.study,
        {
            "format": FORMAT,
            "file": study.document.file,
            "folder": str(study.folder),
            "scale": study.scale,
            "changed": study.changed,
            "part": study.part,
            "study": said,
        },
    )


def write_pack(session: Session, new: Pack) -> None:
    folder = session.folder.pack(new.id)
    runs = [{"run": trial.id, "config": plain(trial.run)} for trial in new.trials]
    make_folder(folder.path)
    said = {"format": FORMAT, "pack": new.id, "study": session.study.name, "stacked": new.stacked, "runs": runs}
    write_json(folder.pack, said)
