"""The runs of a pack, and which of them are still to be trained."""

from collections.abc import Iterator

from pydantic import ValidationError

from paceline.execute.job import Job
from paceline.record.layout import PackFolder, read_json, unreadable
from paceline.record.writer import ENDED, OVER, read_statuses
from paceline.spec import Run, run_id


def missing(folder: PackFolder, job: Job) -> list[tuple[str, Run]]:
    statuses = read_statuses(folder)
    over = ENDED if job.retry_failed else OVER
    return [
        (name, run)
        for name, run in runs_of(folder)
        if name in job.wanted and statuses.get(name, {}).get("status") not in over
    ]


def runs_of(folder: PackFolder) -> Iterator[tuple[str, Run]]:
    for entry in read_json(folder.pack)["runs"]:
        try:
            run = Run.model_validate(entry.get("config"))
        except ValidationError as error:
            raise unreadable(folder.pack, f"run {entry['run']}: {error.errors()[0]['msg']}") from None
        if run_id(run) != entry["run"]:
            raise unreadable(folder.pack, f"run {entry['run']} does not have the id of its settings")
        yield entry["run"], run
