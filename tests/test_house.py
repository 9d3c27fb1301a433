"""The rules of the house: who may import whom, what stays light, what is public, and one contract for every part."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import paceline
from paceline.gallery import gallery
from paceline.spec.argument import REQUIRED, Entry
from paceline.spec.parts import TABLE

HOUSE = Path(paceline.__file__).parent

ROOMS: dict[str, tuple[str, ...]] = {
    "errors": (),
    "cache": (),
    "spec": ("errors",),
    "plan": ("spec", "errors", "data.catalogue"),
    "data": ("spec", "errors", "cache"),
    "models": (),
    "optim": (),
    "train": ("spec", "data", "models", "optim", "errors", "cache"),
    "record": ("spec", "errors"),
    "execute": ("spec", "plan", "record", "errors", "cache"),
    "analyse": (),
    "report": (
        "spec",
        "plan",
        "record",
        "analyse",
        "execute.events",
        "execute.session",
        "execute.anatomy",
        "data.progress",
        "errors",
        "cache",
    ),
    "gallery": (),
}
FRONT = ("__init__", "__main__", "api", "cli", "cli_complete", "cli_data", "cli_options", "cli_results")
LIGHT = (
    "errors",
    "cli_complete",
    "cli_data",
    "cli_options",
    "cli_results",
)  # what the command line imports at its start
WORKER = ("data", "train")  # of the files of execute that run in a worker, inside their functions
_TRAINING = (
    "worker",
    "single",
    "stacked",
    "rank",
    "members",
    "anatomy",
    "datasets",
    "origins",
    "checkpoints",
    "calibrate",
    "capable",
    "datafiles",
)
IN_WORKER = tuple(f"execute.{name}" for name in _TRAINING)


class Import(NamedTuple):
    module: str  # the importing one, without `paceline.`
    target: str  # the imported one, without `paceline.`
    line: int
    inside: bool  # a function


def _modules() -> dict[str, Path]:
    paths = {path.relative_to(HOUSE).with_suffix(""): path for path in sorted(HOUSE.rglob("*.py"))}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in paths.items()}


def _imports(module: str, path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inner = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        for target in _targets(node):
            yield Import(module, target, node.lineno, id(node) in inner)  # type: ignore[attr-defined]


def _targets(node: ast.AST) -> list[str]:
    """The modules of ours that a statement imports; `from paceline.a import b` may mean the module paceline.a.b."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        whole = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [name if name.removeprefix("paceline.") in MODULES else str(node.module) for name in whole]
    else:
        return []
    return [name.removeprefix("paceline.") for name in names if name.split(".")[0] == "paceline"]


MODULES = _modules()
IMPORTS = [found for module, path in MODULES.items() for found in _imports(module, path)]


def _allowed(found: Import) -> bool:
    room, target = found.module.split(".")[0], found.target
    if room in FRONT:
        return not room.startswith("cli") or found.inside or target in LIGHT
    if target.split(".")[0] == room:
        return True
    if found.module in IN_WORKER and found.inside and target.split(".")[0] in WORKER:
        return True
    return any(target == door or target.startswith(f"{door}.") for door in ROOMS[room])


def test_every_module_stands_in_a_room() -> None:
    assert {module.split(".")[0] for module in MODULES} - set(FRONT) <= set(ROOMS)
    assert len(IMPORTS) > 100


@pytest.mark.parametrize("room", [*ROOMS, *FRONT])
def test_a_room_imports_only_the_rooms_before_it(room: str) -> None:
    wrong = [found for found in IMPORTS if found.module.split(".")[0] == room and not _allowed(found)]
    assert not [f"{MODULES[w.module].relative_to(HOUSE)}:{w.line} imports paceline.{w.target}" for w in wrong]


def test_the_rooms_stand_in_a_row() -> None:
    """No two rooms import each other, not even by way of a third."""
    edges = {(i.module.split(".")[0], i.target.split(".")[0]) for i in IMPORTS if not i.inside} - {("", "")}
    edges = {(a, b) for a, b in edges if a != b and a not in FRONT}
    while edges:
        last = {a for a, _ in edges} - {b for _, b in edges}
        assert last, f"in a circle: {sorted(edges)}"
        edges = {(a, b) for a, b in edges if a not in last}


@pytest.mark.parametrize("verb", [["--help"], ["check", "quickstart"], ["plan", "quickstart", "--out", "runs"]])
def test_what_trains_nothing_imports_nothing_heavy(verb: list[str], tmp_path: Path) -> None:
    driver = (
        "import sys\n"
        "from paceline.cli import app\n"
        f"app({verb!r}, standalone_mode=False)\n"
        "heavy = {'torch', 'scipy', 'altair', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "print('light')\n"
    )
    done = subprocess.run([sys.executable, "-c", driver], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("light\n")
    assert not list(tmp_path.iterdir())


def test_the_public_names_are_frozen() -> None:
    assert paceline.__all__ == ["Dataset", "Results", "Rule", "Split", "load", "results", "run"]
    assert all(getattr(paceline, name).__name__ == name for name in paceline.__all__)
    with pytest.raises(AttributeError, match="module 'paceline' has no attribute 'nothing'"):
        paceline.nothing  # noqa: B018


PARTS = [(kind, name) for kind, entries in TABLE.items() for name in entries]


def _resolve(entry: Entry) -> Any:
    module, _, attribute = entry.path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _data(entry: Entry) -> None:
    _takes(entry, by_place=0, by_name={"files"})


def _model(entry: Entry) -> None:
    import torch

    assert issubclass(_resolve(entry), torch.nn.Module)
    _takes(entry, by_place=0, by_name={"input_shape", "outputs"})


def _strategy(entry: Entry) -> None:
    from paceline.train.parallel.strategy import Strategy

    assert issubclass(_resolve(entry), Strategy)
    _takes(entry, by_place=0, by_name={"team"})


def _two_then_knobs(entry: Entry) -> None:
    _takes(entry, by_place=2, by_name=set())


def _rule(entry: Entry) -> None:
    """A rule takes its knobs in a mapping: it must read all that the table has, and no other."""
    import torch

    from paceline.optim.rule import Rule

    rule = _resolve(entry)
    assert isinstance(rule, Rule)
    hyper = _Noting({key: arg.default for key, arg in entry.args.items()} | {"lr": 0.1, "step": 1})
    for shape in ((3, 2), (3,)):
        parameter, gradient = torch.ones(shape), torch.full(shape, 0.5)
        state = rule.init(parameter, hyper)
        new, state = rule.update(gradient, state, parameter, hyper)
        if rule.at_evaluation:
            new = rule.at_evaluation(new, state, hyper)
        assert new.shape == parameter.shape
        assert new.isfinite().all()
        assert not torch.equal(new, parameter)
    assert set(entry.args) <= hyper.read <= {*entry.args, "lr", "step", "stacked"}


class _Noting(dict[str, Any]):
    """A mapping that notes which keys are read."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


def _takes(entry: Entry, *, by_place: int, by_name: set[str]) -> None:
    """The signature has what is given, then exactly the table's arguments; a default it states is the table's."""
    parameters = list(inspect.signature(_resolve(entry)).parameters.values())
    knobs = [p for p in parameters[by_place:] if p.name not in by_name]
    assert {p.name for p in parameters[by_place:]} - {p.name for p in knobs} == by_name
    assert {p.name for p in knobs} == set(entry.args)
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters)
    for p in knobs:
        default = entry.args[p.name].default
        assert p.default in (inspect.Parameter.empty, default)
        assert default is not REQUIRED or p.default is inspect.Parameter.empty


CONTRACTS: dict[str, Callable[[Entry], None]] = {
    "data": _data,
    "model": _model,
    "loss": _two_then_knobs,
    "optimizer": _rule,
    "schedule": _two_then_knobs,
    "strategy": _strategy,
}


@pytest.mark.parametrize(("kind", "name"), PARTS)
def test_a_part_is_what_its_line_in_the_table_says(kind: str, name: str) -> None:
    CONTRACTS[kind](TABLE[kind][name])


@pytest.mark.parametrize("name", sorted(gallery()))
def test_every_study_that_ships_expands(name: str) -> None:
    from paceline.plan.expand import expand

    study = paceline.load(name)
    trials = expand(study)
    assert study.name == name
    assert study.question.endswith("?")
    assert len({trial.id for trial in trials}) >= study.repeat
