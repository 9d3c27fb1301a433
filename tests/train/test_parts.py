"""Checkpoints, devices, evaluation and building: the pieces beside the loop."""

from pathlib import Path

import pytest
import torch

from paceline.data.locate import Files
from paceline.data.sources.synthetic import synthetic
from paceline.errors import DeviceError, RecordError, StudyError
from paceline.spec import Run
from paceline.train import build, checkpoint, device
from paceline.train.loop import train


def run_of(**said) -> Run:
    return Run(**{"data": "synthetic", "model": "softmax", "optimizer": "gd", "lr": 0.1, "steps": 3} | said)


def test_a_checkpoint_gives_back_what_was_kept(tmp_path):
    state = {"a": torch.rand(3, 4), "b": {0: {"x": torch.arange(5), "t": 2.5}, "w": None}, "c": [1, "two", True, (3,)]}
    checkpoint.save(tmp_path / "c", state)
    back = checkpoint.load(tmp_path / "c")
    assert torch.equal(back["a"], state["a"])
    assert torch.equal(back["b"][0]["x"], state["b"][0]["x"])
    assert back["b"][0]["t"] == 2.5
    assert back["b"]["w"] is None
    assert back["c"] == [1, "two", True, [3]]
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_a_checkpoint_holds_a_copy_not_the_living_tensor(tmp_path):
    living = torch.zeros(3)
    checkpoint.save(tmp_path / "c", {"a": living, "same": living})
    living += 1
    assert checkpoint.load(tmp_path / "c")["same"].tolist() == [0, 0, 0]


def test_a_spoilt_checkpoint_is_refused_with_a_way_on(tmp_path):
    for content in (b"", b"nonsense", b"\x00" * 100):
        (tmp_path / "c").write_bytes(content)
        with pytest.raises(RecordError, match="Delete it and run again"):
            checkpoint.load(tmp_path / "c")


def test_auto_finds_a_device_and_absent_ones_are_refused():
    assert device.resolve("cpu").type == "cpu"
    assert device.resolve("auto").type in ("cpu", "cuda", "mps")
    for name, there in (("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available())):
        if not there:
            with pytest.raises(DeviceError, match=f"device: {name}.*Try device: auto or cpu"):
                device.resolve(name)


@pytest.mark.parametrize(
    ("source", "said", "words"),
    [
        ("net = 3", {"model": "mine:net"}, "which cannot be called"),
        ("def net(): return 3", {"model": "mine:net"}, "made a int, not a torch.nn.Module"),
        ("class sgd: pass", {"optimizer": "mine:sgd"}, "neither a Rule nor"),
        ("import nothing_like_this", {"model": "mine:net"}, "cannot be imported"),
        ("x = 1", {"model": "mine:net"}, "cannot be imported"),
    ],
)
def test_own_parts_that_do_not_fit_are_refused(source, said, words, tmp_path):
    (tmp_path / "mine.py").write_text(source)
    run, data = run_of(**said), synthetic(Files.search())
    with pytest.raises(StudyError, match=words):
        build.optimizer(run, list(build.model(run, data, tmp_path).parameters()), tmp_path)


def test_own_data_may_be_four_arrays(tmp_path):
    (tmp_path / "arrays.py").write_text(
        "import numpy as np\n"
        "def four(n): return np.ones((n, 3)), np.arange(n) % 4, np.ones((2, 3)), np.array([0, 1])\n"
        "def three(): return 1, 2, 3\n"
        "def none(): return np.ones((0, 3)), np.arange(0), np.ones((2, 3)), np.array([0, 1])\n"
        "def uneven(): return np.ones((4, 3)), np.arange(3), np.ones((2, 3)), np.array([0, 1])\n"
        "def rows(): return np.ones((4, 3)), np.eye(4, dtype=int), np.ones((2, 3)), np.array([0, 1])\n"
        "def below(): return np.ones((2, 3)), np.array([0, -1]), np.ones((2, 3)), np.array([0, 1])\n"
    )
    made = build.data(run_of(data={"name": "arrays:four", "n": 8}), Files.search(), tmp_path)
    assert (made.classes, made.input_shape, len(made.train), made.train.x.dtype) == (4, (3,), 8, torch.float32)
    with pytest.raises(StudyError, match="must return a Dataset or"):
        build.data(run_of(data="arrays:three"), Files.search(), tmp_path)
    wrong = {
        "none": "no train examples",
        "uneven": "4 train examples but 3 answers",
        "rows": "one a line",
        "below": "below 0",
    }
    for name, words in wrong.items():
        with pytest.raises(StudyError, match=words):
            build.data(run_of(data=f"arrays:{name}"), Files.search(), tmp_path)


def test_answers_that_do_not_fit_the_loss_are_refused(tmp_path):
    (tmp_path / "arrays.py").write_text("import numpy as np\ndef four(): return 2 * (np.ones((4, 3)), np.ones(4))\n")
    with pytest.raises(StudyError, match="say loss: mse"):
        build.data(run_of(data="arrays:four"), Files.search(), tmp_path)
    assert build.data(run_of(data="arrays:four", loss="mse"), Files.search(), tmp_path).classes is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("x[:, :5]", r"the model gave \[250, 5\], expected \[250, 10\]"),
        ("x[:, None]", r"the model gave \[250, 1, 20\], expected \[250, 10\]"),
        ("(x, x)", "the model gave a tuple, not a tensor"),
    ],
)
def test_a_model_that_answers_otherwise_is_refused_in_words(body, words, tmp_path):
    (tmp_path / "other.py").write_text(
        f"from torch import nn\nclass Net(nn.Linear):\n    def __init__(self): super().__init__(20, 20)\n"
        f"    def forward(self, x):\n        x = super().forward(x)\n        return {body}\n"
    )
    with pytest.raises(StudyError, match=words):
        next(train(run_of(model="other:Net"), synthetic(Files.search()), tmp_path))


def test_values_are_not_broadcast(tmp_path):
    (tmp_path / "other.py").write_text("from torch import nn\ndef net(): return nn.Linear(3, 4)\n")
    (tmp_path / "arrays.py").write_text("import numpy as np\ndef four(): return 2 * (np.ones((4, 3)), np.ones(4))\n")
    run = run_of(data="arrays:four", model="other:net", loss="mse")
    with pytest.raises(StudyError, match=r"the model gave \[4, 4\], expected \[4\]"):
        next(train(run, build.data(run, Files.search(), tmp_path), tmp_path))


def test_an_edited_part_is_imported_anew_and_namesakes_are_kept_apart(tmp_path):
    source = "from torch import nn\ndef net(input_shape, classes): return nn.Linear(*input_shape, classes, bias=BIAS)\n"
    data = synthetic(Files.search(), shape=(4,))
    sizes = []
    for folder, bias in (("one", "True"), ("two", "False"), ("one", "True"), ("one", "bool(0)")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "mine.py").write_text(source.replace("BIAS", bias))
        sizes.append(len(list(build.model(run_of(model="mine:net"), data, tmp_path / folder).parameters())))
    assert sizes == [2, 1, 2, 1]


def test_what_a_part_imports_is_imported_anew_with_it(tmp_path):
    text = "from torch import nn\nfrom sizes import BIAS\n"
    text += "def net(input_shape, classes): return nn.Linear(*input_shape, classes, bias=BIAS)\n"
    data = synthetic(Files.search(), shape=(4,))
    sizes = []
    for folder, bias in (("one", "True"), ("two", "False"), ("one", "bool(0)")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "nets.py").write_text(text)
        (tmp_path / folder / "sizes.py").write_text(f"BIAS = {bias}\n")
        sizes.append(len(list(build.model(run_of(model="nets:net"), data, tmp_path / folder).parameters())))
    assert sizes == [2, 1, 1]


def test_any_torch_optimizer_by_its_path():
    parameters = [torch.nn.Parameter(torch.zeros(2))]
    for name in ("torch.optim:RMSprop", "torch.optim.RMSprop"):
        made = build.optimizer(run_of(optimizer={"name": name, "alpha": 0.5}), parameters, Path())
        assert type(made) is torch.optim.RMSprop
        assert (made.defaults["alpha"], made.defaults["lr"]) == (0.5, 0.1)


WRITES = """
from torch import nn
class Net(nn.Linear):
    def __init__(self): super().__init__(20, 10)
    def forward(self, x): return super().forward(x.sub_(0.3).div_(0.4))
def greedy(outputs, targets):
    targets.zero_()
    return nn.functional.cross_entropy(outputs, targets)
"""


@pytest.mark.parametrize("said", [{"model": "writes:Net"}, {"loss": "writes:greedy"}])
def test_own_code_that_writes_into_what_it_is_given_spoils_no_data(said, tmp_path):
    (tmp_path / "writes.py").write_text(WRITES)
    data = synthetic(Files.search())
    before = [(split.x.clone(), split.y.clone()) for split in data.splits.values()]
    for _ in train(run_of(**said, evaluate_every=1), data, tmp_path):
        pass
    for (x, y), split in zip(before, data.splits.values(), strict=True):
        assert torch.equal(split.x, x)
        assert torch.equal(split.y, y)


def test_lazy_layers_are_drawn_by_the_seed(tmp_path):
    (tmp_path / "lazy.py").write_text(
        "from torch import nn\ndef net(classes): return nn.Sequential(nn.Flatten(), nn.LazyLinear(7), nn.Linear(7, classes))\n"
    )
    data, drawn = synthetic(Files.search(), shape=(2, 3)), []
    for seed, noise in ((0, 1), (0, 2), (1, 1)):
        torch.manual_seed(noise)
        drawn.append(build.model(run_of(model="lazy:net", seed=seed), data, tmp_path)[1].weight)
    assert drawn[0].shape == (7, 6)
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_a_schedule_may_give_any_number_but_none_that_is_no_rate(tmp_path):
    (tmp_path / "rates.py").write_text(
        "import torch\ndef tensor(step, total): return torch.tensor(0.5)\ndef nan(step, total): return float('nan')\n"
    )
    first = next(train(run_of(schedule="rates:tensor"), synthetic(Files.search()), tmp_path))
    assert (type(first.lr), first.lr) == (float, pytest.approx(0.05))
    with pytest.raises(StudyError, match="the schedule makes lr nan at step 0"):
        next(train(run_of(schedule="rates:nan"), synthetic(Files.search()), tmp_path))


def test_an_accuracy_that_there_will_never_be_is_not_waited_for(tmp_path):
    (tmp_path / "values.py").write_text("import numpy as np\ndef four(): return 2 * (np.ones((4, 3)), np.ones(4))\n")
    (tmp_path / "one.py").write_text("from torch import nn\ndef net(): return nn.Linear(3, 1)\n")
    said = {"data": "values:four", "model": "one:net", "loss": "mse"}
    run = run_of(**said, early_stop={"patience": 2})
    data = build.data(run, Files.search(), tmp_path)
    with pytest.raises(StudyError, match="so no accuracy; say metric: loss"):
        next(train(run, data, tmp_path))
    next(train(run_of(**said, early_stop={"patience": 2, "metric": "loss"}), data, tmp_path))
