"""What tests share: a cache without measured speeds, no neighbours, the real data sets where they are, and a study file
made on the spot."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # threads of two processes would wait for each other's at every step
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from paceline.cache import user_cache
from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from tests.execute.zygote import Zygote


@pytest.fixture(scope="session", autouse=True)
def _cache_without_speeds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What was measured on this machine would decide what is stacked; data and scripts are those of the user."""
    base = tmp_path_factory.mktemp("cache")
    own = base / "paceline"
    own.mkdir()
    kept = user_cache()
    for path in kept.iterdir() if kept.is_dir() else ():
        if not path.name.startswith(("speeds-", "training")):
            (own / path.name).symlink_to(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(base))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_neighbours() -> Iterator[None]:
    """Whoever trains on this machine meanwhile, or in another process of these tests, is not seen: marks of training
    lie in the cache. Sockets lie in the folder for temporary files, so its name is short."""
    with (
        tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as own,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", own)
        patch.setattr(tempfile, "tempdir", own)
        yield


@pytest.fixture(scope="session")
def paceline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """Starts a real `paceline` process: paceline("run", file, "--out", out)."""
    zygote = Zygote(tmp_path_factory.mktemp("logs"))
    yield zygote
    zygote.close()


def _present(name: str) -> Files:
    files = Files.search()
    if files.seek(name, "train-images-idx3-ubyte.gz") is None:
        pytest.skip(f"{name} is not on this machine: set $PACELINE_DATA or run `paceline data get {name}`")
    return files


@pytest.fixture(scope="session")
def mnist_files() -> Files:
    return _present("mnist")


@pytest.fixture(scope="session")
def fashion_files() -> Files:
    return _present("fashion_mnist")


@pytest.fixture(scope="session")
def mnist(mnist_files: Files) -> Dataset:
    from paceline.data.sources.idx import mnist

    return mnist(mnist_files)


@pytest.fixture
def study_file(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str, name: str = "study.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Runs the command line in an empty folder; gives (exit code, stdout, stderr)."""
    from paceline.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["paceline", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call
