"""What a study says of its source is checked before anything trains."""

import pytest

from .conftest import Refused
from .studies import study

TWO = "cases:\n  a: {lr: 0.1}\n  b: {lr: 0.2}\n"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{findngs: [words]}", "11: published.findngs: unknown key 'findngs'. Did you mean 'findings'?"),
        ("{rows: 3}", "11: published.rows: rows is a list of rows, each as {optimizer: adam, accuracy: 0.92}, not 3."),
        ("{rows: [words]}", "11: published.rows.0: a row is as {optimizer: adam, accuracy: 0.92}, not 'words'."),
        ("[{case: a, accuracy: 92}]", "11: published.0.accuracy: accuracy is from 0 to 1, not 92; say accuracy_percent."),
        ("[{case: a, accuracy: -0.1}]", "11: published.0.accuracy: accuracy is from 0 to 1, not -0.1."),
        ("{findings: {finding: x, bst: {case: a}}}", "11: published.findings.bst: unknown key 'bst'. Did you mean 'best'?"),
        ("[{case: a, accuracy_percent: 920}]", "11: published.0.accuracy_percent: accuracy_percent is from 0 to 100"),
        ("{findings: [{finding: x, bst: {case: a}}]}", "11: published.findings.0.bst: unknown key 'bst'. Did you mean 'best'?"),
        ("{findings: [{finding: x}]}", "11: published.findings.0: a claim has finding or asked, and one of best, worst,"),
        ("{findings: [{finding: x, order: [{case: a}]}]}", "11: published.findings.0.order: order names two settings or more"),
        ("{findings: [{finding: x, best: {case: a}, by: lots}]}", "11: published.findings.0.by: by is a number, not 'lots'."),
        (
            "{findings: [{finding: x, alike: [{case: a}, {case: b}], within: -1}]}",
            "11: published.findings.0.within: within is at least 0, not -1.",
        ),
        ("{findings: [{finding: x, best: {case: a}, size: half}]}", "11: published.findings.0.size: size is full, or not said"),
        ("{findings: [{finding: x, best: {case: a}, of: acc}]}", "11: published.findings.0.of: of is one of accuracy, valid"),
        ("{findings: [{finding: x, best: {case: a}, device: tpu}]}", "11: published.findings.0.device: device is one of cpu"),
        ("{findings: [{finding: x, best: {case: a}, among: {cse: b}}]}", "11: published.findings.0.among: unknown key 'cse'"),
        ("{findings: [{finding: x, best: {optimzer: gd}}]}", "11: published.findings.0.best: unknown key 'optimzer'."),
        ("{findings: [{asked: x, best: {case: c}}]}", "11: published.findings.0.best: no case 'c'."),
    ],
)  # fmt: skip
def test_what_could_not_be_judged_is_refused(refused: Refused, said: str, message: str) -> None:
    assert refused(study(f"{TWO}published: {said}\n")).startswith(f"study.yaml:{message}")
