"""Every strategy, on two real processes: what one device learns, several learn."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from paceline.spec import Run
from paceline.spec.parts import TABLE
from tests.train.gradients import first_norms
from tests.train.parallel.together import pictures, trained

BASE: dict[str, Any] = {
    "data": "synthetic",
    "model": "lab_cnn",
    "optimizer": "adam",
    "lr": 1e-3,
    "batch": 20,
    "epochs": 2,
    "device": "cpu",
    "precision": "fp64",
    "devices": 2,
}
COLOUR = {"data": "cifar10", "model": {"name": "mobilenet_v2", "stem": "small"}, "batch": 8, "epochs": 1}
SUM = {"loss": "sum_squares", "model": "mlp", "optimizer": "gd", "lr": 1e-4}
EXACT: dict[str, dict[str, Any]] = {
    "ddp": {},
    "ddp, small buckets": {"strategy": {"name": "ddp", "bucket_mb": 0.01}},
    "ddp, parts of a batch": {"accumulate": 3},
    "ddp, clipped": {"clip_norm": 0.1},
    "ddp, a sum": SUM,
    "ddp, synced batch norm": {**COLOUR, "sync_batch_norm": True},
    "ddp, synced batch norm in parts": {**COLOUR, "sync_batch_norm": True, "accumulate": 2},
    "ddp, augmented": {**COLOUR, "model": "lab_cnn", "augment": {"flip": True, "crop": 2}},
    "ddp, a frozen base": {**COLOUR, "freeze": "base", "augment": {"flip": True}},
    "ddp, workers": {**COLOUR, "model": "lab_cnn", "augment": {"flip": True}, "loader": 1},
    "ddp, a batch for each": {"batch": 10, "batch_mode": "per_device", "lr_scale": "linear"},
    "zero": {"strategy": "zero"},
    "zero, a rule": {"strategy": "zero", "optimizer": "rmsprop"},
    "fsdp": {"strategy": "fsdp"},
    "fsdp, clipped": {"strategy": "fsdp", "clip_norm": 0.1},
    "fsdp, parts of unequal shares": {"strategy": "fsdp", "accumulate": 8, "batch": 37},
    "fsdp, ended early": {"strategy": "fsdp", "epochs": 3, "early_stop": {"target": 0.01}},
    "fsdp, a rule": {"strategy": "fsdp", "optimizer": "lion"},
    "local_sgd": {"strategy": {"name": "local_sgd", "every": 1}, "optimizer": "gd", "lr": 0.01},
    "pipeline": {"strategy": "pipeline"},
    "pipeline, mlp": {"strategy": {"name": "pipeline", "micro_batches": 3}, "model": {"name": "mlp", "widths": [8, 6]}},
    "pipeline, clipped": {"strategy": "pipeline", "clip_norm": 0.1},
    "pipeline, a sum": {**SUM, "strategy": "pipeline"},
    "tensor": {"strategy": "tensor"},
    "tensor, parts of a batch": {"strategy": "tensor", "accumulate": 3},
    "tensor, clipped": {"strategy": "tensor", "clip_norm": 0.1},
    "tensor, mlp": {"strategy": "tensor", "model": {"name": "mlp", "widths": [8, 6, 4], "dropout": 0.3}},
}
NOISE: dict[str, Any] = {"model": "softmax", "epochs": None, "steps": 3, "evaluate_every": 1, "noise_every": 1}
NEAR: dict[str, dict[str, Any]] = {
    "fp16": {"strategy": {"name": "ddp", "compress": "fp16"}, "precision": "fp32"},
    "bf16": {"strategy": {"name": "ddp", "compress": "bf16"}, "precision": "fp32"},
    "powersgd": {"strategy": {"name": "ddp", "compress": "powersgd", "rank": 8}, "precision": "fp32"},
    "local_sgd, every 4": {"strategy": {"name": "local_sgd", "every": 4}},
    "local batch norm": {**COLOUR},
    "synced batch norm, parts of unequal shares": {**COLOUR, "sync_batch_norm": True, "accumulate": 4, "batch": 7},
}

BROKEN = {"local batch norm": "broken off", "fsdp": "fsdp, broken off"}  # what was not, what was

THREE: dict[str, dict[str, Any]] = {
    "zero": {"strategy": "zero", "model": "softmax"},
    "zero, a rule": {"strategy": "zero", "model": "softmax", "optimizer": "muon"},
    "zero, torch's own": {"strategy": "zero", "model": "softmax", "optimizer": "torch.optim:SGD", "lr": 0.1},
}


@pytest.fixture(scope="module")
def spread(tmp_path_factory) -> dict[str, dict[str, Any]]:
    """All of them by one team: starting one takes seconds."""
    cases = EXACT | NEAR
    broken = {other: {**cases[name], "broken_off": True} for name, other in BROKEN.items()}
    return together(cases | broken | {"noise": NOISE}, tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> dict[str, dict[str, Any]]:
    return together(THREE, tmp_path_factory.mktemp("three"), devices=3)


def together(cases: dict[str, dict[str, Any]], room: Path, devices: int = 2) -> dict[str, dict[str, Any]]:
    (room / "runs.json").write_text(json.dumps([BASE | said | {"devices": devices} for said in cases.values()]))
    script = Path(__file__).with_name("together.py")
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={devices}", "--rdzv-backend=c10d"]
    done = subprocess.run(
        [*command, "--rdzv-endpoint=localhost:0", str(script), str(room / "runs.json"), str(room / "out.json")],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(zip(cases, json.loads((room / "out.json").read_text()), strict=True))


def alone(said: dict[str, Any]) -> dict[str, Any]:
    """The same on one device: the whole batch, and the rate that the devices had."""
    run = Run.model_validate(BASE | said)
    same = {**BASE, **said, "devices": 1, "batch": run.global_batch, "lr": run.peak_lr, "lr_scale": "none"}
    return _alone(Run.model_validate({**same, "batch_mode": "global", "strategy": "ddp", "sync_batch_norm": False}))


@functools.cache
def _alone(run: Run) -> dict[str, Any]:
    torch.set_num_threads(1)
    return trained(run)


def test_every_strategy_is_held_to_one_device():
    assert {Run.model_validate(BASE | said).strategy.name for said in EXACT.values()} == set(TABLE["strategy"])


@pytest.mark.parametrize("name", EXACT)
def test_several_devices_learn_what_one_learns(name, spread):
    same(spread[name], alone(EXACT[name]))


@pytest.mark.parametrize("name", THREE)
def test_more_devices_than_tensors_learn_what_one_learns(name, three):
    same(three[name], alone(THREE[name]))


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found["status"] == expected["status"] == "done"
    for ours, theirs in zip(found["rows"], expected["rows"], strict=True):
        assert (ours["step"], ours["examples"]) == (theirs["step"], theirs["examples"])
        assert ours["lr"] == pytest.approx(theirs["lr"])
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-6)
        assert (ours["train_loss"] or 0) == pytest.approx(theirs["train_loss"] or 0, rel=1e-6)
        assert (ours["accuracy"], ours["train_accuracy"]) == (theirs["accuracy"], theirs["train_accuracy"])


@pytest.mark.parametrize("name", NEAR)
def test_what_is_not_the_same_learns_too(name, spread):
    found, expected = spread[name]["rows"], alone(NEAR[name])["rows"]
    assert found[0]["loss"] == pytest.approx(expected[0]["loss"], rel=1e-5)
    assert found[-1]["train_loss"] < found[1]["train_loss"] or found[-1]["loss"] < found[0]["loss"]
    assert found[-1]["loss"] != expected[-1]["loss"]


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_off_goes_on_as_if_it_were_not(name, spread):
    """Of batch norms every device has its own statistics."""
    assert spread[BROKEN[name]]["rows"] == spread[name]["rows"]


def test_the_noise_of_gradients_is_that_of_the_devices_parts(spread):
    run = Run.model_validate({**BASE, **NOISE, "devices": 1})
    *small, big = first_norms(run, pictures(), [slice(0, None, 2), slice(1, None, 2), slice(None)])
    before, found = spread["noise"]["extras"][:2]
    assert before == {}
    assert (found["noise_small_batch"], found["noise_big_batch"]) == (10, 20)
    assert found["noise_small_norm2"] == pytest.approx(sum(small) / 2)
    assert found["noise_big_norm2"] == pytest.approx(big)


def test_of_gradients_of_low_rank_no_noise_is_measured(spread):
    assert any(spread["ddp"]["extras"])
    assert not any(spread["powersgd"]["extras"])


def test_waiting_for_the_others_is_told_apart(spread):
    for found in spread.values():
        assert sum(found["phases"].values()) <= found["seconds"] * (1 + 1e-9)
        assert found["imbalance"] >= 0
    assert spread["ddp"]["phases"]["exchange"] > 0
    whole, half = spread["ddp"]["sent"], spread["fp16"]["sent"]
    assert whole == 4 * half > 0  # 8 bytes a number against 2
    assert spread["powersgd"]["sent"] < half * 2
