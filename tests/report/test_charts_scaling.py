"""The numbers behind the charts of several devices, without drawing; then that each is a chart."""

from pathlib import Path

import pytest

from paceline.report.answer import Answer
from paceline.report.charts import spec
from paceline.report.charts.picture import picture
from paceline.report.charts.scaling import epoch_numbers, gap_numbers, speedup_numbers

from .sharing import CASES, STRONG, STUDY, four_cores, shared


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return shared(STUDY, tmp_path_factory.mktemp("record"), timing=four_cores)


def test_refused_counts_are_left_out_with_a_note(known: Answer):
    found = speedup_numbers(known.scaled)
    assert found.devices == [1, 2, 4]
    assert found.note == (
        " Left out, for their time is refused: 8 devices of strong scaling and 8 devices of weak scaling."
    )
    assert found.panels == ["strong scaling: one batch for all", "weak scaling: a batch for each"]
    assert found.table.filter(panel=found.panels[0])["value"].to_list() == pytest.approx([1, 1.82, 3.08], rel=0.01)
    assert epoch_numbers(known.scaled).devices == [1, 2, 4, 8], "epochs are no time"


def test_every_pair_of_counts_has_its_epochs(known: Answer):
    found = gap_numbers(known.scaled)
    assert found.pairs == ["2 instead of 1 devices", "4 instead of 1 devices", "4 instead of 2 devices"]
    assert found.table.height == 2 * 3 * 10
    assert found.note.endswith("8 devices.")


def test_nothing_that_may_be_timed_is_no_chart(tmp_path: Path):
    found = shared(STRONG, tmp_path, timing=lambda run: "shared")
    assert speedup_numbers(found.scaled) is None
    assert gap_numbers(found.scaled) is None


def test_settings_are_told_apart(tmp_path: Path):
    found = speedup_numbers(shared(CASES, tmp_path).scaled)
    assert found.names == ["averaged", "divided"]


def test_they_are_drawn_with_the_ideal_on_log_axes(known: Answer):
    figures = {figure.key: figure for figure in known.figures}
    assert list(figures)[:4] == ["best", "speedup", "epochs-goal", "epochs-devices"]
    made = spec(figures["speedup"].chart)
    layers = made["hconcat"][0]["layer"]
    assert layers[0]["encoding"]["y"]["field"] == "ideal"
    assert {layer["encoding"]["x"]["scale"]["type"] for layer in layers} == {"log"}
    assert {layer["encoding"]["x"]["scale"]["base"] for layer in layers} == {2}
    for key in ("speedup", "epochs-goal", "epochs-devices"):
        svg = picture(figures[key].chart)
        assert svg.count("<path") > 10
        assert "NaN" not in svg
