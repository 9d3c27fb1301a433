"""When training pauses. Alone, about four times a second; a team at the same steps, so that all then do the same."""

import time

import torch

from paceline.train.parallel.team import Team

PAUSE_SECONDS = 0.25


class Beat:
    def __init__(self, team: Team, device: torch.device, step: int) -> None:
        self._team, self._device = team, device
        self._every, self._next = 1, step + 1
        self._begun, self._step = time.perf_counter(), step
        self.broken = False  # whether any process has seen a number that is not finite

    def begin(self, step: int) -> None:
        """After a pause."""
        if self._team.size > 1:
            taken = max(1, step - self._step)
            each = (time.perf_counter() - self._begun) / taken
            wanted = max(1, min(1000, round(PAUSE_SECONDS / max(each, 1e-9)))) if PAUSE_SECONDS else 1
            self._every = self._team.agreed(wanted, self._device)
            self._next = step + self._every
        self._begun, self._step = time.perf_counter(), step

    def due(self, step: int) -> bool:
        """Whether a team pauses at this step, whatever it is wanted for."""
        return self._team.size > 1 and step >= self._next

    def goes_on(self, step: int, wanted: bool, finite: bool) -> bool:
        """Whether the next step may follow at once."""
        if self._team.size == 1:
            return finite and not wanted and time.perf_counter() - self._begun < PAUSE_SECONDS
        if not wanted and not self.due(step):
            return True
        (self.broken,) = self._team.any([not finite], self._device)
        return False
