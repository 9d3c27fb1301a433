"""What will be trained and what stands already, in words."""

from collections import Counter

import polars as pl

from paceline.errors import RecordError, StudyError
from paceline.execute.session import Session, unlike_data
from paceline.plan.choose import way
from paceline.plan.estimate import Estimate, estimate
from paceline.plan.expand import expand
from paceline.plan.packs import Pack
from paceline.record.layout import StudyFolder, read_json
from paceline.record.reader import read_packs, read_rows, read_study, states
from paceline.record.writer import STATUSES
from paceline.report.names import counted, size
from paceline.report.results import axis_names
from paceline.report.terminal import Tally, duration


def planned(session: Session) -> list[str]:
    """`paceline plan`: the whole study, and what is left of it."""
    study, missing = session.study, session.missing()
    settings = len({id(trial.axes) for trial in session.trials})
    axes = ", ".join(axis_names(session.trials)) or "no axes"
    lines = [f"{study.name}: {study.question}"] if study.question else [study.name]
    whole = f"{counted(settings, 'setting')} ({axes}) x {counted(study.repeat, 'seed')}"
    lines.append(f"{counted(len(session.ids), 'run')}: {whole}; {_done(session)}")
    cost, _ = _cost(session, missing - session.left_out.keys())
    return [*lines, *filter(None, [size(study)]), *cost]


def _done(session: Session) -> str:
    standing = session.standing()
    ended = standing.get("done", 0) + standing.get("diverged", 0)
    others = [f"{standing[s]} {s}" for s in ("failed", "running", "interrupted") if s in standing]
    return ", ".join([f"{ended} of {len(session.ids)} done", *others]) + "."


def _cost(session: Session, missing: set[str]) -> tuple[list[str], Estimate]:
    fresh = session.new_packs(missing)
    kept = session.kept_packs(missing)
    held = {state.run for known in session.packs for state in known.runs}
    begun = [trial for trial in session.trials if trial.id in missing and trial.id in held]
    packs = [*fresh, *([Pack(tuple(begun))] if begun else [])]
    stacks = any(pack.stacked for pack in fresh)
    measured = {} if stacks or _by_speeds(session) else _measured(session)
    seconds = session.choice.seconds if missing == session.missing() else None
    made = {run: step for run, step in session.steps_kept.items() if run in missing}
    expected = estimate(packs, session.costs, jobs=session.jobs, measured=measured, seconds=seconds, kept=made)
    lines = [
        f"To train: {counted(expected.runs, 'run')} in {counted(len(fresh) + len(kept), 'pack')}{_steps(expected)}."
    ]
    lines += [*_continued(session, made), *_ways(session, fresh)]
    if expected.runs > expected.unknown:
        lines.append(
            f"Estimate: {_minutes(expected)}, {expected.memory_gb:.1f} GB of memory, "
            f"{max(0.1, expected.disk_mb):.1f} MB of disk{_basis(session, expected)}."
        )
    if expected.unknown:
        lines.append(f"{expected.unknown} runs use parts of your own: their size is known only when they are built.")
    return [*lines, *_stale(session)], expected


def _continued(session: Session, made: dict[str, int]) -> list[str]:
    """Where runs that were broken off go on."""
    if not made:
        return []
    first, last = min(made.values()), max(made.values())
    lengths = {cost.steps if (cost := session.costs.get(run)) else None for run in made}
    total = lengths.pop() if len(lengths) == 1 else None
    steps = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
    verb = "continues" if len(made) == 1 else "continue"
    return [f"{counted(len(made), 'run')} {verb} from {steps}{f' of {total:,}' if total else ''}."]


def _ways(session: Session, fresh: list[Pack]) -> list[str]:
    """Which runs train as one program, which do not, and why."""
    stacks = [len(pack.trials) for pack in fresh if pack.stacked]
    alone = {trial.id for pack in fresh if not pack.stacked for trial in pack.trials}
    side = f", {session.jobs} processes side by side" if session.jobs > 1 else ""
    lines = []
    if stacks:
        sizes = f"{min(stacks)} to {max(stacks)}" if min(stacks) < max(stacks) else f"{stacks[0]}"
        shared = f"{len(stacks)} stacks" if len(stacks) > 1 else "1 stack"
        tried = " if that proves the same and faster" if _unknown(session) else ""
        lines.append(f"Stacked: {sum(stacks)} runs in {shared} of {sizes}{tried}{side}.")
    if alone and session.study.measure == "time":
        lines.append(f"In a row: {counted(len(alone), 'run')}, because the study measures time.")
    elif alone:
        reasons: dict[str, int] = {}
        for key, group in session.groups.items():
            why = session.choice.why.get(key, "no other is left to stack it with")
            reasons[why] = reasons.get(why, 0) + sum(trial.id in alone for trial in group.trials)
        said = "; ".join(f"{count}: {why}" for why, count in reasons.items() if count)
        lines.append(f"In a row: {counted(len(alone), 'run')}{side}. Not stacked, {said}.")
    return lines


def _unknown(session: Session) -> bool:
    return any(group.kind is None for group in session.groups.values())


def _stale(session: Session) -> list[str]:
    count, unlike = len(session.stale), unlike_data(session.trials, session.runs)
    stale = f"{count} finished runs are stale: own parts, data or weights have changed. --redo-stale trains them again."
    return [*([stale] if count else []), *(f"Note: {said}" for said in unlike)]


def _namesake(session: Session) -> list[str]:
    """A word of warning when the folder holds the records of another file's study of the same name."""
    try:
        before = read_json(session.folder.study).get("file", "")
    except RecordError:  # none yet, or spoilt: this run writes it anew
        before = ""
    if not before or before == session.study.document.file:
        return []
    return [f"Note: {session.folder.path} was written by {before}; its runs stay, tables show this study from now on."]


def _steps(expected: Estimate) -> str:
    return f", {expected.steps:,} steps" if expected.steps else ""


def _minutes(expected: Estimate) -> str:
    return f"about {duration(expected.minutes * 60)}"


def _basis(session: Session, expected: Estimate) -> str:
    jobs = f" with {session.jobs} jobs" if session.jobs > 1 else ""
    if expected.measured:
        return f"{jobs} (from {expected.measured} finished runs)"
    if _by_speeds(session):
        return f"{jobs} (from speeds measured on this machine)"
    return f"{jobs} (a rough guess: within a factor of 3)"


def _by_speeds(session: Session) -> bool:
    """Whether all that is to be trained has been measured on this machine, in the way it is trained."""
    ways = [(group.kind or "", way(session.choice.stacks[k] > 0, session.jobs)) for k, group in session.groups.items()]
    return bool(ways) and all(name in session.speeds.get(kind, {}) for kind, name in ways)


def _measured(session: Session) -> dict[str, float]:
    """Wall seconds of finished runs."""
    ended = {r for r, state in session.runs.items() if state.ended and state.details.get("timing") != "stacked"}
    packs = [pack for pack in session.packs if any(state.run in ended for state in pack.runs)]
    if not packs:
        return {}
    last = read_rows(packs).group_by("run").agg(pl.col("wall_seconds").max())
    return {run: seconds for run, seconds in last.iter_rows() if run in ended}


def begin(session: Session, retry_failed: bool) -> tuple[list[str], Tally]:
    """What `paceline run` says first, and the tally it keeps."""
    missing = session.missing(retry_failed)
    out = {run: reason for run, reason in session.left_out.items() if run in missing}
    missing -= set(out)
    ended = sum(state.ended for state in session.runs.values())
    lines = [f"{session.study.name}: {ended} of {len(session.ids)} done.", *filter(None, [size(session.study)])]
    pace: dict[str, float] = {}
    if missing:
        told, expected = _cost(session, missing)
        lines += told
        pace = _pace(session, missing, expected)
    elif not out:
        lines += [_settled(session), *_stale(session)]
    lines += [*left_out(out), *_namesake(session)]
    labels = {trial.id: label(trial.case, trial.axes, trial.run.seed) for trial in session.trials}
    steps = {run: cost.steps for run in missing if (cost := session.costs.get(run))}
    return lines, Tally(len(session.ids), ended, labels, steps, session.steps_kept, pace)


def _pace(session: Session, missing: set[str], expected: Estimate) -> dict[str, float]:
    """Seconds that a step of each run is expected to take, such that all of them take what is estimated."""
    costs = {run: cost for run in missing if (cost := session.costs.get(run)) and cost.steps}
    ahead = sum(cost.seconds * (1 - session.steps_kept.get(run, 0) / cost.steps) for run, cost in costs.items())
    if len(costs) < len(missing) or ahead <= 0:
        return {}
    return {run: expected.minutes * 60 / ahead * cost.seconds / cost.steps for run, cost in costs.items()}


def _settled(session: Session) -> str:
    failed = sum(state.status == "failed" for state in session.runs.values())
    if not failed:
        return "Nothing is missing."
    them = "it" if failed == 1 else "them"
    return f"Nothing is left to train but {counted(failed, 'run')} that failed; --retry-failed tries {them} again."


def left_out(out: dict[str, str]) -> list[str]:
    """Runs that wait for another machine, by the reason."""
    reasons = Counter(out.values())
    return [f"Left out here: {counted(count, 'run')}. {reason}" for reason, count in reasons.items()]


def label(case: str, axes: dict[str, object], seed: int) -> str:
    said = [case] if case else []
    said += [f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in axes.items()]
    return ", ".join([*said, f"seed {seed}"])


def standing(folders: list[StudyFolder]) -> tuple[pl.DataFrame, list[str]]:
    """`paceline status`: a line a study, its runs counted by how they stand; and what is wrong with those that cannot
    be read."""
    lines, wrong = [], []
    for folder in folders:
        try:
            lines.append(_standing(folder))
        except (RecordError, StudyError) as error:
            wrong.append(f"{folder.path.name}: {error}")
    return pl.DataFrame(lines), wrong


def _standing(folder: StudyFolder) -> dict[str, object]:
    ids = {trial.id for trial in expand(read_study(folder), own_parts=False)}
    known = states(read_packs(folder))
    counts = dict.fromkeys(STATUSES, 0)
    for run in ids:
        counts[known[run].status if run in known else "queued"] += 1
    return {"study": folder.path.name, "runs": len(ids), **counts}
