import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.data.copies import CHANGES, with_copies, with_their_photo
from paceline.data.image_cache import Stored
from paceline.data.split_images import Parted


def some(n=3, size=16, root=None):
    images = np.random.default_rng(0).integers(0, 256, (n, 3, size, size), dtype=np.uint8)
    return Stored("key", images, tuple(f"a/{i}.png" for i in range(n)), root=root)


@pytest.mark.parametrize("cached", [False, True])
def test_each_photo_is_followed_by_its_copies(tmp_path, cached):
    photos = some(root=tmp_path if cached else None)
    found = with_copies(photos, 8)
    assert found.images.shape == (27, 3, 16, 16)
    assert (found.images[::9] == photos.images).all()
    assert found.names[9:11] == ("a/1.png", "a/1.png copy 1")
    assert len({image.tobytes() for image in found.images}) == 27
    assert (with_copies(photos, 8).images == found.images).all()


def test_fewer_copies_are_the_first_of_more():
    few, many = with_copies(some(), 3), with_copies(some(), len(CHANGES))
    assert (few.images.reshape(3, 4, -1) == many.images.reshape(3, 9, -1)[:, :4]).all()
    assert few.key != many.key


def test_without_copies_it_is_what_it_was():
    photos = some()
    assert with_copies(photos, 0) is photos


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 8), st.permutations(range(7)))
def test_a_split_of_photos_takes_all_copies_along(count, order):
    parts = {"train": np.array(order[:4]), "validation": np.array(order[4:5]), "test": np.array(order[5:])}
    parted = with_their_photo(Parted(parts, np.arange(7), ("a", "b")), count)
    assert sorted(np.concatenate(list(parted.parts.values()))) == list(range(7 * (count + 1)))
    for name, of in parts.items():
        assert set(parted.parts[name] // (count + 1)) == set(of)
    assert (parted.labels == np.arange(7 * (count + 1)) // (count + 1)).all()
