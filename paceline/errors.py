"""What can go wrong, as one tree.

    PacelineError            anything Paceline says no to; the CLI prints it without a traceback
    ├── StudyError           the study file or a --set value is wrong
    ├── DataError            a data set is missing, truncated or not the one expected
    ├── RecordError          a record folder cannot be read or written
    ├── DeviceError          the machine lacks what the run asks for
    │   └── BrokenDeviceError  it failed in such a way that only another process can use it
    └── StackError           runs cannot train as one program; they then train in a row, and nobody is troubled

All but the last are things the user can mend: the CLI exits with code 2.
"""

import difflib
import math
import os
from collections.abc import Iterable


class PacelineError(Exception):
    exit_code = 2


class StudyError(PacelineError):
    """A study that says something impossible; `str()` gives file, line, key and what is allowed."""

    def __init__(self, message: str, *, key: str = "", where: str = "") -> None:
        self.message, self.key, self.where = message, key, where
        super().__init__(": ".join(part for part in (where, key, message) if part))


class DataError(PacelineError):
    pass


class RecordError(PacelineError):
    pass


class DeviceError(PacelineError):
    pass


class BrokenDeviceError(DeviceError):
    exit_code = 70  # of a worker process

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the device cannot be used any more by this process; the same command goes on with what is left ({reason})"
        )


class StackError(PacelineError):
    pass


SYNONYMS = {  # what other libraries call it
    "learning_rate": "lr",
    "batch_size": "batch",
    "num_workers": "workers",
    "num_epochs": "epochs",
    "max_epochs": "epochs",
    "max_steps": "steps",
    "dataset": "data",
    "network": "model",
    "gpus": "devices",
    "seeds": "repeat",
    "criterion": "loss",
    "scheduler": "schedule",
    "lr_scheduler": "schedule",
    "gpu": "cuda",
    "cross_entropy": "softmax_ce",
    "crossentropy": "softmax_ce",
    "crossentropyloss": "softmax_ce",
    "float16": "fp16",
    "float32": "fp32",
    "bfloat16": "bf16",
}


def nearest(name: str, allowed: Iterable[str], listed: str = "Allowed") -> str:
    """What an error says after an unknown name: the nearest valid one, then all of them."""
    names = sorted(str(a) for a in allowed)
    lower, said = {known.lower(): known for known in names}, str(name).lower()
    meant = SYNONYMS.get(said)
    close = [meant] if meant in lower else difflib.get_close_matches(said, lower, n=1)
    hint = f"Did you mean '{lower[close[0]]}'? " if close else ""
    return f"{hint}{listed}: {', '.join(names)}."


def number_said(variable: str, default: float) -> float:
    """What an environment variable says; the default where it is empty or not set."""
    said = os.environ.get(variable, "")
    try:
        number = float(said) if said else default
    except ValueError:
        number = math.nan
    if not number >= 0:
        raise PacelineError(f"${variable} is {said!r}; give a number from 0.")
    return number
