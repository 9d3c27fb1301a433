"""What a pipeline does to a batch; that it learns what one device learns is in test_strategies.py."""

from pathlib import Path

import pytest

from paceline.errors import StudyError
from paceline.spec import Run
from paceline.train.parallel.team import Team
from paceline.train.set_up import SetUp, set_up
from tests.train.parallel.together import pictures


def made(loss: str, micro_batches: int) -> SetUp:
    said = {"data": "synthetic", "model": "lab_cnn", "optimizer": "gd", "lr": 0.1, "batch": 20, "epochs": 1}
    strategy = {"name": "pipeline", "micro_batches": micro_batches}
    run = Run.model_validate({**said, "device": "cpu", "devices": 2, "loss": loss, "strategy": strategy})
    return set_up(run, pictures(), Path(), None, None, Team(0, 2))


def test_a_loss_that_needs_the_whole_batch_is_refused_in_parts():
    assert made("weighted_kappa", 1).share_of(1.0) == 1.0
    with pytest.raises(StudyError, match="weighted_kappa has to see a batch whole"):
        made("weighted_kappa", 4)


@pytest.mark.parametrize(("loss", "share"), [("softmax_ce", 0.25), ("sum_squares", 1.0)])
def test_the_loss_of_a_part_counts_as_it_does_elsewhere(loss, share):
    assert made(loss, 4).share_of(0.25) == share
