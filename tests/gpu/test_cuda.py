"""What can only be seen on a GPU: runs wherever torch finds one, and says why it does not elsewhere."""

import itertools

import pytest
import torch

from paceline.data.batches import Composition
from paceline.data.dataset import Dataset
from paceline.data.memory import Memory
from paceline.data.show import IMAGENET, Look
from paceline.data.streamed import Streamed, fits
from paceline.spec import Run
from paceline.spec.run import Augment
from paceline.train import device
from paceline.train.gauge import Gauge
from paceline.train.hardware import lacking
from paceline.train.loop import train
from paceline.train.probe import probe
from paceline.train.rows import Outcome, Row, Spent
from tests.pictures import coloured

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device here")


@pytest.fixture(scope="module")
def colours() -> Dataset:
    return coloured(96, 24, 24)


def run_of(**said) -> Run:
    base = {"data": "cifar10", "model": "lab_cnn", "optimizer": "adam", "lr": 1e-3, "batch": 16, "epochs": 3}
    return Run(**base | {"device": "cuda"} | said)


def last(run: Run, data: Dataset, **how) -> tuple[Row, Outcome]:
    items = list(train(run, data, **how))
    return [item for item in items if isinstance(item, Row)][-1], items[-1]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"loader": {"workers": 2, "pin_memory": True}},
        {"accumulate": 4},
        {"channels_last": False},
        {"fused": True},
        {"augment": {"flip": True, "crop": 2}},
    ],
)
def test_the_gpu_learns_what_the_cpu_learns(said, colours):
    said = {"model": {"name": "lab_cnn", "dropout": 0.0}} | said  # each device draws masks of its own
    ours, _ = last(run_of(**said), colours)
    theirs, _ = last(run_of(**said | {"device": "cpu", "loader": 2 if "loader" in said else "memory"}), colours)
    assert ours.loss == pytest.approx(theirs.loss, rel=1e-2)


@pytest.mark.parametrize("name", ["tf32", "bf16", "fp16"])
def test_every_precision_that_the_gpu_has_learns(name, colours):
    run = run_of(precision=name, epochs=6)
    if reason := lacking(run, 1):
        pytest.skip(reason)
    row, outcome = last(run, colours)
    assert outcome.status == "done"
    assert row.accuracy > 0.5


@pytest.mark.filterwarnings("default")
def test_a_compiled_model_learns_the_same(colours):
    row, outcome = last(run_of(compile=True), colours)
    assert row.loss == pytest.approx(last(run_of(), colours)[0].loss, rel=1e-2)
    assert outcome.speed.compile_seconds > 0


@pytest.mark.parametrize("augment", [None, Augment(flip="horizontal", crop=2, cutout=3)])
def test_a_set_that_stays_in_memory_gives_the_batches_of_one_that_does_not(augment, colours):
    gpu, look = device.resolve("cuda"), Look(None, *IMAGENET)
    composition = Composition(run_of(augment=augment), len(colours.train))
    streamed = Streamed(colours.train, gpu, torch.float32, True, look, augment).batches(composition, 3)
    held = Memory(colours.train, gpu, torch.float32, True, look, augment).batches(composition, 3)
    assert fits(colours.train, gpu, torch.float32)
    for (batch, x, y), (also, other_x, other_y) in itertools.islice(zip(streamed, held, strict=False), 20):
        assert batch.step == also.step
        torch.testing.assert_close(x, other_x)
        assert torch.equal(y, other_y)


def test_time_is_split_by_the_devices_own_events(colours):
    items = list(train(run_of(epochs=20), colours, timed=True))
    spent = [item for item in items if isinstance(item, Spent)][-1]
    assert 0 < sum(spent.phases.values()) <= spent.seconds * (1 + 1e-9)
    assert spent.phases["forward"] > 0
    assert spent.phases["backward"] > 0
    assert spent.usage.allocated_bytes > 0
    assert spent.usage.device_bytes >= spent.usage.device_used_bytes >= spent.usage.reserved_bytes
    assert all(found.flops > 1e11 for found in items[-1].speed.probes)


def test_gauges_and_probes_of_a_gpu():
    gpu = device.resolve("cuda")
    usage = Gauge(gpu, 1).read()
    assert usage.device_bytes > 0
    assert usage.utilisation is None or 0 <= usage.utilisation <= 1
    found = probe("fp32", gpu)
    assert found.call_seconds < 1e-3
