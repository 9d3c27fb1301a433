"""What `predict` says by the mechanism, for made-up steps."""

from dataclasses import replace

import pytest

from paceline import api
from paceline.errors import StudyError
from paceline.execute.anatomy import Anatomy, Costs, Work
from paceline.report.by_mechanism import DISTURBED, by_mechanism, stated

STUDY = {
    "name": "s",
    "base": {"data": "digits", "model": "mlp", "optimizer": "gd", "lr": 0.1, "batch": 64, "steps": 10, "device": "cpu"},
    "cases": {"averaged": {}, "divided": {"strategy": "zero"}, "small": {"batch": 8}},
    "compare": {"devices": [1, 2]},
}


def measured(run, alone, together):
    works = [Work(size, 1e-4 * size, (1e-4 * size,), (4000,), ((10, 100),), 1e-4) for size in (alone, *together)]
    return Anatomy(works[0], tuple(works[1:]), Costs(1e-5, 1e-10, on_cores=False))


def test_every_setting_has_a_block_or_a_reason():
    how, averaged, divided, small = by_mechanism(api.load(STUDY), [2, 16], measured, stated(None, None, 1, "ring"))
    assert "measured on this machine" in how
    assert averaged.startswith("Averaged")
    assert "speedup" in averaged
    assert "Check: none" in averaged
    assert "a step by zero is not in the model" in divided
    assert "Refused for 16 devices: a batch of 8 has no example for each." in small
    assert "speedup" in small


def test_a_slow_link_makes_more_devices_slower():
    def speedup(link):
        _, block, *_ = by_mechanism(api.load(STUDY), [16], measured, stated(link, None, 1, "ring"))
        return float(block.splitlines()[2].split()[-2])

    assert speedup("1 Mbit/s, 10 ms") < 1 < speedup("100 Gbit/s, 1 us")


def test_a_link_that_cannot_be_read_is_named():
    with pytest.raises(StudyError, match="'fast' is no link"):
        stated("fast", None, 1, "ring")
    with pytest.raises(StudyError, match="--within"):
        stated("1 Gbit/s", None, 4, "ring")


def test_what_was_measured_beside_another_process_is_said():
    def disturbed(*asked):
        return replace(measured(*asked), disturbed=True)

    _, block, *_ = by_mechanism(api.load(STUDY), [2], disturbed, stated(None, None, 1, "ring"))
    assert block.endswith(DISTURBED)
