import pytest

from paceline.data.sources.fruits import fruits
from paceline.errors import DataError


def test_fruits_have_their_known_numbers(pack):
    data = fruits(pack("fruits"))
    assert {name: len(part) for name, part in data.splits.items()} == {"train": 1064, "validation": 118, "test": 329}
    assert data.names == ("freshapples", "freshbanana", "freshoranges", "rottenapples", "rottenbanana", "rottenoranges")
    assert data.input_shape == (3, 96, 96)
    assert 100 < data.train.x.float().mean() < 220
    assert data.notes == ()


def test_without_the_pack_it_says_what_to_do(files, tmp_path):
    with pytest.raises(DataError) as caught:
        fruits(files)
    assert "cannot be downloaded automatically" in str(caught.value)
    assert f"{tmp_path}/fruits/*.tar.gz" in str(caught.value)
    assert "folder:PATH" in str(caught.value)
