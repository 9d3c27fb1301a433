"""What the records of single runs and of stacks have in common: where numbers come from, and what is kept of them."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from paceline.errors import RecordError, StudyError
from paceline.execute import neighbours
from paceline.execute.job import Job
from paceline.record import machine
from paceline.record.layout import FORMAT, PackFolder, cannot_write, read_json, unreadable, write_json
from paceline.record.writer import ENDED, read_statuses
from paceline.spec import Run, run_id
from paceline.spec.run import PARTS
from paceline.spec.signature import source_hash

CHECKPOINT_SECONDS = 30.0


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
    return {
        "reason": outcome.reason,
        "step": outcome.step,
        "threads": outcome.threads,
        "evaluation_seconds": outcome.evaluation_seconds,
    }


def origin(name: str, run: Run, checksum: str, job: Job) -> dict[str, Any]:
    """What a run's numbers come from: its settings, its data and the sources of own parts."""
    parts = [getattr(run, kind) for kind in PARTS]
    sources = {part.name: source_hash(part, job.folder) for part in parts if part.own}
    return {"run": name, "data": checksum, "sources": sources}


def timing(job: Job, before: str) -> str:
    """A run is timed `exclusive` only if all of it was, as far as looks now and then can tell."""
    now = "shared" if job.timing == "exclusive" and neighbours.others() else job.timing
    return now if before == "exclusive" else before


def save(folder: PackFolder, state: dict[str, Any]) -> None:
    from safetensors import SafetensorError

    from paceline.train import checkpoint

    try:
        checkpoint.save(folder.checkpoint, state)
    except (OSError, SafetensorError) as error:
        raise cannot_write(folder.checkpoint, error) from None


def load(folder: PackFolder, needed: tuple[str, ...]) -> dict[str, Any]:
    from paceline.train import checkpoint

    try:
        state = checkpoint.load(folder.checkpoint)
        if all(key in state for key in needed):
            return state
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise RecordError(f"{folder.checkpoint}: not a checkpoint of a run. Delete it and run again; the run starts anew.")


def resume(folder: PackFolder, origin: dict[str, Any]) -> dict[str, Any] | None:
    """The state to go on from; None if there is none of this run, or its data or own parts have changed since."""
    if not folder.checkpoint.exists():
        return None
    state = load(folder, ("model", *origin))
    changed = [key for key, value in origin.items() if state[key] != value]
    if changed and "run" not in changed:
        folder.checkpoint.unlink()
    return None if changed else state


_datasets: dict[Any, Any] = {}


def dataset(run: Run, job: Job) -> Any:
    """The run's data, kept for the next run that asks for the same."""
    from paceline.data.locate import Files
    from paceline.train import build

    key = (run.data, job.data, job.folder)
    if key not in _datasets:
        _datasets.clear()
        _datasets[key] = build.data(run, Files.search(job.data), job.folder)
    return _datasets[key]


def note_machine(folder: PackFolder, run: Run, origin: dict[str, Any], job: Job) -> None:
    """Written at the pack's first run; where a resumed pack finds itself elsewhere, what was before is kept."""
    from paceline.train import device

    here = {
        **machine.describe(job.folder),
        "threads": job.threads,
        "device": device.describe(device.resolve(run.device)),
    }
    before = read_json(folder.machine) if folder.machine.exists() else here
    try:
        now = {
            "format": FORMAT,
            **here,
            "data": {**before.get("data", {}), str(run.data): origin["data"]},
            "sources": {**before.get("sources", {}), **origin["sources"]},
            "earlier": _earlier(before, here),
        }
    except TypeError as error:
        raise unreadable(folder.machine, str(error)) from None
    if now != before:
        write_json(folder.machine, now)


def _earlier(before: dict[str, Any], here: dict[str, Any]) -> list[dict[str, Any]]:
    old = {key: before.get(key) for key in here}
    return [*before.get("earlier", []), *([old] if old != here else [])]
