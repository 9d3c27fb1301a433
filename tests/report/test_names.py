"""Words for lists."""

import pytest

from paceline.report.names import labels, listed, quoted


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdef"), "a, b, c, d and 2 more"),
        (["a, b", "c", "d"], "a, b; c and d"),
    ],
)
def test_a_list_in_a_sentence(items: list[str], said: str) -> None:
    assert listed(items) == said


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("adam", "adam"),
        ("adam / batch 50", "adam / batch 50"),
        ("[64]", "[64]"),
        ("workers 0 / pin_memory off", "workers 0 / pin_memory off"),
        ("batch 16 / 0 workers", "batch 16 / 0 workers"),
        ("from scratch", "'from scratch'"),
        ("ours, fp32", "'ours, fp32'"),
        ("from scratch / devices 2", "'from scratch / devices 2'"),
        ("30 + 10 * epoch", "'30 + 10 * epoch'"),
    ],
)
def test_a_setting_in_a_sentence(label: str, said: str) -> None:
    assert quoted(label) == said


def test_values_that_look_alike_keep_their_own_labels() -> None:
    """Four digits would make 1 of both."""
    rows = [{"optimizer.beta2": 0.99999}, {"optimizer.beta2": 0.999999}]
    assert labels(rows, "-") == ["optimizer.beta2 0.99999", "optimizer.beta2 0.999999"]
    assert labels([{"lr": 0.1}, {"lr": 0.01}], "-") == ["lr 0.1", "lr 0.01"]
    assert labels([{"lr": None}], "alone") == ["alone"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"optimizer": "adam", "order": "file"}, "adam / file"),
        ({"batch": "10 + epoch"}, "batch 10 + epoch"),
        ({"clip_norm": "none"}, "clip_norm none"),
        ({"fused": "True"}, "fused True"),
        ({"model.widths": "[8]"}, "widths [8]"),
        ({"case": "2 devices"}, "2 devices"),
    ],
)
def test_a_name_stands_without_its_axis(row: dict[str, object], said: str) -> None:
    assert labels([row], "-") == [said]
