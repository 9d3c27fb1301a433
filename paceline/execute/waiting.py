"""The runs of a pack, and which of them are still to be trained."""

from collections.abc import Iterator

from pydantic import ValidationError

from paceline.execute.job import Job
from paceline.record.layout import PackFolder, read_json, unreadable
from paceline.record.writer import ENDED, OVER, read_statuses
from paceline.spec import Run, run_id


def missing(folder: PackFolder, job: Job) -> list[tuple[str, Run]]:
    """Those that failed come last: the pack's one checkpoint may be of another that was broken off."""
    statuses = {name: said.get("status") for name, said in read_statuses(folder).items()}
    over = ENDED if job.retry_failed else OVER
    waiting = [(name, run) for name, run in runs_of(folder) if name in job.wanted and statuses.get(name) not in over]
    return sorted(waiting, key=lambda item: statuses.get(item[0]) == "failed")


def runs_of(folder: PackFolder) -> Iterator[tuple[str, Run]]:
    for entry in read_json(folder.pack)["runs"]:
        try:
            run = Run.model_validate(entry.get("config"))
        except ValidationError as error:
            raise unreadable(folder.pack, f"run {entry['run']}: {error.errors()[0]['msg']}") from None
        if run_id(run) != entry["run"]:
            raise unreadable(folder.pack, f"run {entry['run']} does not have the id of its settings")
        yield entry["run"], run
