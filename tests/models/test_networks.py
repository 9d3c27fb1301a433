"""The image networks: torchvision's names and shapes, two halves, what they refuse, how they start, what they cost."""

import hashlib
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from paceline.data.locate import Files
from paceline.models.dropout import Dropout
from paceline.models.image_network import ImageNetwork
from paceline.models.mobilenet import MobileNetV2
from paceline.models.resnet import ResNet18
from paceline.models.squeezenet import SqueezeNet10, SqueezeNet11
from paceline.plan.cost import _MODELS as COSTS
from paceline.plan.cost import check_size
from paceline.spec import Run
from paceline.spec.argument import ArgumentError
from paceline.spec.parts import TABLE

# parameters for 1000 classes, and a digest of all names and shapes, both of torchvision's networks
PUBLISHED = {
    "alexnet": (61_100_840, "935c1ea73a7869ee"),
    "vgg16_bn": (138_365_992, "86bad13b66635552"),
    "vgg19": (143_667_240, "393fac8b08b63fbe"),
    "vgg19_bn": (143_678_248, "faf0fdbb92f698c6"),
    "resnet18": (11_689_512, "5191d63ec3989592"),
    "resnet50": (25_557_032, "a87e91cd6bd1f939"),
    "squeezenet1_0": (1_248_424, "142983e4c19c76ad"),
    "squeezenet1_1": (1_235_496, "3fbd2a746421cada"),
    "densenet121": (7_978_856, "9c659ec278435e95"),
    "mobilenet_v2": (3_504_872, "e3eb10f890f74c6e"),
}
NAMES = tuple(PUBLISHED)
STEMS = {"imagenet": 224, "small": 32}
LEFT_OF_32 = {"alexnet": 3, "resnet18": 4, "resnet50": 4, "squeezenet1_0": 8, "squeezenet1_1": 8, "densenet121": 4, "mobilenet_v2": 4}  # fmt: skip
DROPOUTS = {"alexnet": 2, "vgg16_bn": 2, "vgg19": 2, "vgg19_bn": 2, "squeezenet1_0": 1, "squeezenet1_1": 1, "densenet121": 58, "mobilenet_v2": 1}  # fmt: skip


def network(name: str) -> type[ImageNetwork]:
    module, _, attribute = TABLE["model"][name].path.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    assert issubclass(found, ImageNetwork)
    return found


def weightless(name: str, side: int = 224, outputs: int = 1000, channels: int = 3, **said) -> ImageNetwork:
    """Shapes without numbers: it costs nothing to build or to run."""
    with torch.device("meta"):
        return network(name)((channels, side, side), outputs, **said).eval()


def images(count: int, side: int, channels: int = 3) -> Tensor:
    return torch.empty(count, channels, side, side, device="meta")


def digest(model: nn.Module) -> str:
    lines = sorted(f"{name} {tuple(value.shape)}" for name, value in model.state_dict().items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def test_the_table_has_these_networks():
    classes = {name for name, entry in TABLE["model"].items() if "stem" in entry.args}
    assert classes == set(NAMES)
    assert all(network(name).name == name for name in NAMES)
    assert not any(TABLE["model"][name].stacks for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_the_published_ones(name):
    model = weightless(name)
    assert (sum(p.numel() for p in model.parameters()), digest(model)) == PUBLISHED[name]
    assert model(images(2, 224)).shape == (2, 1000)


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("name", NAMES)
def test_the_head_holds_what_classify_uses_and_nothing_else(name, stem):
    model = weightless(name, side=64, outputs=7, stem=stem)
    features = model.embed(images(2, 64))
    features.sum().backward()
    base = {key for key, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    outputs = model.classify(features.detach())
    assert outputs.shape == (2, 7)
    outputs.sum().backward()
    used = {key for key, p in model.named_parameters() if p.grad is not None}
    held = {id(p) for p in model.head.parameters()}
    assert used == {key for key, p in model.named_parameters() if id(p) in held} != set()
    assert base == {key for key, _ in model.named_parameters()} - used


def test_the_two_halves_are_the_whole():
    x = torch.rand(3, 3, 32, 32)
    for model in (SqueezeNet11((3, 32, 32), 5), ResNet18((3, 32, 32), 5)):
        torch.testing.assert_close(model.eval()(x), model.classify(model.embed(x)))


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_image_is_just_large_enough(name, stem):
    least = network(name).smallest[stem]
    model = weightless(name, side=least, outputs=7, channels=2, stem=stem)
    assert model(images(2, least, channels=2)).shape == (2, 7)
    if least > 1:
        with pytest.raises(RuntimeError):
            model(images(2, least - 1, channels=2))
        with pytest.raises(ValueError, match=f"at least {least} x {least} pixels, not {least} x {least - 1}"):
            network(name)((2, least, least - 1), 7, stem=stem)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_image_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} takes images"):
        network(name)((3072,), 7)
    with pytest.raises(ValueError, match=r"unknown stem 'tiny'.*Allowed: imagenet, small"):
        network(name)((3, 64, 64), 7, stem="tiny")


@pytest.mark.parametrize("name", LEFT_OF_32)
def test_the_small_stem_leaves_out_two_halvings(name):
    def last_side(stem: str, side: int) -> int:
        model, seen = weightless(name, side=side, stem=stem), []
        for layer in model.modules():
            if isinstance(layer, nn.Conv2d) and not any(layer is mine for mine in model.head.modules()):
                layer.register_forward_hook(lambda layer, given, output: seen.append(output.shape[-1]))
        model(images(1, side))
        return seen[-1] // 2 if name == "alexnet" else seen[-1]  # a pool follows

    assert last_side("small", 32) == LEFT_OF_32[name]
    assert last_side("imagenet", 128) == pytest.approx(LEFT_OF_32[name], abs=1)


@pytest.mark.parametrize("name", NAMES)
def test_small_changes_only_the_first_convolution_and_the_first_dense_layer(name):
    def shapes(stem: str) -> dict[str, torch.Size]:
        return {key: value.shape for key, value in weightless(name, stem=stem).state_dict().items()}

    usual, small = shapes("imagenet"), shapes("small")
    assert usual.keys() == small.keys()
    first = {"alexnet": "features.0.weight", "squeezenet1_0": "features.0.weight", "resnet18": "conv1.weight", "resnet50": "conv1.weight", "densenet121": "features.conv0.weight"}.get(name)  # fmt: skip
    dense = {"alexnet": "classifier.1.weight", "vgg16_bn": "classifier.0.weight", "vgg19": "classifier.0.weight", "vgg19_bn": "classifier.0.weight"}.get(name)  # fmt: skip
    assert {key for key in usual if usual[key] != small[key]} == {first, dense} - {None}


@pytest.mark.parametrize("name", NAMES)
def test_dropout_is_our_own_and_where_the_original_has_it(name):
    entry = TABLE["model"][name]
    model = weightless(name)
    layers = [layer for layer in model.modules() if isinstance(layer, Dropout)]
    assert not any(isinstance(layer, nn.Dropout) for layer in model.modules())
    assert len(layers) == DROPOUTS.get(name, 0)
    assert ("dropout" in entry.args) == bool(layers)
    if layers:
        assert {layer.rate for layer in layers} == {entry.args["dropout"].default}
        assert {m.rate for m in weightless(name, dropout=0.3).modules() if isinstance(m, Dropout)} == {0.3}


def test_a_network_trains_and_its_dropout_follows_the_key():
    torch.manual_seed(0)
    model, x = SqueezeNet11((1, 28, 28), 3, stem="small"), torch.rand(4, 1, 28, 28)

    def outputs(key: int) -> Tensor:
        for layer in model.modules():
            if isinstance(layer, Dropout):
                layer.reseed(key)
        return model(x)

    torch.testing.assert_close(outputs(1), outputs(1))
    assert not torch.allclose(outputs(1), outputs(2))


def started(kind: type[ImageNetwork]) -> ImageNetwork:
    torch.manual_seed(5)
    return kind((3, 32, 32), 100)


def test_resnet_starts_as_he_did():
    model = started(ResNet18)
    block = model.get_submodule("layer4.1.conv2")
    assert block.weight.std().item() == pytest.approx((2 / (9 * 512)) ** 0.5, rel=0.01)
    assert model.fc.weight.abs().max().item() == pytest.approx(512**-0.5, rel=0.01)


def test_mobilenet_starts_as_published():
    model = started(MobileNetV2)
    assert model.get_submodule("features.18.0").weight.std().item() == pytest.approx((2 / 1280) ** 0.5, rel=0.01)
    assert model.head[1].weight.std().item() == pytest.approx(0.01, rel=0.01)
    assert not model.head[1].bias.any()


def test_squeezenet_starts_as_published():
    model = started(SqueezeNet10)
    wide = model.get_submodule("features.12.expand3x3")
    assert wide.weight.abs().max().item() == pytest.approx((6 / (64 * 9)) ** 0.5, rel=0.01)
    assert not wide.bias.any()
    assert model.head[1].weight.std().item() == pytest.approx(0.01, rel=0.02)


@pytest.fixture
def weights(request: pytest.FixtureRequest) -> Path:
    found = Files.search().seek("weights", request.param)
    if found is None:
        pytest.skip(f"weights/{request.param} is not on this machine: set $PACELINE_DATA")
    return found


@pytest.mark.parametrize("weights", ["mobilenet_v2-b0353104.pth"], indirect=True)
def test_official_mobilenet_weights_load(weights):
    model = MobileNetV2((3, 64, 64), 1000)
    model.load_state_dict(torch.load(weights, weights_only=True), strict=True)
    assert model.eval()(torch.rand(1, 3, 64, 64)).isfinite().all()


@pytest.mark.parametrize("weights", ["squeezenet1_0_deep_compressed.npz"], indirect=True)
def test_squeezenet_weights_load(weights):
    model = SqueezeNet10((3, 64, 64), 1000)
    with np.load(weights) as arrays:
        model.load_state_dict({name: torch.from_numpy(arrays[name]) for name in arrays.files}, strict=True)
    assert model.eval()(torch.rand(1, 3, 64, 64)).isfinite().all()


@pytest.mark.parametrize("weights", ["alexnet_features_imagenet_fp16.safetensors"], indirect=True)
def test_alexnet_convolutions_have_the_published_shapes(weights):
    ours = {k: v.shape for k, v in weightless("alexnet").state_dict().items() if k.startswith("features.")}
    assert {name: value.shape for name, value in load_file(weights).items()} == ours


@contextmanager
def counted(model: nn.Module) -> Iterator[list[int]]:
    """Multiply-adds of convolutions and dense layers, as they happen."""

    def count(layer: nn.Module, given: tuple[Tensor], output: Tensor) -> None:
        found.append(layer.weight[0].numel() * output[0].numel())

    found: list[int] = []
    hooks = [m.register_forward_hook(count) for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    yield found
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("name", NAMES)
def test_the_plan_knows_what_a_network_costs(name, stem):
    for side, channels, within in ((STEMS[stem], 3, 0.01), (96, 3, 0.15), (64, 1, 0.5)):
        model = weightless(name, side, outputs=10, channels=channels, stem=stem)
        with counted(model) as found:
            model(images(1, side, channels))
        cost = COSTS[name]((channels, side, side), 10, {"stem": stem})
        assert cost.parameters == sum(p.numel() for p in model.parameters())
        assert cost.multiply_adds == pytest.approx(sum(found), rel=within)
        assert cost.convolutional
        assert 0 < cost.passing < cost.activations


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("name", NAMES)
def test_the_plan_refuses_what_the_network_would(name, stem):
    def check(*shape: int, **said: int) -> None:
        data, model = {"name": "synthetic", "shape": list(shape)}, {"name": name, "stem": stem}
        check_size(Run(data=data, model=model, optimizer="gd", lr=1, steps=1, **said))

    least = network(name).smallest[stem]
    check(3, least, least)
    with pytest.raises(ArgumentError, match=f"{name} takes images; an example of synthetic has the shape"):
        check(20)
    if least > 1:
        with pytest.raises(ArgumentError, match=f"at least {least} x {least} pixels") as refused:
            check(3, least, least - 1)
        assert refused.value.key == "model"
        assert ("stem: small" in str(refused.value)) == (stem == "imagenet")
        check(3, least, least - 1, image_size=least)
        with pytest.raises(ArgumentError, match=f"not {least - 1} x {least - 1}"):
            check(3, 300, 300, image_size=least - 1)
