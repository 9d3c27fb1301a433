"""Data parallel training leaves torch's buckets as they are, unless told otherwise."""

import pytest

from paceline.train.parallel.ddp import DDP, ONE_BUCKET
from paceline.train.parallel.team import Team


@pytest.mark.parametrize(
    ("said", "cap"),
    [({}, None), ({"bucket_mb": 3.0}, 3.0), ({"compress": "fp16"}, None), ({"compress": "powersgd"}, ONE_BUCKET)],
)
def test_the_first_bucket_is_small_where_no_size_is_said(said, cap):
    assert DDP(Team(0, 2), **said)._cap == cap
