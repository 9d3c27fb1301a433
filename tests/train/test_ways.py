"""The ways to compute one training: loaders, parts of a batch, layouts, compiled, fused, threads. The result is one."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

from paceline.data.dataset import Dataset, Split
from paceline.data.locate import Files
from paceline.data.sources.synthetic import synthetic
from paceline.errors import StudyError
from paceline.spec import Run
from paceline.train import checkpoint
from paceline.train.loop import train
from paceline.train.parallel import beat
from paceline.train.rows import Outcome, Pause, Row, Spent


@pytest.fixture(scope="module")
def pictures() -> Dataset:
    return synthetic(Files.search(), examples=90, validation=20, test=30, shape=(1, 8, 8), classes=3, noise=0.5)


@pytest.fixture(scope="module")
def colours() -> Dataset:
    draw = torch.Generator().manual_seed(1)

    def split(count: int) -> Split:
        x = torch.randint(0, 256, (count, 3, 12, 12), generator=draw, dtype=torch.uint8)
        return Split(x, torch.randint(0, 3, (count,), generator=draw))

    return Dataset("colours", split(40), split(12), split(12), 3, "sha256:colours", names=("r", "g", "b"))


def run_of(**said) -> Run:
    base = {"data": "synthetic", "model": "lab_cnn", "optimizer": "adam", "lr": 1e-3, "batch": 20, "epochs": 2}
    return Run(**base | {"device": "cpu", "precision": "fp64"} | said)


def rows(run: Run, data: Dataset, **how) -> list[Row]:
    return [item for item in train(run, data, **how) if isinstance(item, Row)]


def same(one: list[Row], other: list[Row], rel: float = 1e-9) -> None:
    assert [row.step for row in one] == [row.step for row in other]
    for a, b in zip(one, other, strict=True):
        assert a.loss == pytest.approx(b.loss, rel=rel)
        assert (a.train_loss or 0) == pytest.approx(b.train_loss or 0, rel=rel)
        assert a.train_accuracy == b.train_accuracy


@pytest.mark.parametrize("loader", [{"workers": 0}, {"workers": 2}, {"workers": 1, "persistent": False}])
def test_a_loader_changes_no_result(loader, colours):
    said = {"model": {"name": "squeezenet1_1", "stem": "small"}, "batch": 16, "augment": {"flip": True, "crop": 2}}
    same(rows(run_of(**said, loader=loader), colours), rows(run_of(**said), colours))


def test_a_run_with_workers_goes_on_from_a_checkpoint(colours, monkeypatch, tmp_path):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    run = run_of(model="lab_cnn", batch=16, loader=1, augment={"flip": True})
    whole = list(train(run, colours))
    pause = [item for item in whole if isinstance(item, Pause)]
    items = train(run, colours)
    for item in items:
        if isinstance(item, Pause) and item.step == 2:
            checkpoint.save(tmp_path / "c", item.snapshot())
            items.close()
            break
    rest = list(train(run, colours, resume=checkpoint.load(tmp_path / "c")))
    assert len(pause) > 2
    same([item for item in rest if isinstance(item, Row)], [i for i in whole if isinstance(i, Row)][1:])


@pytest.mark.parametrize("parts", [2, 3, 20])
@pytest.mark.parametrize("loss", ["softmax_ce", "sigmoid_ce"])
def test_gradients_of_parts_add_up_to_those_of_the_batch(parts, loss, pictures):
    said = {"loss": loss, "clip_norm": 0.5}
    same(rows(run_of(**said, accumulate=parts), pictures), rows(run_of(**said), pictures), rel=1e-7)


def test_a_sum_of_parts_is_a_sum():
    data = synthetic(Files.search(), examples=40, validation=0, test=10, shape=(3,), classes=2)
    values = Dataset(
        "values",
        Split(data.train.x, data.train.x[:, :1]),
        None,
        Split(data.test.x, data.test.x[:, :1]),
        None,
        "sha256:v",
    )
    said = {"model": "mlp", "loss": "sum_squares", "optimizer": "gd", "lr": 1e-3}
    one, parts = (rows(run_of(**said, accumulate=n), values) for n in (1, 4))
    assert one[-1].loss == pytest.approx(parts[-1].loss, rel=1e-8)


def test_a_loss_that_needs_the_whole_batch_is_refused_in_parts(pictures):
    with pytest.raises(StudyError, match="weighted_kappa has to see a batch whole"):
        rows(run_of(loss="weighted_kappa", accumulate=2), pictures)


@pytest.mark.parametrize("said", [{"channels_last": False}, {"fused": False}, {"fused": True}, {"threads": 1}])
def test_layout_kernels_and_threads_change_rounding_alone(said, pictures):
    before = torch.get_num_threads()
    same(rows(run_of(**said), pictures), rows(run_of(), pictures), rel=1e-7)
    torch.set_num_threads(before)


def test_a_fused_update_that_torch_lacks_is_refused(pictures):
    with pytest.raises(StudyError, match="no fused update that is lion"):
        rows(run_of(optimizer="lion", fused=True), pictures)


BATCHED = """
import json
import sys
from pathlib import Path

import torch
from torch import nn

from paceline.data.dataset import Dataset, Split
from paceline.models.dropout import Dropout
from paceline.spec import Run
from paceline.train.loop import train
from paceline.train.rows import Row


class Batched(nn.Module):
    def __init__(self, input_shape, outputs):
        super().__init__()
        self.norm, self.dropout, self.dense = nn.BatchNorm2d(3), Dropout(0.3), nn.Linear(432, outputs)

    def forward(self, x):
        return self.dense(self.dropout(self.norm(x).flatten(1)))


def split(count):
    draw = torch.Generator().manual_seed(count)
    x = torch.randint(0, 256, (count, 3, 12, 12), generator=draw, dtype=torch.uint8)
    return Split(x, torch.randint(0, 3, (count,), generator=draw))


if __name__ == "__main__":
    data = Dataset("colours", split(40), None, split(12), 3, "sha256:colours", names=("r", "g", "b"))
    said = {"data": "cifar10", "model": "compiled_net:Batched", "optimizer": "gd", "lr": 1e-3, "batch": 20, "epochs": 2}
    found = []
    for compile in (False, True):
        items = list(train(Run(**said, device="cpu", compile=compile), data, Path.cwd(), timed=True))
        losses = [item.loss for item in items if isinstance(item, Row)]
        found.append({"losses": losses, "seconds": items[-1].speed.compile_seconds, "flops": items[-1].speed.work.flops})
    print(json.dumps(found))
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_compiled_model_learns_the_same_and_its_compiling_is_timed_apart(tmp_path):
    """The trial batches that it is compiled with leave no trace, not even in a batch norm. In a process of its own:
    torch's compiler changes what others find imported."""
    (tmp_path / "compiled_net.py").write_text(BATCHED)
    done = subprocess.run(
        [sys.executable, "compiled_net.py"], cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    plain, compiled = json.loads(done.stdout.splitlines()[-1])
    assert compiled["losses"] == pytest.approx(plain["losses"], rel=1e-4)
    assert compiled["seconds"] > 0.05
    assert plain["seconds"] == 0
    assert compiled["flops"] == plain["flops"] > 0


def test_the_time_is_split_and_the_parts_stay_within_the_whole(colours):
    items = list(train(run_of(batch=8, loader=1, precision="fp32"), colours, timed=True))
    spent = [item for item in items if isinstance(item, Spent)]
    assert spent[-1].step == items[-1].step
    for item in spent:
        assert 0 < sum(item.phases.values()) <= item.seconds * (1 + 1e-9)
        assert all(seconds >= 0 for seconds in item.phases.values())
        assert item.phases["loader"] > 0
        assert item.phases["copy"] > 0
    speed = items[-1].speed
    assert speed.work.flops > 0
    assert speed.telemetry_share < 0.05
    assert all(probe.flops > 0 for probe in speed.probes)


def test_a_run_that_is_not_timed_is_not_probed(pictures):
    items = list(train(run_of(), pictures))
    assert isinstance(items[-1], Outcome)
    assert (items[-1].speed.probes, items[-1].speed.work) == (None, None)
