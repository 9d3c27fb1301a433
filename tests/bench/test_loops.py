"""The loops by hand train what Paceline trains: from the same weights, on one full batch, where the order is no matter."""

import sys
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bench import loops, resnet18
from bench.peers.resnet import ResNet18
from paceline.data.dataset import Dataset, Split
from paceline.models.resnet import ResNet18 as OurResNet18
from paceline.spec import Run
from paceline.train.loop import train
from paceline.train.rows import Row

EXAMPLES, STEPS, LR = 24, 5, 0.5


def network() -> nn.Module:
    linear = nn.Linear(64, 10)
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return nn.Sequential(nn.Flatten(), linear)


@pytest.fixture
def work() -> loops.Work:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.rand(EXAMPLES, 1, 8, 8, generator=draw), torch.randint(0, 10, (EXAMPLES,), generator=draw)
    data = Dataset("made", Split(x, y), None, Split(x, y), 10, "")
    run = Run(data="digits", model="softmax", optimizer="sgd", lr=LR, batch=EXAMPLES, steps=STEPS, evaluate_every=STEPS)
    return loops.Work(run, data, x, network, partial(torch.optim.SGD, lr=LR))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tight", "eager", "loaded", "lightning"])
def test_a_loop_ends_where_ours_does(name: str, work: loops.Work) -> None:
    model, more = work.network(), ()
    if name == "lightning":
        more = (pytest.importorskip("bench.peers.lightning_").steps,)
    assert getattr(loops, name)(work, model, *more) > 0
    rows = [item for item in train(work.run, work.data, Path()) if isinstance(item, Row)]
    by_hand = F.cross_entropy(model(work.x), work.y).item()
    assert by_hand == pytest.approx(rows[-1].loss, rel=1e-5)
    assert by_hand < rows[0].loss - 0.1


def test_batches_show_every_image_once_an_epoch(work: loops.Work) -> None:
    short = loops.Work(work.run.model_copy(update={"batch": 10}), work.data, work.x, work.network, work.optimizer)
    labels = [y for _, y in islice(loops.gathered(short), 6)]
    assert [len(y) for y in labels] == [10, 10, 4] * 2
    for epoch in (labels[:3], labels[3:]):
        assert torch.equal(torch.cat(epoch).sort().values, work.y.sort().values)


def test_a_tool_that_is_missing_is_said_so(work: loops.Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bench.peers.lightning_", None)
    lines, notes = loops.measured(work, 6)
    assert [line.target for line in lines] == [0.98, 1.0, 1.1]
    assert all(line.ratio.low <= line.ratio.value <= line.ratio.high for line in lines)
    assert notes[0].startswith("Not measured, because it is not installed: Lightning")


@pytest.mark.filterwarnings("ignore")
def test_the_tight_loop_over_our_network_is_measured_where_it_differs(work: loops.Work) -> None:
    differs = loops.Work(work.run, work.data, work.x, work.network, work.optimizer, network)
    lines, _ = loops.measured(differs, 6)
    assert lines[0].against.startswith("the tight loop below over Paceline's own network")


def test_the_users_resnet18_is_ours() -> None:
    ours, theirs = OurResNet18((3, 32, 32), 10, stem="small"), ResNet18()
    theirs.load_state_dict(ours.state_dict())
    x = torch.rand(3, 3, 16, 16)
    torch.testing.assert_close(theirs(x), ours(x))
    assert resnet18.RUN.model.complete["stem"] == "small"
