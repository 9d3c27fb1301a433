"""A short measurement of how some runs train fastest on this machine: in a row or stacked, with the whole machine or
side by side. Every way is measured for real, with as many processes as it would have.

python -m paceline.execute.calibrate     a process that is measured: reads runs, then ways, from stdin
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any, cast

from paceline.errors import PacelineError
from paceline.execute import neighbours
from paceline.execute import speeds as kept_speeds
from paceline.execute.cores import environment
from paceline.execute.session import Session
from paceline.plan.choose import Group, Speed, unmeasured, way
from paceline.plan.cost import facts_of
from paceline.plan.stacks import split
from paceline.record.machine import usable_cores
from paceline.spec import Run, plain

ROUNDS = 2
LONG = 2.0  # seconds of a round that needs no second: the longer a measurement, the less it is disturbed
ROW_RUNS = 3  # of as many optimizers
HELD_OUT = 250  # examples to evaluate on; the time is scaled to all


def calibrate(session: Session, missing: set[str]) -> Iterator[str]:
    """Measures what it would pay to know before the session is executed, once for every kind of runs, and says what it
    does."""
    if session.stack is not None and len(session.jobs_said) == 1:
        return  # there is nothing to choose
    fresh = {trial.id for new in session.new_packs(missing) for trial in new.trials}
    measured = set()
    for group in unmeasured(session.groups, session.jobs_said, session.speeds):
        if group.kind not in measured and any(trial.id in fresh for trial in group.trials):
            measured.add(group.kind)
            with neighbours.present():
                yield from _measured(group, session.jobs_said)


def _measured(group: Group, jobs: tuple[int, ...]) -> Iterator[str]:
    """Kept only if no other process trained beside it."""
    runs = f"{len(group.trials)} runs of {group.trials[0].run.model.name}"
    if neighbours.others():
        yield f"How {runs} train fastest is not measured, for another process trains here: the plan rests on estimates."
        return
    yield f"Measuring how {runs} train fastest on this machine, about 20 s, once."
    try:
        found = measure(group, jobs)
    except PacelineError as error:
        yield f"That failed, so the plan rests on estimates: {error}"
        return
    if neighbours.others():
        yield "Another process began to train meanwhile, so that is not kept, and the plan rests on estimates."
    else:
        kept_speeds.keep(group.kind or "", found)


def measure(group: Group, jobs: tuple[int, ...]) -> dict[str, Speed]:
    """The speed of each way, the best of a few rounds."""
    found: dict[str, list[Speed]] = {}
    for count in jobs:
        with ExitStack() as exits:
            workers = [exits.enter_context(_Worker(group, count, place)) for place in range(count)]
            for worker in workers:
                worker.begin()
            long: set[bool] = set()
            for stacked in [False, True] * ROUNDS:
                if stacked in long:
                    continue
                begun = time.monotonic()
                for worker in workers:
                    worker.ask(stacked)
                answers = [worker.answer() for worker in workers]
                slowest = Speed(max(a.step for a in answers) / count, max(a.evaluation for a in answers) / count)
                found.setdefault(way(stacked, count), []).append(slowest)
                if time.monotonic() - begun > LONG:
                    long.add(stacked)
    return {
        name: Speed(min(s.step for s in several), min(s.evaluation for s in several)) for name, several in found.items()
    }


class _Worker:
    """One process that trains as one of `jobs` would."""

    def __init__(self, group: Group, jobs: int, place: int) -> None:
        run = group.trials[0].run
        facts = facts_of(run.data)
        assert facts is not None
        stack = max(split(group.trials, group.most, jobs), key=len)
        rows = {trial.run.optimizer.name: trial.run for trial in group.trials}
        self._threads, self._place = max(1, usable_cores() // jobs), place
        self._said = {
            "row": [plain(run) for run in list(rows.values())[:ROW_RUNS]],
            "stack": [plain(trial.run) for trial in stack],
            "shape": facts.shape,
            "outputs": facts.outputs,
            "classes": run.data.entry is not None and run.data.entry.task == "classes",
            "held_out": facts.held_out,
            "threads": self._threads,
        }

    def __enter__(self) -> "_Worker":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "paceline.execute.calibrate"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(self._threads, self._place),
        )
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            cast(IO[str], self._process.stdin).close()
        self._process.kill()
        self._process.wait()
        cast(IO[str], self._process.stdout).close()

    def begin(self) -> None:
        self._say(json.dumps(self._said))

    def ask(self, stacked: bool) -> None:
        self._say("stack" if stacked else "row")

    def answer(self) -> Speed:
        line = cast(IO[str], self._process.stdout).readline()
        if not line:
            raise PacelineError(f"the measuring process ended with {self._process.wait()}.")
        return Speed(*json.loads(line))

    def _say(self, line: str) -> None:
        try:
            print(line, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise PacelineError("the measuring process is gone.") from None


def main() -> None:
    from paceline.train.speed import made_up, row_speed, stack_speed

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    said: dict[str, Any] = json.loads(sys.stdin.readline())
    runs = {name: [Run.model_validate(config) for config in said[name]] for name in ("row", "stack")}
    held_out = min(said["held_out"], HELD_OUT)
    dataset = made_up(tuple(said["shape"]), said["outputs"], said["classes"], held_out)
    for line in sys.stdin:
        name = line.strip()
        speed = stack_speed if name == "stack" else row_speed
        step, evaluation = speed(runs[name], dataset, said["threads"])
        print(json.dumps([step, evaluation * said["held_out"] / held_out]), file=answers)


if __name__ == "__main__":
    main()
