"""Why runs failed, a line for each reason."""

import traceback
from pathlib import Path

import torch

from paceline.record.layout import PackFolder
from paceline.record.reader import RunState
from paceline.report.failures import failures


def failed(run: str, reason: str, trace: str = "") -> RunState:
    return RunState(run, PackFolder(Path("runs/s/p")), "failed", {"reason": reason, "traceback": trace})


def test_equal_reasons_are_one_line_and_the_most_frequent_comes_first() -> None:
    done = RunState("x", PackFolder(Path("runs/s/p")), "done", {})
    assert failures([failed("a", "stone"), failed("b", "glass"), done, failed("c", "glass")]) == [
        "2 runs failed: glass",
        "1 run failed: stone",
        "A traceback is in runs/s/p/status.json; --retry-failed tries again.",
    ]
    assert failures([done]) == []


def test_the_last_frame_of_ones_own_file_is_named(tmp_path: Path) -> None:
    """The error arises in torch, below a file of the user's."""
    file = tmp_path / "own.py"
    file.write_text("import torch\ndef build():\n    return torch.nn.Linear(2, -5)(torch.ones(1, 3))\n")
    names: dict[str, object] = {"torch": torch}
    exec(compile(file.read_text(), str(file), "exec"), names)
    try:
        names["build"]()  # type: ignore[operator]
    except RuntimeError:
        trace = traceback.format_exc()
    line, _ = failures([failed("a", "no shape", trace)])
    assert line == f"1 run failed: no shape ({file}, line 3, in build)"


def test_an_error_of_the_house_has_no_frame_of_ones_own() -> None:
    try:
        failures([None])  # type: ignore[list-item]
    except AttributeError:
        frames = traceback.format_exc().split('  File "')
    inside = f'{frames[0]}  File "{frames[-1]}'
    assert failures([failed("a", "odd", inside)])[0] == "1 run failed: odd"
