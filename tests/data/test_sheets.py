import numpy as np
import pytest
from PIL import Image

from paceline.data import sheets
from paceline.errors import DataError

TILE = 2


def sheet(path, number):
    """10,000 tiles, each of one colour that says which tile it is."""
    i = np.arange(10_000)
    colour = np.stack([i // 256, i % 256, np.full_like(i, number)], 1).astype(np.uint8)
    grid = colour.reshape(100, 1, 100, 1, 3).repeat(TILE, 1).repeat(TILE, 3)
    Image.fromarray(grid.reshape(100 * TILE, 100 * TILE, 3)).save(path, lossless=True)


@pytest.fixture
def folder(tmp_path):
    for number in range(2):
        sheet(tmp_path / f"train_{number}.png", number)
    sheet(tmp_path / "test_0.webp", 9)
    np.savez(tmp_path / "labels.npz", y_train=np.arange(30_000) % 7, y_test=np.zeros(10_000, np.uint8), names=["a"])
    return tmp_path


def test_tiles_come_row_by_row_and_sheet_by_sheet(folder):
    found = sheets.read(folder, TILE)
    assert (found.train.shape, found.test.shape) == ((20_000, 3, TILE, TILE), (10_000, 3, TILE, TILE))
    for i in (0, 1, 99, 100, 9_999, 10_000, 13_579):
        n = i % 10_000
        assert found.train[i, :, 1, 0].tolist() == [n // 256, n % 256, i // 10_000]
    assert (found.test[:, 2] == 9).all()
    assert len(found.labels["y_train"]) == 20_000
    assert found.labels["names"].tolist() == ["a"]


def test_the_checksum_is_of_the_content(folder):
    before = sheets.read(folder, TILE).checksum
    assert sheets.read(folder, TILE).checksum == before
    sheet(folder / "train_1.png", 5)
    assert sheets.read(folder, TILE).checksum != before


def test_what_is_wrong_is_named(folder):
    with pytest.raises(DataError, match=r"train_0.png has 200 x 200 pixels; a sheet here has 300 x 300"):
        sheets.read(folder, 3)
    np.savez(folder / "labels.npz", y_train=np.zeros(5), y_test=np.zeros(10_000))
    with pytest.raises(DataError, match="fewer labels than there are images"):
        sheets.read(folder, TILE)
    (folder / "labels.npz").write_bytes(b"rubbish")
    with pytest.raises(DataError, match="does not hold y_train and y_test"):
        sheets.read(folder, TILE)
    (folder / "train_1.png").write_bytes(b"rubbish")
    with pytest.raises(DataError, match=r"train_1\.png cannot be decoded"):
        sheets.read(folder, TILE)
    (folder / "test_0.webp").unlink()
    (folder / "train_1.png").unlink()
    with pytest.raises(DataError, match="no sheet test_0"):
        sheets.read(folder, TILE)


def test_labels_are_never_unpickled(folder):
    np.savez(folder / "labels.npz", y_train=np.array([{}] * 20_000, dtype=object), y_test=np.zeros(10_000))
    with pytest.raises(DataError, match="allow_pickle"):
        sheets.read(folder, TILE)
