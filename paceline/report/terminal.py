"""What a person sees while a study runs: a live panel on a terminal, plain lines anywhere else."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from paceline.execute.events import Event
from paceline.record.writer import ENDED

LINE_SECONDS = 10.0
ESTIMATE_SECONDS = 60.0  # of training that the estimate made before it weighs as much as


class Tally:
    """Counts what has happened, whoever shows it.

    `made`: steps by runs that were broken off. `pace`: seconds that a step of each run is expected to take, where that
    is known of all."""

    def __init__(
        self,
        total: int,
        done: int,
        labels: dict[str, str],
        steps: dict[str, int],
        made: Mapping[str, int] | None = None,
        pace: Mapping[str, float] | None = None,
    ) -> None:
        self.total, self.done = total, done
        self.ended: dict[str, int] = {}
        self.running: dict[str, tuple[int, int]] = {}
        self.stack_of: dict[str, str] = {}  # the pack of a run that trains in a stack
        self.best: tuple[float, str] | None = None
        self.noted: set[str] = set()  # about the data, each said once
        self.failed: set[str] = set()  # why runs did, each said once
        self._labels, self._steps, self._pace = labels, steps, pace or {}
        self._began = time.monotonic()
        made = made or {}
        self._before = sum((count - made.get(run, 0)) * self._cost(run) for run, count in steps.items())

    def take(self, event: Event) -> None:
        if event.kind in ("began", "progress"):
            if event.kind == "began":
                self._forget_stack(event.pack)
            for run in event.runs or (event.run,):
                self._went_on(run, event)
        elif event.kind == "ended":
            self.running.pop(event.run, None)
            self.ended[event.status] = self.ended.get(event.status, 0) + 1
            self.done += event.status in ENDED
            self._steps.pop(event.run, None)
            if event.status == "done":
                self._consider(event)

    def _forget_stack(self, pack: str) -> None:
        """One that was given up: its runs are trained one by one from now on."""
        for run in [run for run in self.running if self.stack_of[run] == pack]:
            del self.running[run]

    def _went_on(self, run: str, event: Event) -> None:
        total = self._steps.get(run, event.total) if event.runs else event.total
        self.running[run] = (event.step, total)
        self.stack_of[run] = event.pack if event.runs else ""
        if event.kind == "progress":
            if run not in self._steps:
                self._before += total * self._cost(run)
            self._steps[run] = total

    def _consider(self, event: Event) -> None:
        row = event.row or {}
        for name, better in (("validation_accuracy", 1), ("accuracy", 1), ("loss", -1)):
            if row.get(name) is not None:
                if self.best is None or better * row[name] > better * self.best[0]:
                    self.best = (row[name], f"{name.replace('_', ' ')} {row[name]:.4g} by {self.label(event.run)}")
                return

    def label(self, run: str) -> str:
        return self._labels.get(run, run)

    @property
    def eta(self) -> str:
        """The estimate at first, then ever more by what the steps took; without one, all are taken to cost alike."""
        ahead = sum(count * self._cost(run) for run, count in self._steps.items())
        left = max(0.0, ahead - sum(step * self._cost(run) for run, (step, _) in self.running.items()))
        trust = min(ESTIMATE_SECONDS, self._before / 10) if self._pace else 0.0
        known = self._before - left + trust
        return duration((time.monotonic() - self._began + trust) * left / known) if known > 0 else "?"

    def _cost(self, run: str) -> float:
        return self._pace.get(run, 1.0)

    def words(self) -> str:
        extra = [f"{count} {status}" for status, count in sorted(self.ended.items()) if status != "done"]
        best = f"; best so far: {self.best[1]}" if self.best else ""
        return ", ".join([f"{self.done} of {self.total} done", *extra, f"{self.eta} left"]) + best


def show(events: Iterable[Event], tally: Tally, console: Console) -> Event | None:
    """Follows a study to its end; the `refused` event, if it was refused."""
    return _live(events, tally, console) if console.is_terminal else _lines(events, tally, console)


def _lines(events: Iterable[Event], tally: Tally, console: Console) -> Event | None:
    said = 0.0
    for event in events:
        tally.take(event)
        if event.kind == "refused":
            return event
        _note(event, tally, console)
        if event.kind == "skipped":
            _say(console, f"pack {event.pack} is being trained by another process")
        _fail(event, tally, console)
        if time.monotonic() - said > LINE_SECONDS or (event.kind == "ended" and tally.done == tally.total):
            said = time.monotonic()
            _say(console, tally.words())
    return None


def _note(event: Event, tally: Tally, console: Console) -> None:
    if event.kind == "note" and event.reason not in tally.noted:
        tally.noted.add(event.reason)
        _say(console, f"Note: {event.reason}")


def _fail(event: Event, tally: Tally, console: Console) -> None:
    """The first run that fails by a reason; how many did is said at the end."""
    if event.kind == "ended" and event.status == "failed" and event.reason not in tally.failed:
        tally.failed.add(event.reason)
        _say(console, f"failed: {tally.label(event.run)}: {event.reason}")


def _say(console: Console, text: str) -> None:
    """As it stands: names and messages of the user's may hold what rich takes for markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _live(events: Iterable[Event], tally: Tally, console: Console) -> Event | None:
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console)
    task = bar.add_task("runs", total=tally.total, completed=tally.done)
    with Live(bar, console=console, refresh_per_second=4, transient=True) as live:
        for event in events:
            tally.take(event)
            if event.kind == "refused":
                return event
            _note(event, tally, console)
            _fail(event, tally, console)
            bar.update(task, completed=tally.done)
            live.update(_panel(bar, tally))
    return None


def _panel(bar: Progress, tally: Tally) -> RenderableType:
    lines: list[Any] = [bar]
    for name, (step, total) in _at_work(tally)[:8]:
        lines.append(Text(f"  {name}: step {step} of {total}" if total else f"  {name}", "dim"))
    lines.append(Text(tally.words()))
    return Group(*lines)


def _at_work(tally: Tally) -> list[tuple[str, tuple[int, int]]]:
    """A line a run, or a stack, which is as far as its runs and ends with the longest."""
    single = [(tally.label(run), at) for run, at in tally.running.items() if not tally.stack_of[run]]
    stacks: dict[str, list[tuple[int, int]]] = {}
    for run, at in tally.running.items():
        if tally.stack_of[run]:
            stacks.setdefault(tally.stack_of[run], []).append(at)
    return [*((f"a stack of {len(all_)} runs", max(all_)) for all_ in stacks.values()), *single]


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
