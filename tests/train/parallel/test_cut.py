"""Where a model is cut: devices have about the same arithmetic, and together they are the model."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from paceline.errors import StudyError
from paceline.models.lab_cnn import LabCNN
from paceline.models.mobilenet import MobileNetV2
from paceline.models.softmax import Softmax
from paceline.train.parallel.cut import cut
from paceline.train.threads import multiply_adds

IMAGE = torch.rand(1, 1, 28, 28)


def arithmetic(stages: list[nn.Module], x: Tensor) -> list[int]:
    found = []
    for stage in stages:
        found.append(multiply_adds(stage, x))
        x = stage.eval()(x)
    return found


def test_devices_have_about_the_same_arithmetic():
    first, second = arithmetic(cut(LabCNN((1, 28, 28), 10, dropout=0.5, init="torch"), IMAGE, 2), IMAGE)
    assert first == 25 * 32 * 784 + 25 * 32 * 64 * 196  # its convolutions, where a cut leaves the least to the busier
    assert second == 3137 * 1024 + 1025 * 10  # of dense layers alone, the biases count
    picture = torch.rand(1, 3, 64, 64)
    each = arithmetic(cut(MobileNetV2((3, 64, 64), 10, stem="imagenet"), picture, 4), picture)
    assert max(each) < 1.5 * sum(each) / 4


@pytest.mark.parametrize("count", [2, 3, 4])
def test_what_is_cut_is_the_model(count):
    model = LabCNN((1, 28, 28), 10, dropout=0.5, init="torch").eval()
    stages = cut(model, IMAGE, count)
    assert len(stages) == count
    assert all(any(True for _ in stage.parameters()) for stage in stages)
    assert torch.equal(nn.Sequential(*stages)(IMAGE), model(IMAGE))


class _Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.same, self.out = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.out(self.same(self.same(x).relu()).relu())
        return answer


class _Asks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.two(F.dropout(self.one(x), 0.5, self.training))
        return answer


def test_a_model_that_asks_whether_it_trains_is_refused():
    model = _Asks().eval()
    with pytest.raises(StudyError, match=r"self\.training"):
        cut(model, torch.rand(1, 8), 2)
    assert not model.training


def test_a_layer_that_is_used_twice_stays_on_one_device():
    first, second = cut(_Twice(), torch.rand(1, 8), 2)
    assert [p.numel() for p in first.parameters()] == [64, 8]
    assert [p.numel() for p in second.parameters()] == [24, 3]


@pytest.mark.parametrize(("model", "count"), [(Softmax((1, 28, 28), 10, init="zeros"), 2), (_Twice(), 3)])
def test_a_device_without_a_parameter_is_refused(model, count):
    x = IMAGE if isinstance(model, Softmax) else torch.rand(1, 8)
    with pytest.raises(StudyError, match=f"cannot be cut into {count} parts"):
        cut(model, x, count)
