"""The data that runs train on: made once, and kept for the next run that asks for the same."""

from collections.abc import Iterator
from typing import Any

from paceline.execute import datafiles
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.record.layout import PackFolder
from paceline.spec import Run
from paceline.spec.run import embeds
from paceline.spec.sources import source_hash

_datasets: dict[Any, Any] = {}
_features: dict[Any, Any] = {}
_pictures: dict[int, str | None] = {}  # of the test examples of the data set at hand


def files(job: Job) -> Any:
    """Where data and weights are looked for."""
    from paceline.data.locate import Files

    return Files.search(job.data)


def dataset(run: Run, job: Job) -> Any:
    """The run's data, or what its frozen base makes of them; kept for the next run that asks for the same."""
    if not embeds(run):
        return raw(run, job)
    from paceline.train import build
    from paceline.train.features import embedded

    made, where = raw(run, job), files(job)
    start = build.weights(run, job.folder, where)
    key = (run.model, start.sha256 if start else run.seed, run.image_size, run.normalize, run.device)
    if key not in _features:
        _features.clear()
        _features[key] = embedded(run, made, job.folder, where)
    return _features[key]


def raw(run: Run, job: Job) -> Any:
    """The data as they are. Read anew when their files or their source have changed: a notebook lives long."""
    from paceline.train import build

    source = source_hash(run.data, job.folder) if run.data.own else None
    files_ = datafiles.files_hash(run.data, job.folder)
    key = (run.data, job.data, job.folder, source, files_, build.labelled(run))
    if key not in _datasets:
        for kept in (_datasets, _features, _pictures):
            kept.clear()
        _datasets[key] = build.data(run, files(job), job.folder)
    return _datasets[key]


def notes(folder: PackFolder, dataset: Any) -> Iterator[Event]:
    """What a person should know of the data."""
    yield from (Event("note", folder.id, reason=f"{dataset.name}: {note}") for note in dataset.notes)


def picture(dataset: Any, index: int) -> str | None:
    """A small picture of a test example, where it is an image."""
    from paceline.data.picture import png

    if index not in _pictures:
        _pictures[index] = png(dataset.test.x[index])
    return _pictures[index]
