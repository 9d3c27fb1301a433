from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from paceline.errors import DataError, StudyError
from paceline.train.weights import load, read


def network(outputs: int = 3) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, outputs))


def write(model: nn.Module, path: Path) -> Path:
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()}
    if path.suffix == ".safetensors":
        save_file(tensors, path)
    elif path.suffix == ".npz":
        np.savez(path, **{name: value.numpy() for name, value in tensors.items()})
    else:
        torch.save(tensors, path)
    return path


@pytest.mark.parametrize("name", ["w.safetensors", "w.npz", "w.pth"])
def test_every_format_gives_the_same_network(name, tmp_path):
    source, target = network(), network()
    fit = load(target, read(write(source, tmp_path / name)), target[2], tmp_path / name)
    assert fit.missing == ()
    x = torch.rand(7, 4)
    assert torch.equal(source.eval()(x), target.eval()(x))


def test_a_head_of_another_size_is_left_as_it_was(tmp_path):
    target = network(7)
    before = target[2].weight.clone()
    source = network(3)
    fit = load(target, read(write(source, tmp_path / "w.pth")), target[2], tmp_path / "w.pth")
    assert fit.missing == ()
    assert torch.equal(target[2].weight, before)
    assert torch.equal(target[0].weight, source[0].weight)


def test_half_precision_becomes_the_networks_own(tmp_path):
    target = network()
    load(target, read(write(network().half(), tmp_path / "w.safetensors")), target[2], tmp_path)
    assert target[0].weight.dtype == torch.float32


def test_what_the_file_lacks_is_named(tmp_path):
    tensors = {"0.weight": torch.zeros(5, 4), "0.bias": torch.zeros(5)}
    target = network()
    assert load(target, tensors, target[2], tmp_path).missing == (
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
    )


def test_what_does_not_fit_is_refused_with_the_name_and_both_shapes(tmp_path):
    target = network()
    with pytest.raises(StudyError, match=r"0\.weight is \(5, 9\) there and \(5, 4\) here"):
        load(target, {"0.weight": torch.zeros(5, 9)}, target[2], tmp_path)
    with pytest.raises(StudyError, match=r"it has conv1\.weight, the model has none such"):
        load(target, {"conv1.weight": torch.zeros(2)}, target[2], tmp_path)


class Evil:
    def __reduce__(self):
        return (print, ("run",))


def test_code_in_a_file_is_never_run(tmp_path, capsys):
    torch.save({"0.weight": Evil()}, tmp_path / "w.pth")
    with pytest.raises(DataError, match="more than tensors"):
        read(tmp_path / "w.pth")
    np.savez(tmp_path / "w.npz", a=np.array([Evil()], dtype=object))
    with pytest.raises(DataError, match="cannot be read as weights"):
        read(tmp_path / "w.npz")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["w.safetensors", "w.npz", "w.pth"])
def test_a_broken_file_is_said_to_be_one(name, tmp_path):
    (tmp_path / name).write_bytes(b"no weights at all")
    with pytest.raises(DataError, match="cannot be read as weights"):
        read(tmp_path / name)


def test_old_names_of_densenet_are_todays(tmp_path):
    save_file({"features.denseblock1.denselayer2.norm.1.weight": torch.zeros(2)}, tmp_path / "d.safetensors")
    assert list(read(tmp_path / "d.safetensors")) == ["features.denseblock1.denselayer2.norm1.weight"]
