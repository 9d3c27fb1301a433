import pytest
import torch
from sklearn.datasets import load_digits

from paceline.data.sources.digits import digits
from paceline.errors import DataError


def rows(x, y):
    flat = torch.cat([x.reshape(len(x), -1) * 16, y[:, None].float()], dim=1)
    return sorted(map(tuple, flat.int().tolist()))


def test_it_is_scikit_learns_set_each_example_once(files):
    x, y = load_digits(return_X_y=True)
    data = digits(files)
    parts = list(data.splits.values())
    ours = rows(torch.cat([p.x for p in parts]), torch.cat([p.y for p in parts]))
    assert ours == rows(torch.tensor(x) / 16, torch.tensor(y))


def test_sizes_shapes_and_range(files):
    data = digits(files)
    assert {n: len(p) for n, p in data.splits.items()} == {"train": 1137, "validation": 300, "test": 360}
    assert (data.input_shape, data.outputs) == ((1, 8, 8), 10)
    assert data.train.x.dtype == torch.float32
    assert data.train.y.dtype == torch.int64
    assert data.train.x.is_contiguous()
    assert (data.train.x.min(), data.train.x.max()) == (0, 1)


def test_every_split_is_balanced_like_the_whole(files):
    data = digits(files)
    whole = sum(p.y.bincount(minlength=10) for p in data.splits.values()) / 1797
    for part in data.splits.values():
        assert (part.y.bincount(minlength=10) - whole * len(part)).abs().max() <= 1.5


def test_the_split_is_frozen(files):
    """Known values: a change here changes every recorded run on this set."""
    data = digits(files)
    assert data.train.y[:12].tolist() == TRAIN
    assert data.test.y[:12].tolist() == TEST


TRAIN = [0, 1, 2, 3, 5, 6, 7, 8, 9, 1, 2, 4]
TEST = [0, 8, 5, 5, 0, 8, 2, 8, 0, 1, 7, 3]


def test_resizing_validation_leaves_the_test_split(files):
    a, b = digits(files), digits(files, validation=0)
    assert torch.equal(a.test.x, b.test.x)
    assert b.validation is None
    assert len(b.train) == 1437


@pytest.mark.parametrize("wrong", [{"test": 0}, {"validation": -1}, {"validation": 1437}], ids=str)
def test_sizes_that_do_not_fit_are_refused(files, wrong):
    with pytest.raises(DataError, match=r"do not fit; .* together below 1797"):
        digits(files, **wrong)
