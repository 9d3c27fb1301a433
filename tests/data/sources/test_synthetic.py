import pytest
import torch

from paceline.data.sources.synthetic import synthetic
from paceline.errors import DataError


def test_the_defaults(files):
    data = synthetic(files)
    assert {name: len(part) for name, part in data.splits.items()} == {
        "train": 2000,
        "validation": 500,
        "test": 500,
    }
    assert (data.input_shape, data.classes) == ((20,), 10)
    assert data.train.x.dtype == torch.float32
    assert data.train.y.dtype == torch.int64
    assert data.train.y.bincount().tolist() == [200] * 10


def test_the_numbers_are_frozen(files):
    """Known values: a change here changes every recorded run on this set."""
    x = synthetic(files).train.x
    torch.testing.assert_close(x[0, :3], torch.tensor(FIRST), rtol=1e-5, atol=1e-6)


FIRST = [-1.371552, 1.686277, -1.567163]


def test_the_same_seed_gives_the_same_set_whatever_was_drawn_before(files):
    torch.manual_seed(1)
    a = synthetic(files, seed=3)
    torch.rand(5)
    b = synthetic(files, seed=3)
    assert a.checksum == b.checksum
    assert torch.equal(a.test.x, b.test.x)
    assert synthetic(files, seed=4).checksum != a.checksum


def test_resizing_one_split_leaves_the_others(files):
    a, b = synthetic(files), synthetic(files, examples=40, validation=0)
    assert torch.equal(a.test.x, b.test.x)
    assert torch.equal(a.train.x[:40], b.train.x)
    assert b.validation is None


def test_examples_may_have_a_shape(files):
    data = synthetic(files, examples=6, test=2, shape=[3, 8, 8], classes=2)
    assert data.input_shape == (3, 8, 8)
    assert data.train.x.is_contiguous()


def test_examples_scatter_around_their_class_by_the_noise(files):
    data = synthetic(files, examples=20_000, noise=0.5, classes=4)
    for label in range(4):
        own = data.train.x[data.train.y == label]
        torch.testing.assert_close(own.std(0), torch.full((20,), 0.5), rtol=0.05, atol=0)
    exact = synthetic(files, examples=8, noise=0.0, classes=4)
    assert torch.equal(exact.train.x[:4], exact.train.x[4:])


@pytest.mark.parametrize(
    "wrong",
    [
        {"examples": 0},
        {"test": 0},
        {"validation": -1},
        {"shape": []},
        {"shape": [3, 0]},
        {"classes": 1},
        {"noise": -0.1},
        {"noise": float("nan")},
        {"seed": -1},
    ],
    ids=str,
)
def test_impossible_arguments_are_refused(files, wrong):
    (name,) = wrong
    with pytest.raises(DataError, match=f"synthetic: {name} is"):
        synthetic(files, **wrong)
