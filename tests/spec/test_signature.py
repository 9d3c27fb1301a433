"""Own parts by dotted path: their signatures are read, their modules never imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from paceline.plan.expand import expand
from paceline.spec.argument import ArgumentError
from paceline.spec.document import parse
from paceline.spec.part import read
from paceline.spec.signature import check, source_of
from paceline.spec.study import from_document

from .conftest import Refused
from .studies import study

OWN = """\
raise RuntimeError("imported")

import torch
from elsewhere import Other as Renamed
from torch import nn

if torch.cuda.is_available():
    class Fast: ...
else:
    def Slow(input_shape): ...

try:
    import apex
except ImportError:
    apex = fallback = None

with torch.no_grad():
    def Quiet(width): ...

class Net(nn.Module):
    def __init__(self, input_shape, outputs, *, width, depth=2):
        ...

class Bare(nn.Module): ...

def loose(outputs, **options): ...

def make_data(files, path, size=3): ...

def my_loss(scores, labels, *, margin, scale=1.0): ...

def my_schedule(step, total, rate): ...

class MyOptimizer:
    def __init__(self, params, lr, momentum, decay=0.0): ...

rule: object = object()
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "my_parts.py").write_text(OWN)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("from .nets import *\n")
    (tmp_path / "lab" / "nets.py").write_text("class Net:\n    def __init__(self, width): ...\n")
    (tmp_path / "lab" / "lazy.py").write_text("def __getattr__(name): ...\n")
    (tmp_path / "lab" / "sub").mkdir()
    (tmp_path / "lab" / "sub" / "__init__.py").write_text("Net = 3\n")
    (tmp_path / "lab" / "bare").mkdir()
    (tmp_path / "lab" / "empty.py").touch()
    (tmp_path / "wrong.py").write_text("def Net(:\n")
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9\ndef Net(): ...\n")
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbfdef Net(): ...\n")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("model", {"name": "my_parts:Net", "width": 3}),
        ("model", {"name": "my_parts.Net", "width": 3, "depth": 4}),
        ("model", "my_parts:Bare"),
        ("model", {"name": "my_parts:loose", "anything": 1}),
        ("model", {"name": "my_parts:Renamed", "unknown": 1}),
        ("model", "my_parts:Fast"),
        ("model", "my_parts:Slow"),
        ("model", {"name": "my_parts:Quiet", "width": 1}),
        ("model", "my_parts:fallback"),
        ("data", {"name": "my_parts:make_data", "path": "x"}),
        ("loss", {"name": "my_parts:my_loss", "margin": 1}),
        ("schedule", {"name": "my_parts:my_schedule", "rate": 1}),
        ("optimizer", {"name": "my_parts:MyOptimizer", "momentum": 1}),
        ("optimizer", "my_parts:rule"),
        ("model", "lab:Anything"),
        ("model", "lab.lazy:Anything"),
        ("model", {"name": "lab.nets:Net", "width": 1}),
        ("model", "lab.sub:Net"),
        ("model", "lab.bare:Net"),
        ("model", "latin:Net"),
        ("model", "marked:Net"),
        ("optimizer", "torch.optim:RMSprop"),
        ("optimizer", {"name": "torch.optim.rmsprop:RMSprop", "alpha": 0.9}),
        ("loss", "torch.nn.functional:mse_loss"),
        ("model", "torch._C:Tensor"),
        ("model", "math:sin"),
        ("data", "paceline.data.sources.line:line"),
    ],
)
def test_what_could_be_right_passes_unimported(own: Path, kind: str, said: object) -> None:
    check(read(kind, said), own)
    assert not {"my_parts", "lab", "latin", "marked"} & set(sys.modules)


@pytest.mark.parametrize(
    ("kind", "said", "message", "key"),
    [
        ("model", "no_such:Net", "no module 'no_such': neither", ""),
        ("model", "my_parts:Nett", "my_parts.py has no 'Nett'. Did you mean 'Net'? Allowed: Bare, Fast,", ""),
        ("model", "lab.empty:Net", "empty.py has no 'Net'. It defines nothing.", ""),
        ("model", "lab.netz:Net", "no module 'lab.netz' in", ""),
        ("model", "my_parts.sub:Net", "no module 'my_parts.sub' in", ""),
        ("model", "wrong:Net", "wrong.py is not valid Python: ", ""),
        (
            "model",
            {"name": "my_parts:Net", "widht": 3},
            "has no argument 'widht'. Did you mean 'width'? Allowed: depth, width.",
            "widht",
        ),
        ("model", {"name": "my_parts:Net", "width": 3, "outputs": 3}, "has no argument 'outputs'.", "outputs"),
        ("model", "my_parts:Net", "my_parts:Net needs the argument 'width'.", ""),
        ("model", {"name": "my_parts:Slow", "x": 1}, "has no argument 'x'. It takes none.", "x"),
        ("data", "my_parts:make_data", "needs the argument 'path'.", ""),
        ("loss", "my_parts:my_loss", "needs the argument 'margin'.", ""),
        ("loss", {"name": "my_parts:my_loss", "margin": 1, "labels": 1}, "has no argument 'labels'.", "labels"),
        ("schedule", "my_parts:my_schedule", "needs the argument 'rate'.", ""),
        ("optimizer", "my_parts:MyOptimizer", "needs the argument 'momentum'.", ""),
        ("optimizer", {"name": "torch.optim.rmsprop:RMSprop", "alhpa": 1}, "Did you mean 'alpha'?", "alhpa"),
    ],
)
def test_what_cannot_be_right_is_refused(own: Path, kind: str, said: object, message: str, key: str) -> None:
    with pytest.raises(ArgumentError) as error:
        check(read(kind, said), own)
    assert message in str(error.value)
    assert error.value.key == key


def test_the_error_has_file_and_line(refused: Refused, own: Path) -> None:
    said = refused(study(model="{name: my_parts:Net, widht: 3}"))
    assert said.startswith(
        "study.yaml:4: base.model.widht: my_parts:Net has no argument 'widht'. Did you mean 'width'?"
    )
    assert refused(study(model="my_parts:Nett")).startswith("study.yaml:4: base.model: my_parts.py has no 'Nett'.")
    said = refused(study("compare:\n  model.depht: [1]\n", model="{name: my_parts:Net, width: 3}"))
    assert said.startswith(
        "study.yaml:9: compare.model.depht.0: my_parts:Net has no argument 'depht'. Did you mean 'depth'?"
    )


def test_a_dotted_axis_may_give_what_is_required(own: Path) -> None:
    text = study("compare:\n  model.width: [1, 2]\n", model="my_parts:Net")
    trials = expand(from_document(parse(text), own))
    assert [trial.run.model.complete for trial in trials[:2]] == [{"width": 1}, {"width": 2}]


def test_a_record_is_read_without_the_sources(tmp_path: Path) -> None:
    text = study("repeat: 1\n", model="gone:Net")
    (trial,) = expand(from_document(parse(text), tmp_path), own_parts=False)
    assert trial.run.model.name == "gone:Net"


def test_a_file_beside_the_study_comes_first(own: Path) -> None:
    (own / "typer.py").write_text("def Net(): ...\n")
    assert source_of("typer", own) == own / "typer.py"
    (own / "yaml").mkdir()
    found = source_of("yaml", own)
    assert found is not None
    assert own not in found.parents


def test_a_file_named_as_a_module_of_pythons_own_is_refused(own: Path) -> None:
    """It is loaded by then, and would be found in the place of the file."""
    (own / "random.py").write_text("def Net(): ...\n")
    with pytest.raises(ArgumentError, match=r"random\.py has the name of a module of Python's own"):
        source_of("random", own)


def test_reading_torchs_signatures_does_not_import_torch(own: Path) -> None:
    (own / "study.yaml").write_text(study(optimizer="torch.optim:RMSprop", model="{name: my_parts:Net, width: 3}"))
    driver = (
        "import sys; from pathlib import Path\n"
        "from paceline.plan.expand import expand; from paceline.spec.study import load\n"
        "assert len(expand(load(Path('study.yaml')))) == 3\n"
        "assert not {'torch', 'my_parts'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", driver], cwd=own, check=True)
