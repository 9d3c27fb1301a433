import pytest
import torch

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.data.sources.synthetic import synthetic
from paceline.errors import DeviceError
from paceline.spec import Run
from paceline.train import checkpoint, precision
from paceline.train.loop import train
from paceline.train.parallel import beat
from paceline.train.rows import Pause, Row

CPU = torch.device("cpu")
HAS_BF16 = bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@pytest.fixture(scope="module")
def pictures() -> Dataset:
    return synthetic(Files.search(), examples=300, validation=50, test=100, shape=(1, 8, 8), classes=3, noise=0.5)


def run_of(**said) -> Run:
    base = {"data": "synthetic", "model": "lab_cnn", "optimizer": "adam", "lr": 1e-3, "batch": 30, "steps": 30}
    return Run(**base | {"device": "cpu"} | said)


def rows(run: Run, data: Dataset, **how) -> list[Row]:
    return [item for item in train(run, data, **how) if isinstance(item, Row)]


@pytest.mark.skipif(not HAS_BF16, reason="this CPU has no bf16 instructions")
def test_bf16_learns_as_fp32_does_up_to_its_rounding(pictures):
    mixed, plain = rows(run_of(precision="bf16"), pictures), rows(run_of(), pictures)
    assert mixed[-1].loss != plain[-1].loss
    assert mixed[-1].loss == pytest.approx(plain[-1].loss, abs=0.05)
    assert mixed[-1].accuracy == pytest.approx(plain[-1].accuracy, abs=0.03)


@pytest.mark.skipif(not HAS_BF16, reason="this CPU has no bf16 instructions")
def test_parameters_and_loss_stay_fp32(pictures, monkeypatch):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    pause = next(item for item in train(run_of(precision="bf16"), pictures) if isinstance(item, Pause))
    state = pause.snapshot()
    assert {value.dtype for value in state["model"].values()} == {torch.float32}
    assert state["position"]["loss_sum"].dtype == torch.float32


@pytest.mark.skipif(not HAS_BF16, reason="this CPU has no bf16 instructions")
def test_a_checkpoint_of_mixed_precision_goes_on_to_the_same_rows(pictures, monkeypatch, tmp_path):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    run = run_of(precision="bf16")
    whole = rows(run, pictures)
    pauses = (item for item in train(run, pictures) if isinstance(item, Pause) and item.step == 11)
    checkpoint.save(tmp_path / "kept", next(pauses).snapshot())
    rest = rows(run, pictures, resume=checkpoint.load(tmp_path / "kept"))
    assert [row.loss for row in rest] == [row.loss for row in whole][-len(rest) :]


@pytest.mark.parametrize("name", ["tf32", "fp16"])
def test_what_a_cpu_lacks_is_refused_before_training(name, pictures):
    with pytest.raises(DeviceError, match=f"precision: {name}, but a CPU has no {name}"):
        next(train(run_of(precision=name), pictures))


def test_bf16_is_refused_where_it_would_be_emulated(monkeypatch):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    with pytest.raises(DeviceError, match="would emulate it"):
        precision.check("bf16", CPU)


@pytest.mark.parametrize(("capability", "refused"), [((7, 5), ["tf32", "bf16"]), ((8, 0), [])])
def test_gpus_older_than_ampere_have_neither_tf32_nor_bf16(capability, refused, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    for name in ("fp32", "fp64", "fp16", "tf32", "bf16"):
        if name in refused:
            with pytest.raises(DeviceError, match="older than Ampere"):
                precision.check(name, torch.device("cuda"))
        else:
            precision.check(name, torch.device("cuda"))
