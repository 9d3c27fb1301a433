from pathlib import Path

import pytest

from paceline import cache
from paceline.data import locate
from paceline.data.catalogue import Packaged
from paceline.data.locate import Files
from paceline.errors import DataError


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("PACELINE_DATA", raising=False)


def put(root: Path, name: str, file: str) -> Path:
    (root / name).mkdir(parents=True)
    (root / name / file).touch()
    return root / name / file


def test_the_cache_is_searched_and_written_by_default(tmp_path):
    cache = tmp_path / "xdg" / "paceline" / "data"
    assert Files.search() == Files((cache,), cache)
    assert Files.search().home("mnist") == cache / "mnist"


def test_the_variable_is_searched_first_but_never_written(monkeypatch, tmp_path):
    monkeypatch.setenv("PACELINE_DATA", str(tmp_path))
    cache = tmp_path / "xdg" / "paceline" / "data"
    assert Files.search() == Files((tmp_path, cache), cache)


def test_a_given_folder_wins_over_the_variable_and_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("PACELINE_DATA", "/nowhere")
    files = Files.search(tmp_path)
    assert files.roots[0] == files.writes_to == tmp_path
    assert Path("/nowhere") not in files.roots


def test_a_folder_that_is_not_there_is_refused_unless_it_is_to_be_made(monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    with pytest.raises(DataError, match=r"--data is .*gone, which is no folder"):
        Files.search(gone)
    assert Files.search(gone, must_exist=False).home("mnist") == gone / "mnist"
    monkeypatch.setenv("PACELINE_DATA", str(gone))
    with pytest.raises(DataError, match=r"\$PACELINE_DATA is .*gone"):
        Files.search()


def test_the_first_folder_that_has_the_file_wins(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    second = put(b, "s", "f.gz")
    assert Files((a, b), b).find("s", "f.gz") == second
    first = put(a, "s", "f.gz")
    assert Files((a, b), b).find("s", "f.gz") == first


def test_a_missing_file_names_set_file_folders_and_both_remedies(tmp_path):
    with pytest.raises(DataError) as caught:
        Files.search(tmp_path).find("mnist", "x.gz")
    message = str(caught.value)
    for part in (
        "'mnist' lacks the file x.gz",
        f"\n  {tmp_path}/mnist",
        f"\n  {tmp_path}/xdg/paceline/data/mnist",
        f"`paceline data get mnist --data {tmp_path}`",
        f"put the file at {tmp_path}/mnist/x.gz",
    ):
        assert part in message


def test_the_remedy_names_no_folder_for_the_cache():
    assert Files.search().remedy("mnist") == "paceline data get mnist"


def test_the_cache_follows_the_custom_of_the_system(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate.cache_folder() == tmp_path / ".cache/paceline/data"
    monkeypatch.setattr(cache.sys, "platform", "darwin")
    assert locate.cache_folder() == tmp_path / "Library/Caches/paceline/data"
    monkeypatch.setattr(cache.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert locate.cache_folder() == tmp_path / "local/paceline/data"


def test_a_file_inside_a_package_is_found_or_the_package_is_to_be_installed():
    assert locate.find_inside(Packaged("sklearn", "datasets/data", "scikit-learn"), "digits.csv.gz").is_file()
    with pytest.raises(DataError, match="pip install --force-reinstall absent"):
        locate.find_inside(Packaged("no_such_module", "data", "absent"), "f.gz")
