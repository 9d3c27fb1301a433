"""What the shell is told when a user presses Tab. Nothing heavy is imported; a file that cannot be read offers nothing.

Where these offer nothing, the shell completes file names by itself.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from paceline.errors import PacelineError


def studies(incomplete: str) -> list[str]:
    """The studies that ship, and the study files of the folder that is being typed."""
    from paceline.gallery import gallery

    return [*_beginning(gallery(), incomplete), *_files(incomplete)]


def recorded(ctx: typer.Context, incomplete: str) -> list[str]:
    """The studies with a record, and study files."""
    from paceline.record.layout import studies as known

    try:
        names = [folder.path.name for folder in known(Path(ctx.params.get("out") or "runs"))]
    except OSError:
        names = []
    return [*_beginning(names, incomplete), *_files(incomplete)]


def scales(ctx: typer.Context, incomplete: str) -> list[str]:
    """The sizes that the study defines."""
    from paceline.spec.document import mapping

    return _beginning(mapping(_said(ctx).get("scales")), incomplete)


def keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """`lr=`, `optimizer.beta2=`: first what the study says, then what any run may have."""
    from paceline.spec.document import mapping
    from paceline.spec.run import FIELDS

    said = _said(ctx)
    places = [mapping(said.get(place)) for place in ("compare", "tune", "base")]
    places += [mapping(case) for case in mapping(said.get("cases")).values()]
    places += [mapping(place.get("tune")) for place in places]
    names = dict.fromkeys((*(name for place in places for name in place), *FIELDS))
    return [f"{name}=" for name in _beginning(names, incomplete) if name != "tune"]


def data_sets(incomplete: str) -> list[str]:
    from paceline.data.catalogue import ENTRIES

    return _beginning(ENTRIES, incomplete)


def fetched(incomplete: str) -> list[str]:
    """What can be downloaded: data sets and files of weights."""
    from paceline.data.catalogue import ENTRIES
    from paceline.data.pretrained import IMAGENET

    return _beginning((*(name for name, entry in ENTRIES.items() if entry.fetched), *IMAGENET.values()), incomplete)


def _said(ctx: typer.Context) -> dict[str, Any]:
    """What the file of the study on the command line says, right or wrong."""
    from paceline.gallery import gallery
    from paceline.spec.document import mapping, read

    study = next(iter(ctx.args), "")  # an option without its value, as yet, leaves the arguments unread
    try:
        return mapping(read(gallery().get(study, Path(study))).data)
    except PacelineError:
        return {}


def _files(incomplete: str) -> list[str]:
    begun = incomplete.rpartition("/")[2]
    folder = incomplete.removesuffix(begun)
    try:
        found = sorted(Path(folder or ".").iterdir())
    except OSError:
        return []
    names = _beginning((path.name for path in found if path.suffix in (".yaml", ".yml")), begun)
    return [f"{folder}{name}" for name in names]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
