"""What a person sees while a study runs: a live panel on a terminal, plain lines anywhere else."""

import time
from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from paceline.execute.events import Event

LINE_SECONDS = 10.0


class Tally:
    """Counts what has happened, whoever shows it."""

    def __init__(self, total: int, done: int, labels: dict[str, str], steps: dict[str, int]) -> None:
        self.total, self.done = total, done
        self.ended: dict[str, int] = {}
        self.running: dict[str, tuple[int, int]] = {}
        self.best: tuple[float, str] | None = None
        self._labels, self._steps = labels, steps
        self._began = time.monotonic()
        self._steps_before = sum(steps.values())

    def take(self, event: Event) -> None:
        if event.kind == "began":
            self.running[event.run] = (0, 0)
        elif event.kind == "progress":
            self.running[event.run] = (event.step, event.total)
            if event.run not in self._steps:
                self._steps_before += event.total
            self._steps[event.run] = event.total
        elif event.kind == "ended":
            self.running.pop(event.run, None)
            self.ended[event.status] = self.ended.get(event.status, 0) + 1
            self.done += event.status in ("done", "diverged")
            self._steps.pop(event.run, None)
            if event.status == "done":
                self._consider(event)

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
        """From the steps done so far: all of a study's steps are taken to cost alike."""
        left = sum(self._steps.values()) - sum(step for step, _ in self.running.values())
        gone = self._steps_before - left
        if gone <= 0 or not self._steps_before:
            return "?"
        return duration((time.monotonic() - self._began) * max(0, left) / gone)

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
        if event.kind == "skipped":
            _say(console, f"pack {event.pack} is being trained by another process")
        if event.kind == "ended" and event.status == "failed":
            _say(console, f"failed: {tally.label(event.run)}: {event.reason}")
        if time.monotonic() - said > LINE_SECONDS or (event.kind == "ended" and tally.done == tally.total):
            said = time.monotonic()
            _say(console, tally.words())
    return None


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
            if event.kind == "ended" and event.status == "failed":
                _say(console, f"failed: {tally.label(event.run)}: {event.reason}")
            bar.update(task, completed=tally.done)
            live.update(_panel(bar, tally))
    return None


def _panel(bar: Progress, tally: Tally) -> RenderableType:
    lines: list[Any] = [bar]
    for run, (step, total) in list(tally.running.items())[:8]:
        lines.append(Text(f"  {tally.label(run)}: step {step} of {total}" if total else f"  {tally.label(run)}", "dim"))
    lines.append(Text(tally.words()))
    return Group(*lines)


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
