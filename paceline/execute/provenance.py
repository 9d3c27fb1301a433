"""What the records of single runs and of stacks have in common: where numbers come from, and what is kept of them."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from paceline.errors import RecordError, StudyError
from paceline.execute import datafiles, neighbours
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.record import machine
from paceline.record.layout import FORMAT, PackFolder, cannot_write, read_json, unreadable, write_json
from paceline.record.writer import ENDED, PackWriter, read_statuses
from paceline.spec import Run, run_id
from paceline.spec.run import PARTS, embeds
from paceline.spec.signature import source_hash

CHECKPOINT_SECONDS = float(os.environ.get("PACELINE_CHECKPOINT_SECONDS", "30"))


def missing(folder: PackFolder, job: Job) -> list[tuple[str, Run]]:
    statuses = read_statuses(folder)
    over = ENDED if job.retry_failed else (*ENDED, "failed")
    return [
        (name, run)
        for name, run in members(folder)
        if name in job.wanted and statuses.get(name, {}).get("status") not in over
    ]


def members(folder: PackFolder) -> Iterator[tuple[str, Run]]:
    for entry in read_json(folder.pack)["runs"]:
        try:
            run = Run.model_validate(entry.get("config"))
        except ValidationError as error:
            raise unreadable(folder.pack, f"run {entry['run']}: {error.errors()[0]['msg']}") from None
        if run_id(run) != entry["run"]:
            raise unreadable(folder.pack, f"run {entry['run']} does not have the id of its settings")
        yield entry["run"], run


def plain_row(row: Any) -> dict[str, Any]:
    values = {key: value for key, value in row.__dict__.items() if key != "extras"}
    for key, value in row.extras.items():
        if key in ("run", *values):
            raise StudyError(f"extras() gives '{key}', which every row has already; name it otherwise.", key="model")
        values[key] = value if value is None else float(value)
    return values


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


def spent(item: Any) -> dict[str, Any]:
    """A line of telemetry.jsonl."""
    said = {"step": item.step, "examples": item.examples, "seconds": item.seconds}
    return {**said, **item.phases, "evaluation": item.evaluation, **asdict(item.usage)}


def examined(name: str, run: Run, found: Any, job: Job) -> dict[str, Any]:
    """What is kept of a run's mistakes, with small pictures where the examples are images."""
    from paceline.data.picture import png

    dataset = _data(run, job)
    names = dataset.names or tuple(map(str, range(dataset.classes)))
    for mistake in found.worst:
        if mistake.index not in _pictures:
            _pictures[mistake.index] = png(dataset.test.x[mistake.index])
    worst = [{**mistake.__dict__, "png": _pictures[mistake.index]} for mistake in found.worst]
    matrix = [list(cell) for cell in found.matrix]
    data = f"{run.data} {dataset.checksum}"
    return {"run": name, "data": data, "names": list(names), "matrix": matrix, "worst": worst}


def origin(name: str, run: Run, checksum: str, job: Job) -> dict[str, Any]:
    """What a run's numbers come from: its settings, its data and the sources of own parts."""
    parts = [getattr(run, kind) for kind in PARTS]
    sources = {part.name: source_hash(part, job.folder) for part in parts if part.own}
    if found := datafiles.files_hash(run.data, job.folder):
        sources[datafiles.label(run.data)] = found
    if run.weights != "none":
        from paceline.data.pretrained import find

        start = find(run.weights, run.model.name, files(job), job.folder)
        sources[datafiles.weights_label(run.weights)] = start.sha256[:16]
    return {"run": name, "data": checksum, "sources": sources}


def noted(origin: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a run's origin beside how it stands."""
    return {name: origin[name] for name in ("data", "sources")}


def files(job: Job) -> Any:
    """Where data and weights are looked for."""
    from paceline.data.locate import Files

    return Files.search(job.data)


def note_turnaround(name: str, folder: PackFolder, seconds: float) -> bool:
    """How long a run took from the start of its processes to their end; False if it has not ended."""
    status = read_statuses(folder).get(name, {})
    if status.get("status") not in ("done", "diverged", "failed"):
        return False
    with PackWriter(folder) as writer:
        writer.status(name, **{**status, "turnaround_seconds": seconds})
    return True


def timing(job: Job, before: str) -> str:
    """A run is timed `exclusive` only if all of it was, as far as looks now and then can tell."""
    now = "shared" if job.timing == "exclusive" and neighbours.others() else job.timing
    return now if before == "exclusive" else before


def save(file: Path, state: dict[str, Any]) -> None:
    from safetensors import SafetensorError

    from paceline.train import checkpoint

    try:
        checkpoint.save(file, state)
    except (OSError, SafetensorError) as error:
        raise cannot_write(file, error) from None


def load(folder: PackFolder, *kinds: tuple[str, ...]) -> dict[str, Any]:
    """The checkpoint, which has what one of the kinds needs."""
    from paceline.train import checkpoint

    try:
        state = checkpoint.load(folder.checkpoint)
        if any(all(key in state for key in ("data", "sources", *kind)) for kind in kinds):
            return state
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise RecordError(f"{folder.checkpoint}: not a checkpoint of a run. Delete it and run again; the run starts anew.")


def resume(folder: PackFolder, origin: dict[str, Any]) -> dict[str, Any] | None:
    """The state to go on from; None if there is none of this run, or its data or own parts have changed since."""
    if not folder.checkpoint.exists():
        return None
    state = load(folder, ("model", "run"))
    changed = [key for key, value in origin.items() if state[key] != value]
    if changed and "run" not in changed:
        folder.checkpoint.unlink()
    return None if changed else state


_datasets: dict[Any, Any] = {}
_features: dict[Any, Any] = {}
_pictures: dict[int, str | None] = {}  # of the test examples of the data set at hand


def dataset(run: Run, job: Job) -> Any:
    """The run's data, or what its frozen base makes of them; kept for the next run that asks for the same."""
    if not embeds(run):
        return _data(run, job)
    from paceline.train.features import embedded

    seed = run.seed if run.weights == "none" else None
    made = _data(run, job)
    key = (run.model, run.weights, seed, run.image_size, run.normalize, run.device)
    if key not in _features:
        _features.clear()
        _features[key] = embedded(run, made, job.folder, files(job))
    return _features[key]


def _data(run: Run, job: Job) -> Any:
    """Read anew when its files or its source have changed: a notebook lives long."""
    from paceline.train import build

    source = source_hash(run.data, job.folder) if run.data.own else None
    key = (run.data, job.data, job.folder, source, datafiles.files_hash(run.data, job.folder))
    if key not in _datasets:
        for kept in (_datasets, _features, _pictures):
            kept.clear()
        _datasets[key] = build.data(run, files(job), job.folder)
    return _datasets[key]


def notes(folder: PackFolder, dataset: Any) -> Iterator[Event]:
    """What a person should know of the data."""
    yield from (Event("note", folder.id, reason=f"{dataset.name}: {note}") for note in dataset.notes)


def note_machine(folder: PackFolder, run: Run, dataset: Any, origin: dict[str, Any], job: Job) -> None:
    """Written at the pack's first run; where a resumed pack finds itself elsewhere, what was before is kept."""
    from paceline.train import device

    here = {
        **machine.describe(job.folder),
        "threads": job.threads,
        "device": device.describe(device.resolve(run.device)),
    }
    before = machine.read_machine(folder) if folder.machine.exists() else here
    now = {
        "format": FORMAT,
        **here,
        "data": {**(before.get("data") or {}), str(run.data): origin["data"]},
        "notes": {**(before.get("notes") or {}), str(run.data): list(map(str, dataset.notes))},
        "sources": {**(before.get("sources") or {}), **origin["sources"]},
        "earlier": _earlier(before, here),
    }
    if now != before:
        write_json(folder.machine, now)


def _earlier(before: dict[str, Any], here: dict[str, Any]) -> list[dict[str, Any]]:
    old = {key: before.get(key) for key in here}
    return [*(before.get("earlier") or []), *([old] if old != here else [])]
