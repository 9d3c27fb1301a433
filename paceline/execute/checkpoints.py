"""Where a run that was broken off goes on from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.errors import RecordError, number_said
from paceline.record.layout import PackFolder, cannot_write

CHECKPOINT_SECONDS = number_said("PACELINE_CHECKPOINT_SECONDS", 30.0)
RUN = ("model", "run")  # what a checkpoint of one run has


def save(file: Path, state: dict[str, Any]) -> None:
    from safetensors import SafetensorError

    from paceline.train import checkpoint

    try:
        checkpoint.save(file, state)
    except (OSError, SafetensorError) as error:
        raise cannot_write(file, error) from None


def load(file: Path, *kinds: tuple[str, ...]) -> dict[str, Any]:
    """A checkpoint that has what one of the kinds needs."""
    from paceline.train import checkpoint

    try:
        state = checkpoint.load(file)
        if any(all(key in state for key in ("data", "sources", *kind)) for kind in kinds):
            return state
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise RecordError(f"{file}: not a checkpoint of a run. Delete it and run again; the run starts anew.")


@dataclass
class OfOne:
    """The checkpoint of a run that one process trains; a pack has one, which may be of another of its runs."""

    folder: PackFolder
    own: bool = False  # whether it is of this run

    def resume(self, origin: dict[str, Any]) -> dict[str, Any] | None:
        """The state to go on from; None if there is none of this run, or its data or own parts have changed since."""
        if not self.folder.checkpoint.exists():
            return None
        state = load(self.folder.checkpoint, RUN)
        self.own = state["run"] == origin["run"]
        if all(state[key] == value for key, value in origin.items()):
            return state
        self.drop()
        return None

    def save(self, step: int, state: dict[str, Any]) -> None:
        save(self.folder.checkpoint, state)
        self.own = True

    def drop(self) -> None:
        if self.own:
            self.folder.checkpoint.unlink(missing_ok=True)


@dataclass(frozen=True)
class OfTeam:
    """Those of a run that several processes train: every one keeps its own state, all at the same steps."""

    folder: PackFolder
    team: Any
    device: Any

    def resume(self, origin: dict[str, Any]) -> dict[str, Any] | None:
        """From the newest step that all processes have; None if there is none, or any sees other data or own parts."""
        at = self._newest()
        state = load(self._file(at), RUN) if at else None
        changed = state is not None and any(state[key] != value for key, value in origin.items())
        return None if self.team.any([changed], self.device)[0] else state

    def save(self, step: int, state: dict[str, Any]) -> None:
        save(self._file(step), state)
        self.team.wait()
        self._drop(but=step)

    def drop(self) -> None:
        self.team.wait()
        self._drop()

    def _file(self, step: int) -> Path:
        kept = self.folder.checkpoint
        return kept.with_name(f"{kept.name}-{step}-{self.team.rank}")

    def _steps(self) -> list[int]:
        """At which this process has kept its state."""
        pattern = f"{self.folder.checkpoint.name}-*-{self.team.rank}"
        names = (path.name.split("-") for path in self.folder.path.glob(pattern))
        return sorted(int(parts[-2]) for parts in names if parts[-2].isdigit())

    def _newest(self) -> int:
        """The newest step that all processes have; 0 if there is none."""
        before, newest = [0, 0, *self._steps()][-2:]
        told = [[int(step) for step in steps] for steps in self.team.spread([newest, before], self.device)]
        common = set.intersection(*map(set, told)) - {0}
        return max(common, default=0)

    def _drop(self, but: int = 0) -> None:
        for step in self._steps():
            if step != but:
                self._file(step).unlink(missing_ok=True)
