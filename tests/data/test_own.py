"""Data of the user's own: what is made of four arrays, and what is refused, in words."""

import numpy as np
import pytest
import torch

from paceline.data.dataset import Dataset, Split
from paceline.data.own import own_dataset
from paceline.errors import StudyError

X, Y = np.ones((4, 3)), np.array([0, 1, 2, 1])


def test_four_arrays_lists_or_tensors():
    for made in ((X, Y, X, Y), (X.tolist(), Y.tolist(), X, Y), tuple(map(torch.as_tensor, (X, Y, X, Y)))):
        found = own_dataset("my:set", made, labelled=True)
        assert (found.classes, found.input_shape, found.train.x.dtype) == (3, (3,), torch.float32)
        assert found.train.y.tolist() == [0, 1, 2, 1]
    values = own_dataset("my:set", (X, Y / 2, X, Y / 2), labelled=False)
    assert (values.classes, values.outputs) == (None, 1)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ((X, Y, X), "must return a Dataset or"),
        ((X, Y[:3], X, Y), "4 train examples but 3 answers"),
        ((X, Y, X[:0], Y[:0]), "no test examples"),
        ((X, np.eye(4, dtype=int), X, Y), "train labels of shape .4, 4.; class numbers are one a line"),
        ((X, Y - 1, X, Y), "a train label below 0"),
        ((X, Y + 1, X, Y + 1), "labels that begin at 1; number classes from 0"),
        ((X, np.array(list("abca")), X, Y), "train_y with labels that are text; number them from 0"),
        ((X.astype(str), Y, X, Y), "train_x with values that are no numbers"),
        ((X, Y, X[:, :2], Y), r"test examples of shape .2,., but .3,. to train"),
        ((X[:, 0], Y, X[:, 0], Y), "train examples that are single numbers; give each a list of its own"),
        ((X, Y, 5.0, Y), "test_x that is a single number"),
        (([[1], [1, 2], [3], [4]], Y, X, Y), "train_x that is no array of numbers"),
        ((X, Y, np.where(X.cumsum().reshape(X.shape) > 9, np.nan, X), Y), "NaN or infinite values, 1 of 4"),
        (
            (X, Y / 2, X, Y / 2),
            "answers that are no whole numbers. For classes number them from 0; for values say loss",
        ),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(made, words):
    with pytest.raises(StudyError, match=f"'my:set' (gives )?.*{words}"):
        own_dataset("my:set", made, labelled=True)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (Split(torch.ones(0, 3), torch.zeros(0).long()), "no test examples"),
        (Split(np.ones((2, 3)), torch.zeros(2).long()), "a test split that is no pair of tensors"),
    ],
)
def test_odd_splits_of_a_data_set_are_refused(test, words):
    train = Split(torch.ones(2, 3), torch.tensor([0, 1]))
    with pytest.raises(StudyError, match=f"'my:set' gives {words}"):
        own_dataset("my:set", Dataset("mine", train, None, test, 2, "made"), labelled=True)


def test_answers_of_other_widths_are_refused():
    with pytest.raises(StudyError, match=r"test answers of shape .2,., but .3,. to train"):
        own_dataset("my:set", (X, X, X, X[:, :2]), labelled=False)


def test_values_of_a_regression_are_finite():
    with pytest.raises(StudyError, match="train answers that are NaN or infinite"):
        own_dataset("my:set", (X, Y * np.nan, X, Y * 1.0), labelled=False)


def test_bytes_of_images_are_scaled_and_those_in_colour_stay_bytes_till_then():
    pictures = np.full((4, 3, 8, 8), 200, dtype=np.uint8)
    assert own_dataset("my:set", (pictures, Y, pictures, Y), labelled=True).train.x.dtype == torch.uint8
    grey, numbers = pictures[:, :1], pictures[:, 0]
    assert own_dataset("my:set", (grey, Y, grey, Y), labelled=True).train.x.max() == pytest.approx(200 / 255)
    assert own_dataset("my:set", (numbers, Y, numbers, Y), labelled=True).train.x.max() == 200.0


def test_class_numbers_of_any_whole_type_are_classes():
    split = Split(torch.ones(2, 3), torch.tensor([0, 1], dtype=torch.int32))
    found = own_dataset("my:set", Dataset("mine", split, None, split, 2, "made"), labelled=True)
    assert found.train.y.dtype == found.test.y.dtype == torch.int64


def test_the_checksum_is_of_what_is_there_whatever_the_user_says():
    sums = []
    for value in (1.0, 2.0, 1.0):
        split = Split(torch.full((2, 3), value), torch.tensor([0, 1]))
        sums.append(own_dataset("my:set", Dataset("mine", split, None, split, 2, "made"), labelled=True).checksum)
    assert sums[0] == sums[2] != sums[1]


@pytest.mark.parametrize(
    ("y", "words"), [([0, 3], "a test label 3; 3 classes are numbered 0 to 2"), ([0.0, 1.0], "no whole numbers")]
)
def test_a_dataset_is_checked_too(y, words):
    train, test = Split(torch.ones(2, 3), torch.tensor([0, 2])), Split(torch.ones(2, 3), torch.tensor(y))
    with pytest.raises(StudyError, match=words):
        own_dataset("my:set", Dataset("mine", train, None, test, 3, "made"), labelled=True)


def test_every_class_has_a_name_or_none_has():
    split = Split(torch.ones(2, 3), torch.tensor([0, 1]))
    made = Dataset("mine", split, None, split, 2, "made", names=("only",))
    with pytest.raises(StudyError, match="'my:set' gives 1 names for 2 classes"):
        own_dataset("my:set", made, labelled=True)
