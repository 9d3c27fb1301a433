"""Every study that ships: in full and at each of its sizes it expands and is planned, and what was published is found."""

import json
from pathlib import Path

import pytest

import paceline
from paceline.execute.session import open_session
from paceline.gallery import gallery
from paceline.plan.expand import expand
from paceline.report.answer import answer
from paceline.report.planned import planned

from .recorded import learning, made

SIZES = [(name, scale) for name in gallery() for scale in (None, *paceline.load(name).scales)]


@pytest.mark.parametrize(("name", "scale"), SIZES)
def test_it_is_planned(name: str, scale: str | None, tmp_path: Path):
    session = open_session(paceline.load(name, scale=scale), tmp_path)
    lines = planned(session)
    assert any(line.startswith("To train: ") for line in lines)
    assert not any("parts of your own" in line for line in lines), "every part has a known size"
    assert (f"This is the size '{scale}', not the full study." in lines) == (scale is not None)


@pytest.mark.parametrize("name", [name for name, scale in SIZES if scale == "quick"])
def test_a_quick_size_is_smaller_and_needs_few_weights(name: str):
    full, quick = (expand(paceline.load(name, scale=scale)) for scale in (None, "quick"))
    assert len({trial.id for trial in quick}) <= len({trial.id for trial in full})
    for trial in quick:
        starts = trial.run.weights, trial.run.model.name
        assert "none" in starts or starts == ("imagenet", "mobilenet_v2"), "of which anybody can fetch the weights"


@pytest.mark.parametrize("name", [name for name in gallery() if (paceline.load(name).published or {}).get("rows")])
def test_every_published_row_names_a_setting(name: str):
    found = answer(made(gallery()[name].read_text(), learning, steps=range(0, 101, 50)))
    assert found.published is not None
    assert found.published.unmatched == 0
    assert found.published.table.height == len(found.study.published["rows"])


def test_published_rows_that_a_smaller_size_does_not_train_are_shown():
    said = paceline.load("upc-cnn-batch-file", scale="part").model_dump(mode="json")
    found = answer(made(json.dumps(said), learning, steps=range(0, 101, 50), scale="part", part=True))
    assert found.published is not None
    table = found.published.table
    assert table["setting"].to_list() == [f"batch {size}" for size in (100, 25, 10, 4, 150, 50, 8, 6)]
    assert found.published.unmatched == 0
    assert set(table["accuracy verdict"][4:]) == {"not testable here: not trained at this size"}
    assert table["published accuracy"].null_count() == 0


def test_published_rows_of_pretrained_networks_do_not_stand_beside_those_from_scratch():
    said = paceline.load("bristol-models", scale="quick").model_dump(mode="json")
    found = answer(made(json.dumps(said), learning, steps=range(0, 101, 50), scale="quick"))
    assert found.published is not None
    table = found.published.table
    assert set(table["accuracy verdict"]) == {"not testable here: not trained at this size"}
    assert "cifar10 / vgg16_bn / imagenet" in table["setting"].to_list()
