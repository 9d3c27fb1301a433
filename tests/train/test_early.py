"""When a run should end before its steps are up."""

from dataclasses import dataclass

import pytest
import torch

from paceline.spec.run import EarlyStop
from paceline.train.early import Stopper
from paceline.train.evaluate import Score
from paceline.train.parallel.team import ALONE, Team

CPU = torch.device("cpu")
GOOD, POOR = {"test": Score(0.1, 0.9)}, {"test": Score(1.0, 0.2)}


@dataclass(frozen=True)
class Second(Team):
    """The second of two processes, and what it is told of the first."""

    rank: int = 1
    size: int = 2
    stops: bool = False

    def agreed(self, number: int, device: torch.device) -> int:
        return int(self.stops)


def test_patience_waits_for_a_better_value():
    found = Stopper(EarlyStop(patience=2))
    assert [found.verdict(scores) for scores in (POOR, GOOD, POOR)] == [None, None, None]
    assert found.verdict(GOOD) == "test accuracy no better for 2 evaluations (best 0.9)"


@pytest.mark.parametrize("own", [GOOD, POOR])
@pytest.mark.parametrize("stops", [True, False])
def test_all_do_what_the_first_process_says(own, stops):
    found = Stopper(EarlyStop(target=0.5)).agreed(own, Second(stops=stops), CPU)
    assert (found is not None) == stops


def test_alone_the_own_verdict_stands():
    stopper = Stopper(EarlyStop(target=0.5))
    assert stopper.agreed(POOR, ALONE, CPU) is None
    assert stopper.agreed(GOOD, ALONE, CPU) == "test accuracy 0.9 reached the target 0.5"


def test_without_a_rule_nobody_is_asked():
    assert Stopper(None).agreed(GOOD, Second(stops=True), CPU) is None
