"""Which settings are whole numbers."""

import pytest

from paceline.spec.parts import TABLE
from paceline.spec.run import GROUPS, Run
from paceline.spec.whole import is_whole

WHOLE = {
    *("warmup", "finetune_after", "image_size", "batch", "subset", "steps", "evaluate_every", "loader", "accumulate"),
    *("threads", "devices", "noise_every", "seed"),
}
INSIDE = {"subset.size", "early_stop.patience", "augment.crop", "augment.cutout", "loader.workers", "loader.prefetch"}


def test_of_a_run_those_that_read_no_fraction():
    assert {name for name in Run.model_fields if is_whole(name)} == WHOLE
    dotted = [f"{head}.{name}" for head, group in GROUPS.items() for name in group.model_fields]
    assert {key for key in dotted if is_whole(key)} == INSIDE
    assert not is_whole("augment.no_such")


@pytest.mark.parametrize(
    ("key", "names", "whole"),
    [
        ("schedule.every", ["exponential"], True),
        ("schedule.rate", ["exponential"], False),
        ("schedule.every", ["exponential", "my_file:schedule"], False),
        ("schedule.every", ["exponential", "constant"], False),
        ("data.validation", ["mnist", "digits"], True),
        ("data.validation", ["mnist", "fruits"], False),
        ("model", ["softmax"], False),
    ],
)
def test_of_parts_those_of_which_every_one_reads_no_fraction(key, names, whole):
    table = TABLE[key.partition(".")[0]]
    assert is_whole(key, [table.get(name) for name in names]) == whole


def test_of_no_part_nothing_is_known():
    assert not is_whole("model.width")
