"""Small sets of flat examples and of pictures; one thread, so that sums come out the same every time."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.data.sources.synthetic import synthetic


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def small() -> Dataset:
    return synthetic(Files.search(), examples=200, validation=50, test=50, shape=(6,), classes=3, noise=0.6)


@pytest.fixture(scope="session")
def pictures() -> Dataset:
    return synthetic(Files.search(), examples=60, validation=10, test=20, shape=(2, 5, 5), classes=3, noise=1.0)


@pytest.fixture(scope="session")
def tiny() -> Dataset:
    """Pictures so small that a hundred steps of a large network on them are quick."""
    return synthetic(Files.search(), examples=40, validation=10, test=20, shape=(1, 4, 4), classes=3, noise=1.0)


@pytest.fixture
def own(tmp_path: Path) -> Callable[[str], Path]:
    """Writes own parts to mine.py and gives its folder."""

    def write(source: str) -> Path:
        (tmp_path / "mine.py").write_text(
            f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n{source}"
        )
        return tmp_path

    return write
