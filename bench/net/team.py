"""The two processes that are measured, on localhost or in namespaces of their own, and what they are told."""

import json
import os
import subprocess
import sys
from typing import IO, Any, cast

from bench.net import namespaces

SIZE = 2


class Pair:
    """Two processes of one thread each that wait for orders."""

    def __init__(self, apart: bool, port: int) -> None:
        """`apart`: in two namespaces, which have to be up."""
        hosts = namespaces.HOSTS if apart else ((), ())
        address, interface = (namespaces.ADDRESSES[0], namespaces.INTERFACE) if apart else ("127.0.0.1", "lo")
        self._processes = [
            subprocess.Popen(
                [*inside, sys.executable, "-W", "ignore", "-m", "bench.net.node"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("BENCH_LOUD") else subprocess.DEVNULL,
                text=True,
                env={**os.environ, **_said(rank, address, port, interface)},
            )
            for rank, inside in enumerate(hosts)
        ]
        assert self._answers() == ["ready"] * SIZE

    def ask(self, do: str, **said: Any) -> list[Any]:
        """What each process answers."""
        for process in self._processes:
            print(json.dumps({"do": do, **said}), file=process.stdin, flush=True)
        return self._answers()

    def _answers(self) -> list[Any]:
        lines = [cast(IO[str], process.stdout).readline() for process in self._processes]
        if not all(lines):
            raise RuntimeError("a process that was measured is gone; BENCH_LOUD=1 shows what it said")
        return [json.loads(line) for line in lines]

    def __enter__(self) -> "Pair":
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            cast(IO[str], process.stdin).close()
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            cast(IO[str], process.stdout).close()


def _said(rank: int, address: str, port: int, interface: str) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "LOCAL_RANK": "0",
        "WORLD_SIZE": str(SIZE),
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": address,
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": interface,
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
