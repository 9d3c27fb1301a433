"""Profiles: marks become steps, steps become medians; and a real run's, alone and by two processes."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from paceline.spec import Run
from paceline.train.parallel import beat, profile
from paceline.train.parallel.profile import ARRIVED, MET, UPDATED, Marks, jitter, steps_of, summed
from tests.train.parallel.together import pictures

RUN = Run(data="synthetic", model="lab_cnn", optimizer="adam", lr=1.0, batch=8, steps=3, device="cpu", threads=1)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)


def marks(steps: int, *, parts: int = 1, optimizers: int = 1) -> Marks:
    """Each step: update 2, forward 10 a part, gradients of 1 and 0 after 0 and 4, clipping 1; then a wait of 3."""
    made: Marks = []
    now = 0.0
    for _ in range(steps):
        for _ in range(parts):
            made += [(1, now := now + 10), (0, now := now + 4)]
        made += [(ARRIVED, now := now + 1), (MET, now := now + 3)]
        made += [(UPDATED, now := now + 2 / optimizers) for _ in range(optimizers)]
    return made


def test_a_step_by_hand():
    found = steps_of(marks(profile.WARM_UP + 2))
    assert len(found) == 2
    for step in found:
        assert step.forward_seconds == pytest.approx(10)
        assert [which for which, _ in step.gradients] == [1, 0]
        assert [gap for _, gap in step.gradients] == pytest.approx([0, 4])
        assert step.optimizer_seconds == pytest.approx(2 + 1)  # clipping follows the gradients too
        assert step.work == pytest.approx(2 + 10 + 4 + 1)  # without the wait


def test_parts_of_a_batch_but_the_last_belong_to_the_rest():
    parts, whole = steps_of(marks(7, parts=3))[0], steps_of(marks(7))[0]
    assert parts.gradients == whole.gradients
    assert parts.forward_seconds == pytest.approx(10 + 2 * 14)


def test_two_optimizers_are_one_update():
    assert dataclasses.astuple(steps_of(marks(7, optimizers=2))[0])[2:] == pytest.approx((3.0, 17.0))


def test_medians_and_sizes_are_in_the_order_of_the_gradients():
    steps = [
        dataclasses.replace(step, work=17.0 + extra) for step, extra in zip(steps_of(marks(8)), (0, 1, 90), strict=True)
    ]
    found = summed(steps, [nn.Parameter(torch.zeros(2, 3)), nn.Parameter(torch.zeros(5))], 8, 0.1)
    assert found.gradient_bytes == (20, 24)
    assert found.shapes == ((5,), (2, 3))
    assert found.backward_seconds == pytest.approx((0, 4))
    assert found.step_seconds == pytest.approx(18)
    assert found.forward_seconds == pytest.approx(18 - 4 - 3)
    assert (found.batch, found.jitter) == (8, 0.1)


def test_jitter_is_by_how_much_the_slower_of_two_exceeds_the_mean():
    draws = torch.randn(2, 4000, generator=torch.Generator().manual_seed(0)) * 0.1 + 1
    assert jitter(draws.tolist()) == pytest.approx(0.1, rel=0.2)  # a median, where the law is of the mean
    assert jitter([[1.0, 2.0]]) == 0


@pytest.mark.parametrize("said", [{}, {"accumulate": 2}, {"epochs": 1, "steps": None}], ids=str)
def test_a_real_run_is_taken_apart(said):
    data = pictures()
    before = torch.random.get_rng_state()
    found = profile.profile(RUN.model_copy(update=said), data, 6, 0.0, cores=1)
    assert len(found.gradient_bytes) == 8
    assert found.shapes[-1] in [(32,), (32, 1, 5, 5)]  # the first layer is the last to have its gradients
    assert found.shapes[0] in [(3,), (3, 1024)]
    assert min(found.backward_seconds) >= 0
    assert min(found.forward_seconds, found.optimizer_seconds) > 0
    assert (found.batch, found.jitter) == (6, 0.0)
    assert len(before) == len(torch.random.get_rng_state())


def test_no_hook_is_left_behind():
    from torch.optim import optimizer

    profile.profile(RUN, pictures(), 4, 0.0, cores=1)
    assert not optimizer._global_optimizer_pre_hooks
    assert not optimizer._global_optimizer_post_hooks


SCRIPT = """
import dataclasses, json, sys
import torch
from paceline.spec import Run
from paceline.train.parallel.link import exchanges
from paceline.train.parallel.profile import profile, step_seconds
from paceline.train.parallel.team import gathered
from tests.train.parallel.together import pictures

torch.set_num_threads(1)
base = json.loads(sys.argv[1])
with gathered("cpu", 2) as team:
    found = {}
    for compress in ("none", "fp16", "powersgd"):
        run = Run.model_validate({**base, "strategy": {"name": "ddp", "compress": compress}})
        found[compress] = dataclasses.asdict(profile(run, pictures(), 4, 0.0, team, cores=1))
    found["steps"] = step_seconds(run, pictures(), 0.0, team, cores=1)
    found["sent"] = exchanges(team, torch.device("cpu"), ("none", "bf16"), (1024, 2**18), 0.01)
    if team.first:
        print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def by_two(tmp_path_factory):
    file = tmp_path_factory.mktemp("two") / "two.py"
    file.write_text(SCRIPT)
    said = {"data": "synthetic", "model": "lab_cnn", "optimizer": "adam", "lr": 1.0, "batch": 8, "steps": 3,
            "device": "cpu", "threads": 1, "devices": 2}  # fmt: skip
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    done = subprocess.run(
        [*torchrun, "--rdzv-endpoint=localhost:0", str(file), json.dumps(said)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**__import__("os").environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("compress", ["none", "fp16", "powersgd"])
def test_two_devices_are_profiled_side_by_side(compress, by_two):
    found = by_two[compress]
    assert len(found["gradient_bytes"]) == 8
    assert found["batch"] == 4
    assert found["jitter"] >= 0
    assert min(found["forward_seconds"], found["optimizer_seconds"]) > 0


def test_steps_and_messages_of_a_team_are_timed(by_two):
    assert len(by_two["steps"]) >= profile.FEWEST
    assert min(by_two["steps"]) > 0
    for kind in ("none", "bf16"):
        assert [size for size, _ in by_two["sent"][kind]] == [1024, 2**18]
        assert all(seconds > 0 for _, seconds in by_two["sent"][kind])
