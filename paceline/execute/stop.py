"""How training is told to stop: by a flag that is read at a step boundary."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Stop = Callable[[], bool]


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """Ctrl-C and SIGTERM only set a flag; a second Ctrl-C breaks off at once."""
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
