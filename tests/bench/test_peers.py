"""The peers do the work they are said to do: against NumPy by hand, on one full batch, where the order is no matter."""

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from itertools import islice
from types import ModuleType

import numpy as np
import pytest
import torch

from bench.peers import tight
from bench.peers.optimizers import OPTIMIZERS, build
from bench.peers.work import BATCH, CLASSES, PIXELS, Images, Setting

TOOLS = {"lightning_": "lightning", "optuna_": "optuna", "keras_": "keras", "ray_tune": "ray"}
ONE_BY_ONE = ["tight", "loader", "lightning_", "keras_"]
NINE = [name for name in OPTIMIZERS if name != "proximal_gd"]
LR = {"adadelta": 1.0, "adam": 0.001, "rmsprop": 0.0003}
Update = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]


def _peer(name: str) -> ModuleType:
    if name in TOOLS and importlib.util.find_spec(TOOLS[name]) is None:
        pytest.skip(f"{TOOLS[name]} is not installed: pip install -r bench/requirements.txt")
    return importlib.import_module(f"bench.peers.{name}")


@pytest.fixture(scope="module")
def images() -> Images:
    draw = np.random.default_rng(0)
    x, y = draw.random((BATCH + 50, PIXELS)), draw.integers(0, CLASSES, BATCH + 50)
    x[np.arange(len(x)), y] += 5
    made, labels = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    return Images(made[:BATCH], labels[:BATCH], made[BATCH:], labels[BATCH:])


def _momentum(nesterov: bool) -> Update:
    velocity = 0.0

    def update(p, g, lr, step):
        nonlocal velocity
        velocity = 0.9 * velocity + g
        return p - lr * (g + 0.9 * velocity if nesterov else velocity)

    return update


def _adagrad() -> Update:
    total = 0.1

    def update(p, g, lr, step):
        nonlocal total
        total = total + g**2
        return p - lr * g / np.sqrt(total)

    return update


def _adadelta() -> Update:
    square = square_change = 0.0

    def update(p, g, lr, step):
        nonlocal square, square_change
        square = 0.95 * square + 0.05 * g**2
        change = np.sqrt(square_change + 1e-8) / np.sqrt(square + 1e-8) * g
        square_change = 0.95 * square_change + 0.05 * change**2
        return p - lr * change

    return update


def _adam() -> Update:
    m = v = 0.0

    def update(p, g, lr, step):
        nonlocal m, v
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        return p - lr * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)

    return update


def _rmsprop() -> Update:
    square = 0.0

    def update(p, g, lr, step):
        nonlocal square
        square = 0.9 * square + 0.1 * g**2
        return p - lr * g / (np.sqrt(square) + 1e-8)

    return update


def _ftrl() -> Update:
    total, z = 0.1, 0.0

    def update(p, g, lr, step):
        nonlocal total, z
        sigma = (np.sqrt(total + g**2) - np.sqrt(total)) / lr
        total, z = total + g**2, z + g - sigma * p
        return -lr * z / np.sqrt(total)

    return update


BY_HAND: dict[str, Callable[[], Update]] = {
    "gd": lambda: lambda p, g, lr, step: p - lr * g,
    "momentum": lambda: _momentum(nesterov=False),
    "nesterov": lambda: _momentum(nesterov=True),
    "adagrad": _adagrad,
    "adadelta": _adadelta,
    "adam": _adam,
    "rmsprop": _rmsprop,
    "ftrl": _ftrl,
    "proximal_gd": lambda: lambda p, g, lr, step: p - lr * g,
    "proximal_adagrad": _adagrad,
}


def _softmax_by_hand(setting: Setting, images: Images, steps: int) -> tuple[float, float]:
    x, test_x = images.train_x.double().numpy(), images.test_x.double().numpy()
    y, test_y = images.train_y.numpy(), images.test_y.numpy()
    weight, bias = np.zeros((PIXELS, CLASSES)), np.zeros(CLASSES)
    updates = [BY_HAND[setting.optimizer]() for _ in range(2)]
    for step in range(1, steps + 1):
        error = (_softmax(x @ weight + bias) - np.eye(CLASSES)[y]) / len(x)
        weight = updates[0](weight, x.T @ error, setting.lr, step)
        bias = updates[1](bias, error.sum(0), setting.lr, step)
    share = _softmax(test_x @ weight + bias)
    return -np.log(share[np.arange(len(share)), test_y]).mean(), (share.argmax(1) == test_y).mean()


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("optimizer", NINE)
@pytest.mark.parametrize("peer", ONE_BY_ONE)
def test_a_peer_trains_the_softmax_layer_as_by_hand(peer: str, optimizer: str, images: Images) -> None:
    setting = Setting(optimizer, LR.get(optimizer, 0.02))
    curve = _peer(peer).train(setting, images, 12, 4)
    assert [point.step for point in curve] == [4, 8, 12]
    for point in curve:
        loss, accuracy = _softmax_by_hand(setting, images, point.step)
        assert point.loss == pytest.approx(loss, rel=2e-4)
        assert point.accuracy == pytest.approx(accuracy)


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    peer = _peer(request.param)
    if hasattr(peer, "start"):
        peer.start()
    yield peer
    if hasattr(peer, "stop"):
        peer.stop()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("started", ["tight", "loader", *TOOLS], indirect=True)
def test_a_sweep_gives_the_accuracies_in_the_order_of_the_settings(started: ModuleType, images: Images) -> None:
    settings = [Setting("gd", 0.02), Setting("gd", 0.0), Setting("adam", 0.001), Setting("ftrl", 0.02)]
    by_hand = [_softmax_by_hand(setting, images, 12)[1] for setting in settings]
    assert len(set(by_hand)) > 2
    swept = started.sweep(settings, images, 12, 4)
    assert swept.accuracy == pytest.approx(by_hand)
    assert swept.seconds > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("peer", ONE_BY_ONE)
def test_a_peer_learns_from_more_than_an_epoch_of_shuffled_batches(peer: str) -> None:
    """Images sorted by class: in their own order, the last class seen would win."""
    y = torch.arange(CLASSES).repeat_interleave(37)
    x = torch.rand(len(y), PIXELS, generator=torch.Generator().manual_seed(0)) / 10
    x[torch.arange(len(y)), y] += 1
    curve = _peer(peer).train(Setting("gd", 0.5), Images(x, y, x, y), 40, 10)
    assert curve[-1].accuracy == 1
    assert curve[-1].loss < curve[0].loss < 2.3


def test_batches_show_every_image_once_an_epoch() -> None:
    batches = list(islice(tight.orders(250), 6))
    assert [len(batch) for batch in batches] == [100, 100, 50] * 2
    for epoch in (batches[:3], batches[3:]):
        order = torch.cat(epoch).tolist()
        assert sorted(order) == list(range(250))
        assert order != sorted(order)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_line_is_trained_as_by_hand(optimizer: str) -> None:
    lr = LR.get(optimizer, 0.005)
    x, y, w, b = np.arange(1.0, 5), -np.arange(4.0), 0.3, -0.3
    updates = [BY_HAND[optimizer]() for _ in range(2)]
    for step in range(1, 41):
        error = 2 * (w * x + b - y)
        w, b = updates[0](w, error @ x, lr, step), updates[1](b, error.sum(), lr, step)
    (weight, bias), losses = tight.train_line(Setting(optimizer, lr), 40, 10)
    assert (weight, bias) == pytest.approx((w, b), rel=1e-4, abs=1e-5)
    assert len(losses) == 4
    assert losses[-1] == pytest.approx(((w * x + b - y) ** 2).sum(), rel=1e-3)


def test_the_line_is_found() -> None:
    (weight, bias), losses = tight.train_line(Setting("gd", 0.01), 2000, 500)
    assert (weight, bias) == pytest.approx((-1, 1), abs=1e-5)
    assert losses == sorted(losses, reverse=True)
    swept = tight.line_sweep([Setting("gd", 0.01), Setting("gd", 0.0)], 2000, 500)
    assert swept.loss == pytest.approx([0, 23.66], abs=1e-2)


def test_what_cannot_be_trained_is_refused(images: Images) -> None:
    with pytest.raises(ValueError, match="no optimizer 'lamb'; there are gd"):
        build("lamb", [], 0.1)
    with pytest.raises(ValueError, match="the last step must be an evaluated one"):
        tight.train(Setting("gd", 0.1), images, 10, 4)
