import pytest

from paceline.execute import session


@pytest.fixture(autouse=True)
def _one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads of a busy machine wait for each other at every step."""
    monkeypatch.setattr(session, "usable_cores", lambda: 1)
