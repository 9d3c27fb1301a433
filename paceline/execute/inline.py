"""Packs one after the other in this process, with the whole machine: runs are timed `exclusive`."""

from collections.abc import Iterator

from paceline.errors import PacelineError
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.stop import stop_on_signal
from paceline.execute.worker import prepare, work


def inline(packs: list[str], job: Job) -> Iterator[Event]:
    prepare(job)
    with stop_on_signal() as stop:
        for pack in packs:
            try:
                yield from work(pack, job, stop)
            except PacelineError as error:
                yield Event("refused", pack, reason=str(error))
                return
            if stop():
                yield Event("stopped")
                return
