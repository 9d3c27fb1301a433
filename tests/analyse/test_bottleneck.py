"""What limits a setting, on settings made to be limited by each thing in turn."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.bottleneck import bottlenecks
from paceline.analyse.phases import TRAINING

KNOWN = {"probe_flops": 1e9, "probe_bytes": 1e8, "probe_call_seconds": 1e-4}
WORK = {"work_flops": 1e6, "work_bytes": 1e4, "work_calls": 2.0}  # 1 ms, 0.1 ms, 0.2 ms


def run(label: str = "x", **more: Any) -> dict[str, Any]:
    """A run of 1000 steps of 2 ms: 2 seconds, half of it in the backward pass."""
    spent = {
        "loader": 0.2,
        "copy": 0.0,
        "forward": 0.6,
        "backward": 1.0,
        "exchange": 0.0,
        "optimizer": 0.1,
        "other": 0.1,
    }
    return {"label": label, "steps": 1000, "seconds": 2.0, **spent, **KNOWN, **WORK} | more


def verdict(*runs: dict[str, Any]) -> dict[str, Any]:
    return bottlenecks(pl.DataFrame(list(runs)), ["label"]).row(0, named=True)


def test_its_numbers_by_hand() -> None:
    found = verdict(run())
    assert found["verdict"] == "compute-bound"
    assert found["reason"] == "its arithmetic at the machine's peak is 50 % of a step of 2 ms"
    assert found["step_seconds"] == pytest.approx(2e-3)
    assert (found["compute"], found["memory"], found["launch"]) == pytest.approx((0.5, 0.05, 0.1))
    assert (found["loader"], found["copy"], found["n"]) == (pytest.approx(0.1), 0.0, 1)


@pytest.mark.parametrize(
    ("more", "said", "why"),
    [
        ({"work_bytes": 5e5}, "memory-bound", "its reads and writes at the machine's bandwidth are 250 % of a step"),
        ({"work_calls": 15}, "launch-bound", "the mere calling of its operations is 75 % of a step"),
        ({"loader": 1.2, "backward": 0.0}, "loader-bound", "60 % of the training seconds go into waiting for batches"),
        ({"copy": 0.8, "backward": 0.4, "loader": 0.0}, "copy-bound", "40 % of the training seconds go into copying"),
        ({"loader": 0.7, "backward": 0.5}, "loader-bound", "35 %"),
        ({"exchange": 0.9, "backward": 0.1}, "communication-bound", "45 % of the training seconds go into waiting for"),
    ],
)
def test_each_limit(more: dict[str, float], said: str, why: str) -> None:
    found = verdict(run(**more))
    assert found["verdict"] == said
    assert why in found["reason"]


def test_a_step_that_the_roofline_hardly_explains_says_so() -> None:
    assert "explained by none" not in verdict(run())["reason"]
    assert verdict(run(work_flops=1e5))["reason"] == (
        "the mere calling of its operations is 10 % of a step of 2 ms (most of the step is explained by none of the three)"
    )


def test_waiting_must_be_the_largest_share_and_a_third() -> None:
    assert verdict(run(loader=0.66, backward=0.54))["verdict"] == "compute-bound", "33 % is less than a third"
    assert verdict(run(loader=0.8, backward=1.0, forward=0.0))["verdict"] == "compute-bound", "backward takes more"


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        (WORK, "the work of a step was not counted"),
        (KNOWN, "this machine was not probed; `measure: time` in the study does so"),
        ({"probe_bytes": 0}, "work or probe is incomplete"),
    ],
)
def test_unknown_without_work_or_probe_and_why(missing: dict[str, float], why: str) -> None:
    assert verdict(run(**dict.fromkeys(missing)))["reason"] == why
    found = verdict({name: value for name, value in run().items() if name not in missing})
    assert (found["verdict"], found["reason"]) == ("unknown", why)
    assert verdict(run(loader=1.2, backward=0.0, **dict.fromkeys(missing)))["verdict"] == "loader-bound"


def test_means_over_the_runs_of_a_setting_and_a_line_a_setting() -> None:
    table = pl.DataFrame(
        [run("x"), run("x", seconds=4.0, backward=3.0), run("y", loader=1.5, backward=0), run("z", steps=0)]
    )
    found = bottlenecks(table, ["label"])
    assert found.select("label", "n", "verdict").rows() == [("x", 2, "compute-bound"), ("y", 1, "loader-bound")]
    assert found["compute"][0] == pytest.approx((0.5 + 0.25) / 2)
    assert found["step_seconds"][0] == pytest.approx(3e-3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 1), min_size=7, max_size=7), st.floats(1e-3, 1e3), st.permutations(range(3)))
def test_a_faster_clock_changes_no_verdict(parts: list[float], speed: float, order: list[int]) -> None:
    """All times scaled alike, as on a machine that is faster in everything."""
    spent = dict(zip(TRAINING, parts, strict=True))
    first = run(**spent, seconds=sum(parts), work_calls=1 + order[0])
    second = first | {name: value * speed for name, value in spent.items()} | {"seconds": sum(parts) * speed}
    second |= {"probe_flops": 1e9 / speed, "probe_bytes": 1e8 / speed, "probe_call_seconds": 1e-4 * speed}
    a, b = verdict(first), verdict(second)
    assert b["compute"] == pytest.approx(a["compute"])
    if sorted(parts)[-1] > 1.001 * sorted(parts)[-2] and abs(max(a["loader"], a["copy"]) - 1 / 3) > 1e-6:
        assert a["verdict"] == b["verdict"]
