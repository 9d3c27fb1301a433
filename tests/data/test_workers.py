"""torch's DataLoader as a loader: the batches that the memory loader gives, whoever makes them."""

import itertools
import os
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from paceline.data.batches import Composition
from paceline.data.dataset import Split
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.data.show import IMAGENET, Look
from paceline.data.sources.folder import folder
from paceline.data.workers import Workers
from paceline.spec import Run
from paceline.spec.run import Augment, Loader

CPU = torch.device("cpu")
CHANGES = Augment(flip="horizontal", crop=2, shift=1, rotate=20, zoom=0.1, cutout=3)


def run_of(**said) -> Run:
    return Run(**{"data": "cifar10", "model": "softmax", "optimizer": "gd", "lr": 0.1, "batch": 4, "steps": 7} | said)


def colours(count: int = 11) -> Split:
    draw = torch.Generator().manual_seed(3)
    x = torch.randint(0, 256, (count, 3, 8, 10), generator=draw, dtype=torch.uint8)
    return Split(x, torch.randint(0, 5, (count,), generator=draw))


def numbers(count: int = 11) -> Split:
    draw = torch.Generator().manual_seed(4)
    return Split(torch.rand(count, 6, generator=draw), torch.rand(count, 2, generator=draw))


def compare(run: Run, split: Split, look: Look, said: Loader, start: int = 0, batches: int = 7) -> None:
    composition = Composition(run, len(split))
    ours = Memory(split, CPU, torch.float32, False, look, run.augment).batches(composition, start)
    theirs = Workers(split, torch.float32, look, run.augment, said).batches(composition, start)
    pairs = zip(itertools.islice(ours, batches), itertools.islice(theirs, batches), strict=True)
    for (batch, x, y), (also, other_x, other_y) in pairs:
        assert (batch.step, batch.epoch, batch.ends_epoch) == (also.step, also.epoch, also.ends_epoch)
        assert torch.equal(batch.indices, also.indices)
        torch.testing.assert_close(x, other_x, rtol=1e-5, atol=1e-6)
        assert torch.equal(y, other_y)
    theirs.close()


@pytest.mark.parametrize("said", [Loader(), Loader(workers=2), Loader(workers=2, persistent=False, prefetch=1)])
@pytest.mark.parametrize(
    ("split", "look", "augment"),
    [
        (colours(), Look(None, *IMAGENET), CHANGES),
        (colours(), Look(12), None),
        (numbers(), Look(), None),
    ],
)
def test_the_same_samples_as_the_memory_loader(split, look, augment, said):
    compare(run_of(augment=augment), split, look, said)


def test_more_workers_than_cores_are_not_warned_of():
    many = Loader(workers=len(os.sched_getaffinity(0)) + 1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        compare(run_of(), colours(), Look(), many)
    assert not said


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 6),
    st.sampled_from(["shuffle", "file", "random"]),
    st.integers(0, 9),
    st.integers(0, 2**40),
    st.sampled_from([None, 5, {"size": 6, "redraw": "epoch"}]),
)
def test_the_same_samples_from_any_step_in_any_order(batch, order, start, seed, subset):
    run = run_of(batch=batch, order=order, seed=seed, subset=subset, augment={"flip": True, "crop": 1})
    compare(run, colours(), Look(), Loader(), start, 5)


def test_images_from_files_are_decoded_anew_to_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    draw = np.random.default_rng(0)
    for name in ("apple", "pear"):
        (tmp_path / "set" / name).mkdir(parents=True)
        for i in range(10):
            picture = Image.fromarray(draw.integers(0, 256, (40, 30, 3), dtype=np.uint8))
            picture.save(tmp_path / "set" / name / f"{i}.jpg")
    found = folder(Files.search(), path=str(tmp_path / "set"), size=16).train
    assert found.decode is not None
    assert all(torch.equal(found.decode(i), found.x[i]) for i in range(len(found)))
    compare(run_of(augment={"flip": True}), found, Look(), Loader(workers=1))


def test_an_image_that_is_gone_ends_the_run_with_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("a", "b"):
        (tmp_path / "set" / name).mkdir(parents=True)
        for i in range(8):
            Image.new("RGB", (20, 20), (i, 0, 0)).save(tmp_path / "set" / name / f"{i}.png")
    found = folder(Files.search(), path=str(tmp_path / "set"), size=16).train
    (tmp_path / "set" / found.files[0]).unlink()
    with pytest.raises(Exception, match=found.files[0]):
        found.decode(0)


def test_float_images_are_shown_in_the_type_that_the_run_computes_in():
    split = Split(torch.rand(9, 1, 8, 8), torch.randint(0, 3, (9,)))
    composition = Composition(run_of(augment={"flip": True}), 9)
    _, x, _ = next(Workers(split, torch.float64, Look(), Augment(flip="horizontal"), Loader()).batches(composition, 0))
    assert x.dtype == torch.float64
