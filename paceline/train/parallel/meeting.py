"""Where the processes of torchrun meet: a store of keys and values that all of them see, and that is theirs alone.

After a process has died torchrun starts all of them again, at the same store: what the dead have left there (addresses
among it) must not be taken for a word of the living. So the first process asks who is there now and gives the round a
name of its own; another takes that name only if it was asked by its own.
"""

import json
import os
import time
import uuid
from collections import Counter
from datetime import timedelta
from functools import cache
from typing import Any

import torch.distributed as dist
from torch.distributed import PrefixStore  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from paceline.errors import DeviceError

LOOK_SECONDS = 0.02
_times: Counter[str] = Counter()  # that processes came together in a room


@cache
def met() -> Any:
    """The store of this round, once all processes are there."""
    host, port = os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]
    try:
        store, rank, size = next(rendezvous("env://"))
    except dist.DistNetworkError as error:
        raise DeviceError(
            f"the processes cannot meet at {host}:{port}: {str(error).splitlines()[0]} "
            "Is the port in use? Say another with --rdzv-endpoint HOST:PORT."
        ) from None
    return PrefixStore(_ask(store, size) if rank == 0 else _answer(store, rank), store)


def room(name: str) -> Any:
    """A part of the store, for one purpose."""
    return PrefixStore(name, met())


def together(name: str, rank: int, size: int) -> Any:
    """A part of the store for this meeting alone, without the addresses of the last one there; once so many processes
    have come: after the slowest has read its data, however long that takes."""
    _times[name] += 1
    store = room(f"{name}-{_times[name]}")
    store.set(f"ready-{rank}", "")
    store.wait([f"ready-{other}" for other in range(size)], timedelta(days=1))
    return store


def _ask(store: Any, size: int) -> str:
    """By the first process: the name of the round, when all others have taken it."""
    own, others = uuid.uuid4().hex, range(1, size)
    while True:
        here = [store.get(f"here-{rank}").decode() for rank in others if store.check([f"here-{rank}"])]
        store.set("round", json.dumps([own, *here]))
        if all(store.check([f"{own}-{rank}"]) for rank in others):
            return own
        time.sleep(LOOK_SECONDS)


def _answer(store: Any, rank: int) -> str:
    """By another: the name of the round that knows of this very process."""
    own = uuid.uuid4().hex
    store.set(f"here-{rank}", own)
    while True:
        if store.check(["round"]):
            name, *here = json.loads(store.get("round"))
            if own in here:
                store.set(f"{name}-{rank}", "")
                return str(name)
        time.sleep(LOOK_SECONDS)
