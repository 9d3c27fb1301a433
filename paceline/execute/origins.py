"""Where a run's numbers come from: its settings, its data, the sources of own parts, the machine."""

from typing import Any

from paceline.execute import datafiles, datasets
from paceline.execute.job import Job
from paceline.record import machine
from paceline.record.layout import FORMAT, PackFolder, write_json
from paceline.spec import Run
from paceline.spec.run import PARTS
from paceline.spec.sources import source_hash


def origin(name: str, run: Run, checksum: str, job: Job) -> dict[str, Any]:
    """What a run's numbers come from: its settings, its data and the sources of own parts."""
    parts = [getattr(run, kind) for kind in PARTS]
    sources = {part.name: source_hash(part, job.folder) for part in parts if part.own}
    if found := datafiles.files_hash(run.data, job.folder):
        sources[datafiles.label(run.data)] = found
    if run.weights != "none":
        from paceline.data.pretrained import find

        start = find(run.weights, run.model.name, datasets.files(job), job.folder)
        sources[datafiles.weights_label(run.weights)] = start.sha256[:16]
    return {"run": name, "data": checksum, "sources": sources}


def noted(origin: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a run's origin beside how it stands."""
    return {name: origin[name] for name in ("data", "sources")}


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
