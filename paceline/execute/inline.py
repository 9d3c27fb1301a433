"""Packs one after the other in this process, with the whole machine: runs are timed `exclusive`."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paceline.errors import PacelineError
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.single import Stop
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


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """Ctrl-C and SIGTERM only set a flag, read at a step boundary; a second Ctrl-C breaks off at once."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag.is_set
        return

    def handle(number: int, frame: Any) -> None:
        if flag.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        flag.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
