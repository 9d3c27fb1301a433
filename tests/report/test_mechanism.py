"""Predictions by mechanism: links as users say them, what DDP exchanges, and tables from a made-up anatomy."""

import math

import polars as pl
import pytest

from paceline.analyse.simulate import MIB, Link
from paceline.api import load
from paceline.errors import StudyError
from paceline.execute.anatomy import Anatomy, Costs, Work
from paceline.plan.expand import expand
from paceline.report import mechanism
from paceline.report.mechanism import (
    NONE,
    PAYLOAD,
    Links,
    exchange,
    forecast,
    link,
    machine,
    predict,
    settings,
    speeds_of,
)

STUDY = {
    "name": "made",
    "question": "How fast?",
    "base": {
        "data": "digits",
        "model": "softmax",
        "optimizer": "gd",
        "lr": 0.1,
        "batch": 64,
        "steps": 5,
        "device": "cpu",
    },
    "compare": {"devices": [1, 2]},
    "repeat": 2,
}
FREE = Costs(0.0, 0.0, False)


def work(batch: int) -> Work:
    """10 ms and 1 ms an example, half of it backward; a megabyte of gradients in two tensors."""
    half = (0.01 + 0.001 * batch) / 2
    return Work(batch, half, (half / 2, half / 2), (500_000, 500_000), ((125_000,), (250, 500)), 0.002)


def found(alone: int = 64, together: tuple[int, ...] = (32, 4), costs: Costs = FREE) -> Anatomy:
    return Anatomy(work(alone), tuple(map(work, together)), costs)


@pytest.mark.parametrize(
    ("said", "bits", "latency"),
    [
        ("10 Gbit/s, 50 us", 1e10, 50e-6),
        ("10Gbit/s,50us", 1e10, 50e-6),
        ("200 Mbit/s", 2e8, 0.0),
        ("12.5 GB/s, 2 µs", 1e11, 2e-6),
        ("1 Gbps, 0.1 ms", 1e9, 1e-4),
        ("100 MiB/s", 8 * 100 * 2**20, 0.0),
    ],
)
def test_a_link_is_read_as_a_user_says_it(said, bits, latency):
    found = link(said)
    assert (found.latency, found.bandwidth) == (pytest.approx(latency), pytest.approx(bits / 8 * PAYLOAD))


@pytest.mark.parametrize("said", ["", "fast", "10", "10 Gbit", "10 Gbit/s, soon", "10 Gbit/s, 5", "-1 Gbit/s", "0 Gbit/s", "1.2.3 Gbit/s", "10 Gfoo/s", "1 Gbit/s, 5 h"])  # fmt: skip
def test_what_is_no_link_says_what_one_is(said):
    with pytest.raises(StudyError, match="is no link; say its rate and latency, as 10 Gbit/s, 50 us"):
        link(said)


def ddp(**said):
    return {"bucket_mb": 25.0, "compress": "none", "rank": 2, **said}


def test_buckets_and_compression_are_those_of_our_ddp():
    plain = exchange(ddp(bucket_mb=3.0), work(1), "tree")
    assert (plain.algorithm, plain.bucket_bytes, plain.first_bucket_bytes) == ("tree", 3 * MIB, 3 * MIB)
    assert (plain.compression, plain.calls) == (1.0, 1)
    half = exchange(ddp(compress="bf16"), work(1))
    assert (half.compression, half.bucket_bytes, half.first_bucket_bytes) == (2, 25 * MIB, MIB)
    low = exchange(ddp(compress="powersgd"), work(1))
    assert low.compression == pytest.approx(250_000 / (125_000 + 2 * 750))
    assert (low.calls, low.bucket_bytes) == (3, 4000 * MIB)


def test_powersgd_sends_what_torch_sends():
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import _should_compress

    for shape in [(5,), (2, 3), (64, 3, 5, 5), (10, 10), (4, 1000), (8, 8), (9, 8)]:
        for rank in (1, 2, 4):
            tensor = torch.empty(shape).view(shape[0], -1)
            wanted, whole, low = _should_compress(*tensor.shape, rank, 2)
            wanted = wanted and len(shape) > 1
            assert mechanism._low_rank(shape, rank) == (low if wanted else whole)


def test_a_machine_has_measured_hosts_and_stated_links():
    costs = Costs(1e-4, 1e-9, True)
    here = machine(costs, Links(), 0.1)
    assert (here.between, here.call_seconds, here.host_seconds_per_byte, here.stolen, here.jitter) == (
        NONE,
        1e-4,
        1e-9,
        1.0,
        0.1,
    )
    nodes = machine(costs, Links(Link(1e-5, 1e9), None, 8, "hierarchical"))
    assert (nodes.per_node, nodes.within) == (8, NONE)
    assert machine(FREE, Links()).stolen == 0


def run_of(**said):
    return expand(load({**STUDY, "base": {**STUDY["base"], **said}}))[0].run


def test_strong_scaling_by_hand():
    table = predict(run_of(), found(), [1, 2, 16], Links(Link(0.0, 1e9)))
    steps = table["step_seconds"].to_list()
    assert table["batch"].to_list() == [64, 32, 4]
    assert steps == pytest.approx([0.074 + 0.002, 0.042 + 0.002 + 1e-3, 0.014 + 0.002 + 2 * 15 / 16 * 1e-3])
    assert table["speedup"].to_list() == pytest.approx([steps[0] / step for step in steps])
    assert table.columns == [
        "devices",
        "batch",
        "step_seconds",
        "samples_per_second",
        "exposed_seconds",
        "utilisation",
        "speedup",
    ]


def test_weak_scaling_keeps_the_batch_of_a_device():
    table = predict(run_of(batch_mode="per_device"), found(64, (64,)), [2, 10_000], Links())
    assert table["batch"].to_list() == [64, 64]
    assert table["speedup"].to_list() == pytest.approx([2, 10_000])


def test_a_share_between_the_measured_lies_on_their_line():
    table = predict(run_of(), found(), [4], Links())
    assert table["step_seconds"][0] == pytest.approx(0.01 + 0.016 + 0.002)


class Asked:
    def __init__(self) -> None:
        self.of: list[tuple[int, tuple[int, ...]]] = []

    def __call__(self, run, alone, together):
        self.of.append((alone, together))
        return found(alone, together)


def forecasts(study, counts, asked, links=None, recorded=None):
    speeds = speeds_of(recorded)
    return [forecast(name, runs, counts, asked, links or Links(), speeds) for name, runs in settings(study)]


def test_a_study_is_measured_once_a_setting():
    asked = Asked()
    study = load({**STUDY, "compare": {"devices": [1, 2], "optimizer": ["gd", "adam"]}})
    made = forecasts(study, [1, 2, 16], asked)
    assert [(each.setting, each.scaling) for each in made] == [("optimizer gd", "strong"), ("optimizer adam", "strong")]
    assert asked.of == [(64, (32, 4))] * 2
    assert all(each.checks.is_empty() for each in made)


def test_data_sets_that_are_compared_are_settings_and_those_that_seeds_draw_are_not():
    each = {**STUDY, "base": {**STUDY["base"], "data": {"name": "synthetic"}}}
    said = load({**each, "compare": {"devices": [1, 2], "data.seed": [0, 1]}, "repeat": 2})
    assert [(name, len(runs)) for name, runs in settings(said)] == [("data.seed 0", 4), ("data.seed 1", 4)]
    drawn = load({**each, "compare": {"devices": [1, 2], "data.seed": ["seed"]}, "repeat": 2})
    assert [len(runs) for _, runs in settings(drawn)] == [4]


def test_recorded_runs_check_the_simulator_without_the_stated_links():
    study = load(STUDY)
    trials = expand(study)
    speed = {1: 64 / 0.076, 2: 64 / 0.055}  # the second is 25 % slower than the 44 ms predicted
    recorded = pl.DataFrame(
        {
            "run": [trial.id for trial in trials],
            "samples_per_second": [speed[trial.run.devices] for trial in trials],
            "timing": ["exclusive"] * len(trials),
        }
    )
    (made,) = forecasts(study, [16], Asked(), links=Links(Link(1.0, 1e3)), recorded=recorded)
    assert made.table["devices"].to_list() == [16]
    assert made.table["step_seconds"][0] > 30
    assert made.checks["devices"].to_list() == [1, 2]
    assert made.checks["miss_percent"].to_list() == pytest.approx([0.0, 25.0], abs=1e-6)
    (made,) = forecasts(study, [16], Asked(), recorded=recorded.with_columns(pl.lit("shared").alias("timing")))
    assert made.checks.is_empty()


@pytest.mark.parametrize(
    ("said", "counts", "words"),
    [
        ({"strategy": "fsdp"}, [2], "a step by fsdp is not in the model"),
        ({"sync_batch_norm": True}, [2], "synced batch norms"),
        ({"precision": "fp16"}, [2], "steps that fp16 skips"),
        ({}, [2, 65], "leaves some of 65 devices without an example"),
    ],
)
def test_what_is_not_in_the_model_is_refused(said, counts, words):
    with pytest.raises(StudyError, match=words):
        forecasts(load({**STUDY, "base": {**STUDY["base"], **said}}), counts, Asked())


def test_a_batch_that_follows_the_epoch_is_that_of_the_first():
    run = run_of(batch="30 + 10 * epoch")
    assert mechanism.share(run, 3) == 10
    assert math.isclose(mechanism.share(run_of(batch="30 + 10 * epoch", batch_mode="per_device"), 3), 30)
