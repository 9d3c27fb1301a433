"""Real `paceline` processes that start in milliseconds: this one imports torch and the like once, then forks.

Reads a line of JSON an order from stdin, answers with one: {"argv": [...], ...} starts a process and gives its pid,
{"pid": ...} gives its exit code, or null while it lives.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Child:
    """A forked `paceline`, the leader of its own process group."""

    pid: int
    log: Path
    ask: Callable[[dict[str, Any]], Any]
    code: int | None = None

    def poll(self) -> int | None:
        if self.code is None:
            self.code = self.ask({"pid": self.pid})
        return self.code

    def wait(self, seconds: float = 60) -> int:
        until(lambda: self.poll() is not None, seconds)
        assert self.code is not None
        return self.code

    def signal(self, number: int, group: bool = False) -> None:
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)

    @property
    def said(self) -> str:
        return self.log.read_text()


def until(done: Callable[[], Any], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


class Zygote:
    def __init__(self, logs: Path) -> None:
        self._logs, self._count = logs, 0
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, *argv: Any, checkpoint_seconds: float = 30.0, file_size: int | None = None) -> Child:
        self._count += 1
        log = self._logs / f"{self._count}.log"
        order = {"argv": [str(word) for word in argv], "log": str(log)}
        pid = self._ask({**order, "checkpoint_seconds": checkpoint_seconds, "file_size": file_size})
        return Child(pid, log, self._ask)

    def _ask(self, order: dict[str, Any]) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


def _become(argv: list[str], log: str, checkpoint_seconds: float, file_size: int | None) -> None:
    """The forked process: as if `paceline ARGV` had been typed."""
    from paceline import cli
    from paceline.execute import checkpoints, session

    os.setpgid(0, 0)
    for handle, name, mode in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)):
        os.dup2(os.open(name, mode), handle)
    os.dup2(1, 2)
    checkpoints.CHECKPOINT_SECONDS = checkpoint_seconds
    session.usable_cores = lambda: 1  # two threads of a busy machine wait for each other at every step
    if file_size is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    sys.argv = ["paceline", *argv]
    cli.main()


def _serve() -> None:
    for name in ("api", "cli", "execute.local", "train.stack.check", "report.page", "models.mlp", "optim.adam"):
        importlib.import_module(f"paceline.{name}")
    importlib.import_module("torch._dynamo")  # the first torch optimizer of a process imports it
    for line in sys.stdin:
        order = json.loads(line)
        if "pid" in order:
            pid, status = os.waitpid(order["pid"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                _live(order)
        print(json.dumps(answer), flush=True)


def _live(order: dict[str, Any]) -> None:
    import traceback

    code = 0
    try:
        _become(**order)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()
