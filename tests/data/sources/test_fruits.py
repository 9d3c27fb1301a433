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


def photos_on_both_sides(data):
    """Of how many test images a copy is among the training images, by their names."""
    known = {name.partition(" copy ")[0] for name in data.train.files}
    return sum(name.partition(" copy ")[0] in known for name in data.test.files)


def test_copies_stay_with_their_photo_unless_they_are_split_themselves(pack):
    own = fruits(pack("fruits"), size=32, copies=2)
    assert {name: len(part) for name, part in own.splits.items()} == {"train": 3192, "validation": 354, "test": 987}
    assert photos_on_both_sides(own) == 0
    by_photo, by_copy = (fruits(pack("fruits"), size=32, copies=2, split=split) for split in ("photos", "copies"))
    assert len(by_photo.test) == pytest.approx(len(by_copy.test), abs=3)
    assert photos_on_both_sides(by_photo) == 0
    assert photos_on_both_sides(by_copy) > 0.8 * len(by_copy.test)
    assert len({own.checksum, by_photo.checksum, by_copy.checksum}) == 3


def test_another_split_seed_holds_out_other_photos(pack):
    first, second = (fruits(pack("fruits"), size=32, split="photos", split_seed=seed) for seed in (0, 1))
    assert set(first.test.files) != set(second.test.files)
