import pytest
import torch

from paceline.data.dataset import Dataset, Split
from paceline.data.memory import Memory
from paceline.data.show import IMAGENET, Look
from paceline.errors import StudyError
from paceline.spec import Run
from paceline.train.look import levels, look

CPU = torch.device("cpu")


def dataset(channels: int = 3, dtype: torch.dtype = torch.uint8) -> Dataset:
    x = torch.randint(0, 256, (40, channels, 8, 6), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    x = x if dtype == torch.uint8 else x.to(dtype) / 255
    split = Split(x, torch.zeros(40, dtype=torch.int64))
    return Dataset("d", split, None, split, 2, "")


def run_of(**said) -> Run:
    return Run(**{"data": "cifar10", "model": "softmax", "optimizer": "gd", "lr": 0.1, "steps": 1} | said)


def test_colour_images_are_shown_with_mean_0_and_deviation_1_by_their_own_levels():
    data = dataset()
    shown = Memory(data.train, CPU, torch.float32, True, look(run_of(), data)).chunk(0, 40)
    assert torch.allclose(shown.mean((0, 2, 3)), torch.zeros(3), atol=1e-5)
    assert torch.allclose(shown.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-4)


def test_with_weights_they_are_shown_as_imagenets_were():
    data = dataset()
    mean, deviation = (torch.tensor(level).view(1, 3, 1, 1) for level in IMAGENET)
    for channels_last in (True, False):
        shown = Memory(data.train, CPU, torch.float32, channels_last, look(run_of(weights="w.pth"), data)).chunk(0, 40)
        assert torch.allclose(shown, (data.train.x.float() / 255 - mean) / deviation, atol=1e-5)
        assert shown.is_contiguous() != channels_last


def test_others_are_shown_from_0_to_1():
    grey = dataset(1)
    assert look(run_of(), grey) == Look()
    assert torch.allclose(Memory(grey.train, CPU, torch.float32, False).chunk(0, 40), grey.train.x.float() / 255)
    floats = dataset(1, torch.float32)
    assert look(run_of(), floats) == Look()
    assert torch.equal(Memory(floats.train, CPU, torch.float32, False).chunk(0, 40), floats.train.x)


def test_levels_are_those_of_the_training_images():
    data = dataset(3, torch.float32)
    mean, deviation = levels(data)
    assert mean == pytest.approx(data.train.x.mean((0, 2, 3)).tolist(), abs=1e-6)
    assert deviation == pytest.approx(data.train.x.std((0, 2, 3), correction=0).tolist(), abs=1e-6)


def test_images_are_scaled_to_the_side_that_was_said():
    data = dataset()
    for side in (4, 8, 15):
        memory = Memory(data.train, CPU, torch.float32, True, look(run_of(image_size=side), data))
        assert memory.chunk(0, 5).shape == (5, 3, side, side)
        assert memory.gather(torch.tensor([3, 1]))[0].shape == (2, 3, side, side)
    even = Split(torch.full((2, 3, 8, 6), 51, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64))
    assert torch.allclose(Memory(even, CPU, torch.float32, True, Look(5)).chunk(0, 2), torch.tensor(0.2))


@pytest.mark.parametrize("said", [{"image_size": 9}, {"augment": {"flip": True}}, {"normalize": "data"}])
def test_what_is_for_images_is_refused_for_others(said):
    split = Split(torch.rand(4, 5), torch.zeros(4, dtype=torch.int64))
    with pytest.raises(StudyError, match="this is for images"):
        look(run_of(**said), Dataset("d", split, None, split, 2, ""))


def test_a_gathered_batch_is_what_evaluation_sees():
    data = dataset()
    for dtype in (torch.uint8, torch.float32):
        memory = Memory(dataset(3, dtype).train, CPU, torch.float32, True, look(run_of(normalize="data"), data))
        gathered = memory.gather(torch.tensor([7, 2]))[0].clone()
        assert torch.equal(gathered, memory.chunk(0, 40)[[7, 2]])
