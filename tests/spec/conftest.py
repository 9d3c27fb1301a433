import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from paceline.cli import main

Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """`paceline run` on a study that is wrong: the one line it prints.

    Held here for every such study: exit code 2, no traceback, nothing on stdout, no record, so nothing trained.
    """

    def run(text: str | bytes, *options: str) -> str:
        file = tmp_path / "study.yaml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return refuse(file, *options)

    def refuse(file: Path, *options: str) -> str:
        out = tmp_path / "runs"
        monkeypatch.setattr(sys, "argv", ["paceline", "run", str(file), *options, "--out", str(out)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert end.value.code == 2
        assert not out.exists()
        assert said.out == ""
        assert said.err.startswith("error: ")
        assert said.err.count("\n") == 1
        return said.err.removeprefix("error: ").strip().replace(f"{tmp_path}/", "")

    return run
