"""The useful batch, from real runs."""

import pytest

from paceline import api

STUDY = {
    "name": "noisy",
    "question": "How large a batch is useful?",
    "base": {
        "data": {"name": "synthetic", "examples": 600, "validation": 0, "test": 60, "shape": [8], "noise": 2.0},
        "model": "softmax",
        "optimizer": "gd",
        "lr": 0.05,
        "batch": 40,
        "steps": 90,
        "evaluate_every": 3,
        "noise_every": 1,
        "device": "cpu",
    },
    "compare": {"accumulate": [1, 2]},
    "repeat": 2,
}


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    return api.run(STUDY, out=tmp_path_factory.mktemp("noise")).answer


def test_every_setting_has_its_useful_batch_early_and_late(answer):
    table = answer.table("useful-batch")
    assert table.height == 6
    assert set(table["of training"]) == {"first third", "second third", "last third"}
    assert set(table["rows"]) == {20}  # 10 rows of each of two seeds
    early = table.filter(table["of training"] == "first third")
    assert (early["useful batch"] > 0).all()
    assert (early["low"] <= early["useful batch"]).all()


def test_noise_grows_as_the_gradient_falls(answer):
    table = answer.table("useful-batch").filter(answer.table("useful-batch")["useful batch"].is_not_null())
    for _, group in table.group_by("setting"):
        found = dict(group.select("of training", "useful batch").iter_rows())
        assert found.get("last third", float("inf")) > found["first third"]


def test_what_was_not_looked_at_has_no_table(tmp_path):
    study = {**STUDY, "base": {**STUDY["base"], "noise_every": None, "steps": 6}, "compare": {"lr": [0.1, 0.2]}}
    with pytest.raises(KeyError):
        api.run(study, out=tmp_path).answer.table("useful-batch")
