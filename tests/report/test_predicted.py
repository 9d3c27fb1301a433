"""`paceline predict`: what laws fitted to the counts measured say, their own checks, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from paceline.errors import RecordError, StudyError
from paceline.report.answer import Answer, answer
from paceline.report.formats import render
from paceline.report.predicted import MOST_COUNTS, asked, flat, forecasts, notes, printed

from .recorded import DIGITS, learning, made
from .sharing import CASES, STRONG, STUDY, TARGET, amdahl, four_cores, shared


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return shared(STUDY, tmp_path_factory.mktemp("record"), target=0.5)


def test_the_law_that_made_the_points_is_found_again(known: Answer):
    strong, weak = forecasts(asked(known, "16, 32,64"))
    assert strong.speed["law"].unique().to_list() == ["Amdahl"]
    assert strong.speed["examples_per_second"].to_list() == pytest.approx(
        [1000 * n / (1 + 0.1 * (n - 1)) for n in (16, 32, 64)], rel=0.1
    )
    assert (strong.speed["low"] < strong.speed["examples_per_second"]).all()
    assert (strong.speed["high"] > strong.speed["examples_per_second"]).all()
    assert weak.speed["law"].unique().to_list() == ["Gustafson"]
    assert weak.speed["examples_per_second"].to_list() == pytest.approx(
        [1000 * (n - 0.1 * (n - 1)) for n in (16, 32, 64)], rel=0.1
    )


def test_every_prediction_prints_its_own_check(known: Answer):
    text = printed(asked(known, "16"))
    assert text.startswith("What do more devices gain?\n")
    assert text.count("Held-out check: fitted without 8 devices, ") == 2
    assert text.count("Held-out check of the time: fitted without 8 devices, it was ") == 2
    for line in text.splitlines():
        if line.startswith("Held-out check"):
            assert " % too " in line
    assert "Time to accuracy 0.5\n" in text
    assert "Critical batch: " in text


def test_a_miss_is_told_with_its_size_and_its_direction(tmp_path: Path):
    """Eight devices are half as fast as the law of the others says."""
    found = shared(STRONG, tmp_path, speed=lambda run: amdahl(run) / (2 if run.devices == 8 else 1))
    (only,) = forecasts(asked(found, "16"))
    miss = only.laws.filter("chosen")["held_out_miss_percent"][0]
    assert miss > 10
    assert only.said[0] == f"Held-out check: fitted without 8 devices, Amdahl said {miss:.0f} % too much there."
    assert only.speed["stands"][0] != "gain"


def test_time_to_the_target_is_examples_over_speed(tmp_path: Path):
    (only,) = forecasts(asked(shared(TARGET, tmp_path), "16"))
    row = only.times.row(0, named=True)
    needed = 6 * 1137  # examples to 0.85: 0.75 of 0.8 of the way, at the end of an epoch
    assert row["global_batch"] == 64
    assert row["seconds"] == pytest.approx(needed / only.speed["examples_per_second"][0], rel=0.5)
    assert row["low"] < row["seconds"] < row["high"]


def test_costs_are_of_the_time_and_of_a_million_examples(tmp_path: Path):
    (only,) = forecasts(asked(shared(TARGET, tmp_path, price=2.5), "16"))
    time, speed = only.times.row(0, named=True), only.speed.row(0, named=True)
    assert time["cost"] == pytest.approx(16 * time["seconds"] / 3600 * 2.5)
    assert time["cost_low"] < time["cost"] < time["cost_high"]
    assert speed["million_cost"] == pytest.approx(16 * 1e6 / speed["examples_per_second"] / 3600 * 2.5)
    assert speed["million_cost_low"] < speed["million_cost"] < speed["million_cost_high"]


def test_two_counts_are_fitted_but_not_checked(tmp_path: Path):
    found = shared(STRONG.replace("[1, 2, 4, 8]", "[1, 2]"), tmp_path)
    text = printed(asked(found, "4"))
    assert "Held-out check: none, for Amdahl goes through 2 points with 2 parameters" in text
    assert text.count("measure one more") == 1


def test_a_law_that_cannot_say_what_was_measured_is_called_unfit(tmp_path: Path):
    """Two devices a quarter as fast as one: no serial fraction up to 1 says so."""
    text = STRONG.replace("[1, 2, 4, 8]", "[1, 2]")
    found = shared(text, tmp_path, speed=lambda run: (1000 if run.devices == 1 else 250) * (1 + 0.001 * run.seed))
    said = printed(asked(found, "4"))
    assert "The law does not fit: with 2 devices it says 500 examples a second, measured were 250." in said
    assert "goes through" not in said


def test_counts_that_may_not_be_timed_are_left_out_with_their_reason(tmp_path: Path):
    text = printed(asked(shared(STRONG, tmp_path, timing=four_cores), "16"))
    assert "fitted without 4 devices" in text
    assert "Left out: 8 devices: 3 of 3 runs were oversubscribed" in text


def test_nothing_to_fit_is_said_not_raised(tmp_path: Path):
    text = printed(asked(shared(STRONG, tmp_path, timing=lambda run: "shared"), "16"))
    assert "Nothing is predicted: Amdahl has 2 parameters and 0 measured points: measure 2 more" in text
    assert "Left out: 1 device: 3 of 3 runs were timed shared, not exclusive" in text


def test_cases_are_predicted_one_by_one(tmp_path: Path):
    made_ = list(forecasts(asked(shared(CASES, tmp_path), "16")))
    assert [each.title for each in made_] == [
        f"{case}, strong scaling (one batch for all devices)" for case in ("averaged", "divided")
    ]
    assert flat(made_)["case"].to_list() == ["averaged", "divided"]


def test_a_batch_that_changes_has_speeds_and_no_times(tmp_path: Path):
    found = shared(STRONG.replace("batch: 64", 'batch: "30 + 10 * epoch"'), tmp_path, target=0.5)
    (only,) = forecasts(asked(found, "16"))
    assert only.speed["examples_per_second"][0] == pytest.approx(6400, rel=0.1)
    assert only.times.is_empty()
    assert "Time to accuracy 0.5: refused, for the batch changes with the epoch." in only.said


def test_counts_that_a_batch_has_no_examples_for_are_refused(known: Answer):
    """A study that says so is refused too: 64 examples are none for each of 1024 devices."""
    strong, weak = forecasts(asked(known, "16,128,1024"))
    why = "a batch of 64 has no example for each"
    assert f"Refused for 128, 1024 devices: {why}." in strong.said
    assert not any("Refused" in line for line in weak.said)
    for table, value in ((strong.speed, "examples_per_second"), (strong.times, "seconds")):
        assert table.select("devices", pl.col(value).is_null()).rows() == [(16, False), (128, True), (1024, True)]
        assert table["refusal"].to_list() == [None, why, why]
        assert table.filter(pl.col("devices") > 64).select("low", "high").null_count().row(0) == (2, 2)
    assert strong.speed.filter(pl.col("devices") > 64)["stands"].null_count() == 2
    first, _, second = printed(asked(known, "16,1024")).partition("\nWeak scaling")
    for text, counts in ((first, ["16", "16"]), (second, ["16", "1024", "16", "1024"])):
        assert [line.split()[0] for line in text.splitlines() if line.strip()[:1].isdigit()] == counts


def test_where_no_count_is_left_only_the_refusal_is_printed(tmp_path: Path):
    text = printed(asked(shared(STRONG, tmp_path, target=0.5, price=1.0), "128"))
    assert "Refused for 128 devices: a batch of 64 has no example for each." in text
    assert "examples a second" not in text
    assert "Time to" not in text


@pytest.mark.parametrize("form", ["json", "csv", "md", "latex"])
def test_other_formats_hold_everything_in_one_table(known: Answer, form: str):
    made_ = list(forecasts(asked(replace(known, price=1.0), "16,64")))
    table = flat(made_)
    assert table.select("scaling", "devices").rows() == [(s, n) for s in ("strong", "weak") for n in (16, 64)]
    assert {"examples_per_second", "law", "held_out_miss_percent", "seconds_to_goal", "cost"} <= set(table.columns)
    assert render(table, form)
    if form == "json":
        assert json.loads(render(table, form))[0]["law"] == "Amdahl"
    assert any("Held-out check" in line for line in notes(made_))


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ("a,b", "'a' is no number of devices"),
        ("4,,8", "'' is no number of devices"),
        ("-3", "'-3' is no number of devices"),
        ("2.5", "'2.5' is no number of devices"),
        ("²", "'²' is no number of devices"),
        ("0,4", "0 devices; say counts from 1 to 100,000"),
        ("200000", "200000 devices; say counts from 1 to 100,000"),
        (",".join(map(str, range(1, MOST_COUNTS + 2))), "51 counts; say at most 50"),
    ],
)
def test_counts_that_are_none_are_refused(known: Answer, devices: str, message: str):
    with pytest.raises(StudyError, match="--devices") as raised:
        asked(known, devices)
    assert message in str(raised.value)


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), float("inf")])
def test_a_price_is_above_0(price: float):
    with pytest.raises(StudyError, match="is no price of a device-hour"):
        answer(made(DIGITS, learning), price=price)


def test_a_study_of_one_count_and_one_without_runs_are_refused(tmp_path: Path):
    with pytest.raises(RecordError, match="no setting of it was trained by two numbers of devices"):
        asked(answer(made(DIGITS, learning)), "4")
    with pytest.raises(RecordError, match="no run of 'shared' has finished yet"):
        asked(shared(STRONG, tmp_path, status=lambda run: "queued"), "4")
