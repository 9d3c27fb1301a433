import pytest
import torch

from paceline.data.dataset import Dataset, Split, hold_out, tensor_checksum
from paceline.errors import DataError

X, Y = torch.arange(10.0).reshape(10, 1), torch.arange(10)


def test_the_first_examples_are_held_out():
    train, validation = hold_out(X, Y, 3)
    assert validation is not None
    assert validation.y.tolist() == [0, 1, 2]
    assert train.y.tolist() == [3, 4, 5, 6, 7, 8, 9]
    assert train.x.is_contiguous()


def test_holding_out_none_gives_no_validation_split():
    train, validation = hold_out(X, Y, 0)
    assert validation is None
    assert len(train) == 10


@pytest.mark.parametrize("n", [-1, 10, 11])
def test_holding_out_too_many_says_what_fits(n):
    with pytest.raises(DataError, match=rf"validation: {n} .* 0 \(none\) to 9"):
        hold_out(X, Y, n)


def test_examples_and_answers_must_pair():
    with pytest.raises(ValueError, match="10 examples but 9 answers"):
        Split(X, Y[1:])


def test_outputs_are_classes_or_the_width_of_the_target():
    part = Split(X.reshape(5, 1, 2, 1), X.reshape(5, 2))
    assert Dataset("a", part, None, part, 7, "").outputs == 7
    assert Dataset("a", part, None, part, None, "").outputs == 2
    assert Dataset("a", part, None, part, None, "").input_shape == (1, 2, 1)
    flat = Split(X, X[:, 0])
    assert Dataset("a", flat, None, flat, None, "").outputs == 1


def test_splits_by_name():
    part = Split(X, Y)
    assert list(Dataset("a", part, None, part, 10, "").splits) == ["train", "test"]
    assert list(Dataset("a", part, part, part, 10, "").splits) == ["train", "validation", "test"]


def test_the_checksum_of_made_tensors_sees_values_shapes_and_order():
    a, b = Split(X, Y), Split(X + 1, Y)
    seen = {tensor_checksum(s) for s in (a, b, Split(X.reshape(10, 1, 1), Y), Split(X, Y + 1))}
    assert len(seen | {tensor_checksum(a, b), tensor_checksum(b, a)}) == 6
    assert tensor_checksum(a) == tensor_checksum(a, None)
