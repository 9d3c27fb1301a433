"""The schema accepts what the reader accepts, and refuses what it refuses."""

import copy
import json
from typing import Any

import jsonschema
import pytest

from paceline.gallery import gallery
from paceline.spec.document import read
from paceline.spec.schema import schema

SCHEMA = schema()
CHECK = jsonschema.Draft202012Validator(SCHEMA)
STUDY: dict[str, Any] = {
    "name": "s",
    "base": {"data": "digits", "model": "softmax", "optimizer": "adam", "lr": 0.1, "steps": 10},
    "compare": {"optimizer": ["gd", {"name": "sgd", "momentum": 0.9}], "optimizer.beta1": [0.9]},
    "tune": {"sample": 5, "lr": {"low": 0.01, "high": 1, "scale": "log"}},
    "cases": {"own": {"model": "mine:Net", "subset": 100, "tune": {"batch": [10, "30 + epoch"]}}},
}


def test_it_is_a_schema_and_json():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("name", sorted(gallery()))
def test_every_study_that_ships_is_accepted(name):
    CHECK.validate(read(gallery()[name]).data)


def test_all_that_may_be_said_is_accepted():
    CHECK.validate(STUDY)
    CHECK.validate({**STUDY, "cases": [{"name": "a", "lr": 1}]})
    CHECK.validate({**STUDY, "cases": {"a": {"augment": {"flip": True, "shift": 0.1}}}})


def test_every_key_has_its_meaning():
    told = {**SCHEMA["properties"], **SCHEMA["$defs"]["settings"]["properties"]}
    for group in ("Subset", "EarlyStop", "Augment", "Loader", "range"):
        told |= {f"{group}.{key}": said for key, said in SCHEMA["$defs"][group]["properties"].items()}
    assert not [key for key, said in told.items() if len(said.get("description", "")) < 8]
    assert told["loss"]["default"] == "softmax_ce"


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("base", "optimizer"), "adan"),
        (("base", "optimizer"), {"name": "adam", "beta3": 1}),
        (("base", "lr"), -1),
        (("base", "stepz"), 3),
        (("compare", "lr"), 0.1),
        (("measure",), "speed"),
        (("tune", "lr"), {"low": 1}),
        (("tune", "sample"), 0),
    ],
)
def test_what_is_wrong_is_refused(where, value):
    study = copy.deepcopy(STUDY)
    inner = study
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    assert not CHECK.is_valid(study)
