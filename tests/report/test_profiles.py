"""The performance profile of a study with three tasks, and its absence from others."""

import paceline

TASKS = [
    {"name": "synthetic", "noise": noise, "examples": 300, "shape": [6], "classes": 3} for noise in (0.3, 0.6, 1.0)
]


def study(**compare):
    base = {"data": "digits", "model": "softmax", "lr": 0.1, "batch": 20, "steps": 60, "evaluate_every": 5}
    return paceline.load({"name": "tasks", "base": base, "compare": compare, "repeat": 2})


def test_a_quick_setting_has_the_larger_area(tmp_path):
    optimizers = ["momentum", {"name": "adadelta"}]
    results = paceline.run(study(data=TASKS, optimizer=optimizers), out=tmp_path)
    table = results.answer.table("profile")
    assert table["setting"].to_list() == ["momentum", "adadelta"]
    assert table["within 1x"][0] > 0.6
    assert table["area"][0] > table["area"][1]
    assert (table["within 4x"] >= table["within 1x"]).all()


def test_fewer_tasks_have_none(tmp_path):
    results = paceline.run(study(data=TASKS[:2], optimizer=["gd", "adam"]), out=tmp_path)
    assert "profile" not in {sheet.key for sheet in results.answer.sheets}
