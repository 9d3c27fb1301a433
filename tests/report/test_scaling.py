"""What more devices bought: which tables stand there, their figures, what is refused, what is said."""

from dataclasses import replace
from pathlib import Path

import pytest

from paceline.errors import StudyError
from paceline.report.answer import Answer
from paceline.report.page import page
from paceline.report.scaling.runs import scaled
from paceline.report.scaling.sentences import sentences

from .recorded import DIGITS, learning, made
from .sharing import CASES, EXAMPLES, STRONG, STUDY, TARGET, amdahl, four_cores, shared

OURS = ("speedup", "speedup-goal", "quickest", "devices", "epochs-goal", "serial", "epochs-devices", "cost")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return shared(STUDY, tmp_path_factory.mktemp("record"))


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Eight processes on four cores; two runs on four devices never reach the target."""
    return shared(TARGET, tmp_path_factory.mktemp("record"), timing=four_cores, price=2.5)


def keys(found: Answer) -> list[str]:
    return [sheet.key for sheet in found.sheets if sheet.key in OURS]


def note(found: Answer, key: str) -> str:
    return next(sheet.note for sheet in found.sheets if sheet.key == key)


def test_every_table_but_cost_stands_there_and_other_studies_have_none(known: Answer):
    from paceline.report.answer import answer

    assert keys(known) == list(OURS[:-1])
    assert keys(answer(made(DIGITS, learning))) == []


def test_speedup_is_to_one_device_strong_and_weak_apart(known: Answer):
    table = known.table("speedup")
    assert table.select("scaling", "devices").rows() == [(s, n) for s in ("strong", "weak") for n in (1, 2, 4, 8)]
    strong = table.filter(scaling="strong")
    assert strong["speedup"].to_list() == [None, *(pytest.approx(n / (1 + 0.1 * (n - 1)), rel=0.01) for n in (2, 4, 8))]
    weak = table.filter(scaling="weak")
    assert weak["efficiency %"].to_list()[1:] == pytest.approx([95.0, 92.5, 91.25], abs=1)
    assert table["stands"].to_list() == ["reference", "gain", "gain", "gain"] * 2
    assert ((table["speedup low"] <= table["speedup"]) & (table["speedup"] <= table["speedup high"])).drop_nulls().all()
    serial = known.table("serial").filter(scaling="strong")
    assert serial["serial fraction"].to_list() == pytest.approx([0.1] * 3, abs=0.02)


@pytest.mark.parametrize(("cores", "says"), [((1, 8), True), ((8, 8), False)])
def test_a_speedup_over_part_of_a_cpu_says_so(known: Answer, cores: tuple[int, int], says: bool):
    facts = replace(known.facts, cores=dict.fromkeys(known.facts.runs["pack"], cores))
    words = "A device is 1 core here, alone too; one process on all cores was not timed."
    assert (words in list(sentences(scaled(facts)))) is says
    assert words not in list(sentences(scaled(known.facts)))


def test_what_was_measured_by_devices(known: Answer):
    row = known.table("devices").filter(scaling="strong", devices=2).row(0, named=True)
    assert row["seconds an epoch"] == pytest.approx(EXAMPLES / 1818, rel=0.01)
    assert row["examples a second"] == pytest.approx(1818, rel=0.01)
    assert [row[f"{part} %"] for part in ("compute", "exposed communication", "loader", "other")] == [50, 30, 10, 10]
    assert (row["imbalance %"], row["sent an update"]) == (2, "3 MB")
    assert row["turnaround s"] == pytest.approx(5 + 10 * EXAMPLES / 1818, rel=0.01)
    first = known.table("devices").row(0, named=True)
    assert (first["devices"], first["exposed communication %"], first["sent an update"]) == (1, 0, None)
    assert "copy %" not in row, "nothing was copied"


def test_the_time_to_the_goal_has_the_epochs_in_it(tmp_path: Path):
    """By weak scaling the goal takes more epochs, so that its speedup is below that of examples a second."""
    found = shared(STUDY, tmp_path, target=0.5)
    epochs = found.table("epochs-goal")
    assert epochs.filter(scaling="strong")["epochs"].to_list() == [2, 2, 2, 2]
    assert epochs.filter(scaling="weak")["epochs"].to_list() == [2, 3, 3, 4]
    speed, goal = (found.table(key).filter(scaling="weak")["speedup"][1:] for key in ("speedup", "speedup-goal"))
    assert (goal / speed).to_list() == pytest.approx([2 / 3, 2 / 3, 2 / 4], rel=0.01)


def test_a_count_that_does_not_always_reach_the_goal_takes_no_part(known: Answer):
    """By weak scaling one device alone becomes stable within the ten epochs: nothing is quickest there."""
    table = known.table("speedup-goal").filter(scaling="weak")
    assert table["stands"].to_list() == ["reference", "refused", "refused", "refused"]
    assert "8 devices: 3 of 3 runs never reached the goal" in note(known, "speedup-goal")
    assert not any("by weak scaling" in line for line in known.timing)


def test_the_quickest_number_of_devices_by_target_and_by_turnaround(crowded: Answer):
    table = crowded.table("quickest")
    assert table.select("of", "devices").rows() == [("training to accuracy 0.85", 4), ("a run, from start to end", 4)]
    assert table["not shown to be slower"].to_list() == ["", ""]
    assert "8 devices: 3 of 3 runs were oversubscribed" in note(crowded, "quickest")


def test_seconds_of_each_epoch(known: Answer):
    table = known.table("epochs-devices").filter(scaling="strong", a=1, b=2)
    assert table["epoch"].to_list() == list(range(1, 11))
    assert table["difference"].to_list() == pytest.approx([EXAMPLES / 1000 - EXAMPLES / 1818] * 10, rel=0.05)


def test_oversubscribed_counts_are_refused_for_time_and_count_for_epochs(crowded: Answer):
    last = crowded.table("speedup").row(-1, named=True)
    assert (last["devices"], last["speedup"], last["stands"]) == (8, None, "refused")
    assert crowded.table("devices").row(-1, named=True)["examples a second"] is None
    assert crowded.table("devices").row(-1, named=True)["sent an update"] == "3 MB"
    assert crowded.table("epochs-goal").row(-1, named=True)["reached"] == 3
    said = "\n".join(crowded.timing)
    assert "The time of 8 devices is refused: 3 of 3 runs were oversubscribed (more processes than cores)" in said
    assert "Their accuracy and epochs count." in said
    assert set(crowded.table("epochs-devices")["b"]) == {2, 4}
    assert any("more processes than cores (oversubscribed)" in line for line in crowded.notes)
    assert not any("Another Paceline process" in line for line in crowded.notes)


def test_what_is_said(crowded: Answer):
    first, second, *_ = crowded.timing
    assert first.startswith("Strong scaling gains: 4 devices train 3.0")
    assert "; efficiency 7" in first
    assert second.startswith("Soonest at accuracy 0.85 by strong scaling: 4 devices, with a median of ")
    assert "\n".join(crowded.timing) in crowded.text


def test_no_gain_is_said_with_its_size(tmp_path: Path):
    found = shared(STRONG, tmp_path, speed=lambda run: 1000 / run.devices**0.5 * (1 + 0.001 * run.seed))
    assert found.timing[0].startswith("Strong scaling gains nothing: 2 devices train 0.707 times the examples a second")


def test_a_goal_that_no_run_reaches_is_named(tmp_path: Path):
    found = shared(STRONG, tmp_path, target=0.99)
    assert "No run reached accuracy 0.99, so that no time to it can be compared." in found.timing
    assert "speedup-goal" not in keys(found)


def test_a_run_that_diverged_has_no_time_to_the_goal(tmp_path: Path):
    found = shared(TARGET, tmp_path, status=lambda run: "diverged" if (run.devices, run.seed) == (2, 0) else "done",
                   noted=lambda run: {"timing": "exclusive"})  # fmt: skip
    assert found.table("epochs-goal").filter(devices=2)["n"][0] == 3
    assert found.table("speedup").filter(devices=2)["n"][0] == 2


def test_cost(crowded: Answer, tmp_path: Path):
    table = crowded.table("cost").filter(of="a run, from start to end")
    seconds = [5 + 10 * EXAMPLES / (1000 * n / (1 + 0.1 * (n - 1))) for n in (1, 2, 4)]
    wanted = [n * s / 3600 * 2.5 for n, s in zip((1, 2, 4), seconds, strict=True)]
    assert table["cost"].to_list() == pytest.approx(wanted, rel=0.01)
    assert table["stands"].to_list() == ["cheapest", "", ""]
    with pytest.raises(StudyError, match=r"-1\.0 is no price of a device-hour"):
        shared(STRONG, tmp_path, price=-1.0)


def test_turnaround_of_which_one_count_alone_is_known_is_not_called_quickest(tmp_path: Path):
    found = shared(
        STRONG.replace("[1, 2, 4, 8]", "[1, 2]"), tmp_path,
        noted=lambda run: {"turnaround_seconds": None if run.devices == 1 else 7.0},
    )  # fmt: skip
    assert "a run, from start to end" not in found.table("quickest")["of"]
    assert "1 device: no turnaround was measured" in note(found, "quickest")


def test_cases_are_held_against_the_one_device_that_shares_all_else(tmp_path: Path):
    found = shared(CASES, tmp_path, speed=lambda run: amdahl(run) * (0.5 if run.strategy.name == "zero" else 1.0))
    table = found.table("speedup")
    assert table.select("case", "devices").rows() == [("averaged", 1), ("averaged", 2), ("divided", 1), ("divided", 2)]
    assert table["stands"].to_list() == ["reference", "gain", "reference", "no gain"]
    assert any(line.startswith("Strong scaling of divided gains nothing") for line in found.timing)


def test_waiting_within_the_passes_is_not_called_none(tmp_path: Path):
    found = shared(CASES.replace("strategy: zero", "strategy: fsdp"), tmp_path)
    waiting = {
        row["case"]: row["exposed communication %"] for row in found.table("devices").filter(devices=2).to_dicts()
    }
    assert waiting == {"averaged": 30, "divided": None}


def test_a_count_whose_runs_failed_is_named_with_its_setting(tmp_path: Path):
    found = shared(CASES, tmp_path, status=lambda run: "failed" if run.strategy.name == "zero" else "done")
    assert "The time of 2 devices of divided is refused: no speed was measured." in found.timing


def test_settings_stand_in_the_order_of_the_study(tmp_path: Path):
    found = shared(CASES.replace("divided:", "a divided one:"), tmp_path)
    for key in ("speedup", "devices", "quickest", "epochs-goal"):
        assert found.table(key)["case"].unique(maintain_order=True).to_list() == ["averaged", "a divided one"]


def test_the_page_shows_them_open(crowded: Answer):
    text = page(crowded)
    for key in ("speedup", "quickest", "devices", "cost"):
        assert f'<section id="{key}">' in text
    assert '<details id="serial">' in text
    assert "chart-speedup" in text
