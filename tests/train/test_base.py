"""Frozen bases, thawed ones, slower ones, and bases that are asked only once."""

import dataclasses
import itertools
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.errors import StudyError
from paceline.spec import Run
from paceline.spec.run import embeds
from paceline.train import build, checkpoint, weights
from paceline.train.base import head_of
from paceline.train.features import embedded
from paceline.train.loop import train
from paceline.train.parallel import beat
from paceline.train.rows import Outcome, Pause, Row
from tests.pictures import coloured

NETWORK = {"name": "mobilenet_v2", "stem": "small"}


@pytest.fixture(scope="module")
def pictures() -> Dataset:
    return coloured(32, 12, 12)


def run_of(**said) -> Run:
    base = {"data": "cifar10", "model": NETWORK, "optimizer": "adam", "lr": 0.01, "batch": 8, "epochs": 2}
    return Run(**base | said)


def trained(run: Run, data: Dataset, **how) -> tuple[list[Row], dict[str, torch.Tensor], Outcome]:
    """Its rows, its state after the last step, and how it ended."""
    rows, state = [], {}
    outcome = None
    for item in train(run, data, **how):
        if isinstance(item, Row):
            rows.append(item)
        elif isinstance(item, Outcome):
            outcome = item
        elif isinstance(item, Pause):
            state = {name: value.clone() for name, value in item.snapshot()["model"].items()}
    assert outcome is not None
    return rows, state, outcome


def start(run: Run, data: Dataset) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in build.model(run, data, Path()).state_dict().items()}


def kept(cache: Path) -> int:
    return len(list((cache / "paceline" / "features").glob("*/meta.json")))


@pytest.fixture(autouse=True)
def _look_after_every_step(monkeypatch):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)


def test_a_frozen_base_keeps_weights_and_statistics_and_the_head_learns(pictures):
    run = run_of(freeze="base")
    before, (_, after, _) = start(run, pictures), trained(run, pictures)
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert moved == {"classifier.1.weight", "classifier.1.bias"}


def test_without_freezing_all_of_it_learns(pictures):
    before, (_, after, _) = start(run_of(), pictures), trained(run_of(), pictures)
    assert all(not torch.equal(after[name], before[name]) for name in before)


def test_a_base_thaws_after_the_epochs_that_were_said(pictures):
    run = run_of(freeze="base", finetune_after=1, epochs=2)
    before = start(run, pictures)
    still = []
    for item in train(run, pictures):
        if isinstance(item, Pause):
            state = item.snapshot()["model"]
            still.append(torch.equal(state["features.0.0.weight"], before["features.0.0.weight"]))
    assert still == [True] * 4 + [False] * 3


def test_a_thawing_run_goes_on_from_a_checkpoint_as_if_nothing_had_been(pictures, tmp_path):
    run = run_of(freeze="base", finetune_after=1, epochs=2, base_lr=0.1)
    whole, _, _ = trained(run, pictures)
    for at in (2, 4, 6):
        for item in train(run, pictures):
            if isinstance(item, Pause) and item.step == at:
                checkpoint.save(tmp_path / "kept", item.snapshot())
                break
        rest, _, _ = trained(run, pictures, resume=checkpoint.load(tmp_path / "kept"))
        for row, alike in zip(reversed(rest), reversed(whole), strict=False):
            assert (row.loss, row.train_loss) == (alike.loss, alike.train_loss)


def test_the_base_learns_at_its_own_rate(pictures):
    """One step of plain gradient descent moves the base by base_lr times what it would, the head by all of it."""
    said = {"optimizer": "gd", "steps": 2, "epochs": None, "lr": 0.1}
    after = {}
    for share in (1.0, 0.25):
        run = run_of(base_lr=share, **said)
        before = start(run, pictures)
        first = next(item for item in train(run, pictures) if isinstance(item, Pause))
        now = first.snapshot()["model"]
        after[share] = {name: now[name] - before[name] for name in ("features.0.0.weight", "classifier.1.weight")}
    assert torch.allclose(after[0.25]["features.0.0.weight"], 0.25 * after[1.0]["features.0.0.weight"], atol=1e-7)
    assert torch.allclose(after[0.25]["classifier.1.weight"], after[1.0]["classifier.1.weight"], atol=1e-7)


@pytest.mark.parametrize("model", [NETWORK, {"name": "squeezenet1_1", "stem": "small"}])
@pytest.mark.parametrize("said", [{}, {"optimizer": "momentum", "image_size": 24}])
def test_features_computed_once_train_the_head_as_the_whole_network_does(model, said, pictures, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = run_of(model=model, freeze="base", **said)
    assert embeds(run)
    features = embedded(run, pictures, tmp_path, Files.search())
    again = embedded(run, pictures, tmp_path, Files.search())
    assert torch.equal(features.train.x, again.train.x)
    assert kept(tmp_path) == 1
    whole, _, seen = trained(run, pictures)
    head, _, also = trained(run, features)
    assert whole[0].loss == pytest.approx(head[0].loss, rel=1e-4)
    for a, b in zip(whole[1:], head[1:], strict=True):
        assert a.loss == pytest.approx(b.loss, rel=1e-4)
        assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
    assert seen.examined == also.examined or seen.examined.matrix == also.examined.matrix


def test_features_are_asked_anew_for_other_images_weights_or_sizes(pictures, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    other = dataclasses.replace(pictures, checksum="sha256:other")
    for count, (run, data) in enumerate(
        [
            (run_of(freeze="base"), pictures),
            (run_of(freeze="base", seed=1), pictures),
            (run_of(freeze="base", image_size=20), pictures),
            (run_of(freeze="base", normalize="none"), pictures),
            (run_of(freeze="base"), other),
        ],
        1,
    ):
        embedded(run, data, tmp_path, Files.search())
        assert kept(tmp_path) == count
    embedded(run_of(freeze="base", lr=0.5), pictures, tmp_path, Files.search())
    assert kept(tmp_path) == 5


def test_the_cache_of_features_is_bounded(pictures, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PACELINE_CACHE_GB", "0.0007")  # two of them
    for seed in range(4):
        monkeypatch.setattr("paceline.data.entries._used", set())  # as if each were a process of its own
        embedded(run_of(freeze="base", seed=seed), pictures, tmp_path, Files.search())
    assert 1 <= kept(tmp_path) <= 2


def test_a_cache_that_cannot_be_written_is_done_without(pictures, monkeypatch, tmp_path):
    written = embedded(run_of(freeze="base"), pictures, tmp_path, Files.search())
    (tmp_path / "paceline").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = embedded(run_of(freeze="base"), pictures, tmp_path, Files.search())
    for ours, kept_ones in ((made.train.x, written.train.x), (made.test.x, written.test.x)):
        torch.testing.assert_close(ours, kept_ones, rtol=1e-3, atol=1e-3 * float(kept_ones.abs().max()))


@pytest.mark.parametrize(
    "said", [{"augment": {"flip": True}}, {"finetune_after": 1}, {"freeze": "none"}, {"model": "lab_cnn"}]
)
def test_images_that_change_or_bases_that_thaw_are_asked_each_time(said):
    assert not embeds(run_of(**{"freeze": "base", **said}))


def test_training_starts_from_the_weights_of_a_file(pictures, tmp_path):
    run = run_of(weights="kept.safetensors", normalize="data")
    network = build.model(run_of(seed=9), pictures, tmp_path)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, tmp_path / "kept.safetensors")
    first = next(item for item in train(run, pictures, tmp_path) if isinstance(item, Row))
    same = next(item for item in train(run_of(seed=9), pictures, tmp_path) if isinstance(item, Row))
    assert first.loss == same.loss


def test_the_head_of_a_file_is_where_training_starts_with_and_without_features(pictures, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    network = build.model(run_of(seed=9), pictures, tmp_path)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, tmp_path / "kept.safetensors")
    run = run_of(weights="kept.safetensors", freeze="base")
    features = embedded(run, pictures, tmp_path, Files.search())
    head = build.model(run, features, tmp_path).head
    assert torch.equal(head[1].weight, network.head[1].weight)
    whole, small = (trained(run, data, folder=tmp_path)[0] for data in (pictures, features))
    assert [row.loss for row in small] == pytest.approx([row.loss for row in whole], rel=1e-4)


def test_a_head_of_other_classes_starts_as_drawn_with_and_without_features(pictures, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    other = build.model(run_of(seed=9), dataclasses.replace(pictures, classes=7), tmp_path)
    save_file({name: value.contiguous() for name, value in other.state_dict().items()}, tmp_path / "kept.safetensors")
    run = run_of(weights="kept.safetensors", freeze="base")
    features = embedded(run, pictures, tmp_path, Files.search())
    drawn = build.model(run_of(), pictures, tmp_path).head[1].weight
    for data in (pictures, features):
        assert torch.equal(build.model(run, data, tmp_path).head[1].weight, drawn)


def test_no_run_reads_the_file_again_for_its_head(pictures, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    network = build.model(run_of(seed=9), pictures, tmp_path)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, tmp_path / "kept.safetensors")
    features = embedded(run_of(weights="kept.safetensors", freeze="base"), pictures, tmp_path, Files.search())
    reads: list[Path] = []
    monkeypatch.setattr(weights, "read", lambda path, read=weights.read: reads.append(path) or read(path))
    for seed in range(3):
        build.model(run_of(weights="kept.safetensors", freeze="base", seed=seed), features, tmp_path)
    assert not reads


def test_a_base_that_the_file_lacks_a_part_of_cannot_be_frozen(pictures, tmp_path):
    run = run_of(weights="part.safetensors", freeze="base")
    network = build.model(run_of(), pictures, tmp_path).state_dict()
    save_file({"features.0.0.weight": network["features.0.0.weight"].contiguous()}, tmp_path / "part.safetensors")
    with pytest.raises(StudyError, match="lacks a part of the base"):
        next(train(run, pictures, tmp_path))
    assert isinstance(next(train(run_of(weights="part.safetensors"), pictures, tmp_path)), Row)


def test_the_head_is_what_the_network_says_or_its_last_fitting_layer():
    own = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 3))
    assert head_of(own, 3) is own[2]
    with pytest.raises(StudyError, match="no layer with 5 outputs"):
        head_of(own, 5)


def test_augmentation_and_its_draws_go_on_from_a_checkpoint(pictures, tmp_path):
    run = run_of(augment={"flip": True, "crop": 2, "rotate": 10, "cutout": 3}, model="softmax")
    whole, _, _ = trained(run, pictures)
    plain, _, _ = trained(run_of(model="softmax"), pictures)
    assert whole[-1].train_loss != plain[-1].train_loss
    item = next(i for i in itertools.islice(train(run, pictures), 3, None) if isinstance(i, Pause))
    checkpoint.save(tmp_path / "kept", item.snapshot())
    rest, _, _ = trained(run, pictures, resume=checkpoint.load(tmp_path / "kept"))
    assert [r.loss for r in rest] == [r.loss for r in whole][-len(rest) :]
