from collections.abc import Iterator

import pytest

from paceline.execute import session

from .zygote import Zygote


@pytest.fixture(autouse=True)
def _one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads of a busy machine wait for each other at every step."""
    monkeypatch.setattr(session, "usable_cores", lambda: 1)


@pytest.fixture(scope="session")
def paceline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """Starts a real `paceline` process: paceline("run", file, "--out", out)."""
    zygote = Zygote(tmp_path_factory.mktemp("logs"))
    yield zygote
    zygote.close()
