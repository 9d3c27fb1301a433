import pytest

from paceline.data.catalogue import ENTRIES
from paceline.data.check import check
from paceline.errors import DataError
from paceline.spec.parts import TABLE


def test_every_set_of_the_catalogue_can_be_checked():
    assert TABLE["data"].keys() == ENTRIES.keys()


def test_digits_in_rows(files):
    train, validation, test = check("digits", files)
    assert (train["split"], train["examples"], train["classes"]) == ("train", 1137, 10)
    assert validation["examples"] == 300
    assert (test["fewest_a_class"], test["most_a_class"]) == (35, 37)
    assert train["checksum"] == "right"
    assert train["path"].is_dir()


def test_made_sets_have_no_path(files):
    train, test = check("line", files)
    assert (train["examples"], test["examples"], train["classes"]) == (4, 4, None)
    assert (train["fewest_a_class"], train["path"], train["checksum"]) == (None, None, "made here")
    assert check("synthetic", files)[0]["most_a_class"] == 200


def test_mnist_in_rows(mnist_files):
    rows = check("mnist", mnist_files)
    assert [r["examples"] for r in rows] == [55_000, 5000, 10_000]
    assert (rows[2]["fewest_a_class"], rows[2]["most_a_class"]) == (892, 1135)
    assert rows[0]["path"].name == "mnist"


@pytest.mark.parametrize(("name", "says"), [("mnist", "lacks the file"), ("mnits", "No data set is called")])
def test_a_set_that_is_not_there_raises(files, name, says):
    with pytest.raises(DataError, match=says):
        check(name, files)
