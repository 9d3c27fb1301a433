"""A download as a person sees it: a bar on a terminal, plain lines anywhere else."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from paceline.data.progress import Event


class Fetching:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=console
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "Fetching":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def report(self, event: Event) -> None:
        if event.kind != "bytes":
            self._console.print(event.line, markup=False, highlight=False, soft_wrap=True)
        elif self._console.is_terminal:
            if event.line not in self._tasks:
                self._tasks[event.line] = self._bar.add_task(event.line)
            self._bar.update(self._tasks[event.line], completed=event.done, total=event.total)
