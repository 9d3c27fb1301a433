"""Augmentation against small pictures made by hand, whose every pixel is known."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.data.augment import DRAWS, _moved_by_pixels, _moved_by_rows, _turned, augmented
from paceline.data.draws import uniforms
from paceline.spec.run import Augment

SIDE = 6


def pictures(count: int = 200, channels: int = 1, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    """Every pixel tells its row and column: 1 + row * 10 + column; 0 is what comes from outside."""
    rows, columns = torch.arange(SIDE).view(-1, 1, 1), torch.arange(SIDE).view(1, -1, 1)
    one = (1 + rows * 10 + columns).expand(SIDE, SIDE, channels)
    return one.expand(count, SIDE, SIDE, channels).to(dtype).clone()


def changed(how: dict[str, object], count: int = 200, key: int = 1, **said: object) -> torch.Tensor:
    return augmented(pictures(count, **said), Augment(**how), key, torch.arange(count))  # type: ignore[arg-type]


@pytest.mark.parametrize(("how", "dims"), [("horizontal", (2,)), ("vertical", (1,))])
def test_a_flip_mirrors_about_half_of_the_pictures_and_leaves_the_others(how, dims):
    before, after = pictures(), changed({"flip": how})
    mirrored = (after == before.flip(dims)).flatten(1).all(1)
    same = (after == before).flatten(1).all(1)
    assert bool((mirrored ^ same).all())
    assert 60 < int(mirrored.sum()) < 140


def test_both_flips_are_drawn_apart():
    before, after = pictures(400), changed({"flip": "both"}, 400)
    found = [(after == before.flip(dims)).flatten(1).all(1).sum() for dims in ((), (1,), (2,), (1, 2))]
    assert sum(map(int, found)) == 400
    assert all(60 < int(count) < 140 for count in found)


@pytest.mark.parametrize(("most", "reach"), [(1, 1), (2, 2), (0.34, 2)])
def test_a_shift_moves_by_whole_pixels_and_repeats_the_edge(most, reach):
    found = set()
    for picture in changed({"shift": most}, 400).squeeze(3):
        down, across = int(picture[3, 3]) // 10 - 3, int(picture[3, 3]) % 10 - 4
        rows = (torch.arange(SIDE) + down).clamp(0, SIDE - 1)
        columns = (torch.arange(SIDE) + across).clamp(0, SIDE - 1)
        assert torch.equal(picture, pictures(1)[0, :, :, 0][rows][:, columns])
        found.add((down, across))
    assert found == {(a, b) for a in range(-reach, reach + 1) for b in range(-reach, reach + 1)}


def test_a_crop_shows_black_beyond_the_edge():
    for picture in changed({"crop": 2}, 300).squeeze(3):
        kept = picture.nonzero()
        assert len(kept)
        row, column = kept[0].tolist()
        value = int(picture[row, column]) - 1
        down, across = value // 10 - row, value % 10 - column
        wide = torch.nn.functional.pad(pictures(1)[0, :, :, 0], (2, 2, 2, 2))
        assert torch.equal(picture, wide[2 + down : 8 + down, 2 + across : 8 + across])


@pytest.mark.parametrize(("draw", "quarters"), [(0.75, 1), (0.5, 0), (0.25, -1)])
def test_a_quarter_turn_is_exact(draw, quarters):
    before = pictures(1, 3, torch.float32)
    after = _turned(before, Augment(rotate=180), torch.tensor([[draw], [0.5]]))
    assert torch.allclose(after, before.rot90(quarters, (1, 2)), atol=1e-3)


def test_zoom_keeps_the_centre_and_moves_the_rest_by_the_share():
    picture = torch.zeros(500, 21, 21, 1)
    picture[:, :, 15] = 255
    found = augmented(picture, Augment(zoom=0.4), 7, torch.arange(500))[:, 10, :, 0]
    places = (found * torch.arange(21)).sum(1) / found.sum(1).clamp(min=1e-9)
    scale = 1 + (uniforms(7, torch.arange(500), 10)[7] * 2 - 1) * 0.4
    assert torch.allclose(places - 10, 5 * scale, atol=0.6)
    assert float(scale.min()) < 0.63
    assert float(scale.max()) > 1.37


def test_cutout_blackens_one_square():
    for picture in changed({"cutout": 3}, 200).squeeze(3):
        gone = (picture == 0).nonzero()
        (top, left), (bottom, right) = gone.amin(0).tolist(), gone.amax(0).tolist()
        assert len(gone) == (bottom - top + 1) * (right - left + 1)
        assert bottom - top < 3
        assert right - left < 3


@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        Augment,
        flip=st.sampled_from(["none", "horizontal", "both"]),
        shift=st.sampled_from([0, 1, 0.2]),
        crop=st.integers(0, 2),
        rotate=st.sampled_from([0, 10]),
        zoom=st.sampled_from([0, 0.2]),
        cutout=st.integers(0, 3),
    ),
    st.integers(0, 2**62),
    st.permutations(range(8)),
)
def test_what_is_drawn_depends_on_the_key_and_the_index_alone(how, key, order):
    whole = augmented(pictures(8, 3), how, key, torch.arange(8))
    indices = torch.tensor(order)
    assert torch.equal(augmented(pictures(8, 3), how, key, indices), whole[indices])
    alone = torch.cat([augmented(pictures(1, 3), how, key, indices[i : i + 1]) for i in range(8)])
    assert torch.equal(alone, whole[indices])
    keys = torch.tensor([key] * 8)
    assert torch.equal(augmented(pictures(8, 3), how, keys, indices), whole[indices])


def test_bytes_stay_bytes_and_the_given_pictures_stay_as_they_were():
    before = pictures(50, 3)
    after = augmented(before, Augment(flip=True, rotate=20, zoom=0.1, crop=1, cutout=2), 5, torch.arange(50))
    assert after.dtype == torch.uint8
    assert after.shape == before.shape
    assert torch.equal(before, pictures(50, 3))


def test_uniforms_are_uniform_and_unlike_for_each_index_place_and_key():
    drawn = uniforms(12345, torch.arange(100_000), 4)
    assert float(drawn.min()) >= 0
    assert float(drawn.max()) < 1
    counts = torch.histc(drawn, 20, 0, 1)
    assert float((counts - 20_000).abs().max()) < 800
    correlated = torch.corrcoef(torch.cat([drawn, uniforms(12346, torch.arange(100_000), 4)]))
    assert float((correlated - torch.eye(8)).abs().max()) < 0.02


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([{"crop": 3}, {"shift": 2}, {"shift": 0.3}, {"crop": 9}, {"shift": 11}, {}]),
    st.sampled_from(["none", "horizontal", "vertical", "both"]),
    st.sampled_from([torch.uint8, torch.float32]),
    st.sampled_from([1, 3]),
    st.integers(0, 2**40),
)
def test_by_rows_and_by_pixels_is_the_same(moved, flip, dtype, channels, key):
    how = Augment(flip=flip, **moved)
    images = (torch.rand(9, 7, 10, channels) * 255).to(dtype)
    kept = images.clone()
    draws = uniforms(key, torch.arange(9), DRAWS)
    assert torch.equal(_moved_by_rows(images, how, draws), _moved_by_pixels(images, how, draws))
    assert torch.equal(images, kept)
