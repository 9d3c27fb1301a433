"""What the trainer says, as it is kept in a pack's files: rows, telemetry, mistakes, how a run ended."""

from dataclasses import asdict
from typing import Any

from paceline.errors import StudyError
from paceline.execute import datasets, neighbours
from paceline.execute.job import Job
from paceline.record.layout import PackFolder
from paceline.record.writer import OVER, PackWriter, read_statuses
from paceline.spec import Run


def plain_row(row: Any) -> dict[str, Any]:
    values = {key: value for key, value in row.__dict__.items() if key != "extras"}
    for key, value in row.extras.items():
        if key in ("run", *values):
            raise StudyError(f"extras() gives '{key}', which every row has already; name it otherwise.", key="model")
        values[key] = value if value is None else float(value)
    return values


def spent(item: Any) -> dict[str, Any]:
    """A line of telemetry.jsonl."""
    said = {"step": item.step, "examples": item.examples, "seconds": item.seconds}
    return {**said, **item.phases, "evaluation": item.evaluation, **asdict(item.usage)}


def ended(outcome: Any) -> dict[str, Any]:
    """What is kept of how a run ended."""
    held = dict(zip(("peak_bytes", "memory_bytes"), outcome.peak, strict=True)) if outcome.peak else {}
    return {
        "reason": outcome.reason,
        "step": outcome.step,
        "threads": outcome.threads,
        "evaluation_seconds": outcome.evaluation_seconds,
        **held,
        **(_speed(outcome.speed) if outcome.speed else {}),
    }


def _speed(speed: Any) -> dict[str, Any]:
    """How fast a run was, and in a study of time what it asked of the machine and what the machine could do."""
    found: dict[str, Any] = {
        "samples_per_second": speed.samples_per_second,
        "compile_seconds": speed.compile_seconds,
        "telemetry_share": speed.telemetry_share,
    }
    if speed.sent_bytes:
        found |= {"sent_bytes": speed.sent_bytes, "imbalance": speed.imbalance}
    if speed.work:
        found["work"] = asdict(speed.work)
    if speed.probes:
        before, after = speed.probes
        found["probe"] = {
            "flops": max(before.flops, after.flops),
            "bytes": max(before.bytes, after.bytes),
            "call_seconds": min(before.call_seconds, after.call_seconds),
            "before": before.seconds,
            "after": after.seconds,
            "spread": max(before.spread, after.spread),
        }
    return found


def examined(name: str, run: Run, found: Any, job: Job) -> dict[str, Any]:
    """What is kept of a run's mistakes, with small pictures where the examples are images."""
    dataset = datasets.raw(run, job)
    names = dataset.names or tuple(map(str, range(dataset.classes)))
    worst = [{**mistake.__dict__, "png": datasets.picture(dataset, mistake.index)} for mistake in found.worst]
    matrix = [list(cell) for cell in found.matrix]
    data = f"{run.data} {dataset.checksum}"
    return {"run": name, "data": data, "names": list(names), "matrix": matrix, "worst": worst}


def timing(job: Job, before: str) -> str:
    """A run is timed `exclusive` only if all of it was, as far as looks now and then can tell."""
    now = "shared" if job.timing == "exclusive" and neighbours.others() else job.timing
    return now if before == "exclusive" else before


def note_turnaround(name: str, folder: PackFolder, seconds: float) -> bool:
    """How long a run took from the start of its processes to their end; False if it has not ended."""
    status = read_statuses(folder).get(name, {})
    if status.get("status") not in OVER:
        return False
    with PackWriter(folder) as writer:
        writer.status(name, **{**status, "turnaround_seconds": seconds})
    return True
