from dataclasses import replace

from paceline.data.catalogue import ENTRIES
from paceline.data.describe import describe, lacking
from paceline.spec import Run


def states(files):
    return {row["set"]: (row["state"], row["where"]) for row in describe(files)}


def test_every_set_is_listed_with_where_it_is(files, tmp_path):
    found = states(files)
    assert found.keys() == ENTRIES.keys()
    assert found["line"] == ("made", "on the spot")
    assert found["digits"][0] == "present"
    assert found["mnist"] == ("missing", f"paceline data get mnist --data {tmp_path}")


def test_part_of_a_set_is_incomplete_and_all_of_it_present(files):
    home = files.home("mnist")
    home.mkdir()
    names = [file.name for file in ENTRIES["mnist"].files]
    (home / names[0]).touch()
    assert states(files)["mnist"][0] == "incomplete"
    for name in names[1:]:
        (home / name).touch()
    assert states(files)["mnist"] == ("present", str(home))


def test_sets_that_are_brought_by_hand_and_other_forms(files):
    assert states(files)["folder"][0] == "yours"
    state, how = states(files)["caltech256"]
    assert state == "missing"
    assert "unpack the folder 256_ObjectCategories" in how
    for name, form in (("caltech256", "256_ObjectCategories"), ("cifar10", "labels.npz"), ("fruits", "any.tar.gz")):
        (files.home(name) / form).mkdir(parents=True)
        assert states(files)[name] == ("present", str(files.home(name)))


def run_of(**said) -> Run:
    return Run(**{"data": "digits", "model": "resnet18", "optimizer": "gd", "lr": 0.1, "steps": 3} | said)


def test_what_a_study_lacks_is_said_once_with_what_to_do(files, tmp_path):
    runs = [run_of(data=name) for name in ("mnist", "digits", "mnist", "line", "my_data:load")]
    assert lacking(runs, files) == [f"Data: mnist is missing: paceline data get mnist --data {tmp_path}"]


def test_folders_and_weights_are_looked_for_beside_the_study(files, tmp_path):
    runs = [run_of(data="folder:photos"), run_of(weights="mine.npz"), run_of(weights="imagenet")]
    beside = replace(files, beside=tmp_path / "studies")
    assert lacking(runs, beside) == [
        f"Data: {tmp_path}/studies/photos is no folder.",
        "Weights: mine.npz is missing.",
        "Weights: resnet18-f37072fd.pth is missing: paceline data get resnet18-f37072fd.pth",
    ]
    (tmp_path / "studies" / "photos").mkdir(parents=True)
    (tmp_path / "weights").mkdir()
    for path in ("studies/mine.npz", "weights/resnet18-f37072fd.pth"):
        (tmp_path / path).touch()
    assert lacking(runs, beside) == []
