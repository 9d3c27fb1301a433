"""Where data files may lie on this machine, and where new ones go. Free of torch."""

import importlib.util
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from paceline.cache import user_cache
from paceline.data.catalogue import Entry, Packaged
from paceline.errors import DataError


@dataclass(frozen=True)
class Files:
    """The folders searched, in order; each holds one folder a set. `writes_to` is where `get` writes. `beside` is the
    study's folder, at which relative paths of its own begin."""

    roots: tuple[Path, ...]
    writes_to: Path
    beside: Path = Path()

    @classmethod
    def search(cls, data: Path | None = None, *, must_exist: bool = True) -> "Files":
        """`data` if given, else $PACELINE_DATA if set; then the user's cache.

        New files go to `data` if given, else to the cache: $PACELINE_DATA is often shared and read-only.
        """
        cache, variable = cache_folder(), os.environ.get("PACELINE_DATA")
        first = data or (Path(variable) if variable else None)
        if first and must_exist and not first.is_dir():
            asked = "--data" if data else "$PACELINE_DATA"
            raise DataError(f"{asked} is {first}, which is no folder. Create it, or name the one with the data.")
        roots = (first.absolute(), cache) if first else (cache,)
        return cls(roots, data.absolute() if data else cache)

    def own(self, path: str) -> Path:
        """A path that the study says."""
        try:
            return self.beside / Path(path).expanduser()
        except RuntimeError as error:
            raise DataError(f"{path}: {error}") from None

    def home(self, name: str) -> Path:
        """The folder that `paceline data get` fills for this set."""
        return self.writes_to / name

    def remedy(self, name: str) -> str:
        """The command that gets this set to where it will be found."""
        chosen = "" if self.writes_to == cache_folder() else f" --data {shlex.quote(str(self.writes_to))}"
        return f"paceline data get {name}{chosen}"

    def seek(self, name: str, file: str) -> Path | None:
        return next((p for root in self.roots if (p := root / name / file).is_file()), None)

    def find(self, name: str, file: str) -> Path:
        """The file of a set, or a DataError that says where it was sought and how to get it."""
        if path := self.seek(name, file):
            return path
        sought = "".join(f"\n  {root / name}" for root in self.roots)
        raise DataError(
            f"Data set '{name}' lacks the file {file}. Looked in:{sought}\n"
            f"Run `{self.remedy(name)}`, or put the file at {self.home(name) / file}"
        )

    def seek_form(self, known: Entry) -> Path | None:
        """The set in one of the forms that the catalogue accepts besides its files; the first one named wins."""
        places = ((self.roots[i] / known.name, form) for form in known.forms for i in range(len(self.roots)))
        return next((path for folder, form in places for path in sorted(folder.glob(form))), None)

    def find_form(self, known: Entry) -> Path:
        if path := self.seek_form(known):
            return path
        sought = "".join(f"\n  {root / known.name / form}" for root in self.roots for form in known.forms)
        raise DataError(
            f"Data set '{known.name}' is not here, and it cannot be downloaded automatically. Looked for:{sought}\n"
            f"{known.by_hand}"
        )


def cache_folder() -> Path:
    return user_cache() / "data"


def seek_inside(package: Packaged, file: str) -> Path | None:
    """A data file of an installed package, found without importing the package."""
    spec = importlib.util.find_spec(package.module)
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((p for f in folders if (p := Path(f) / package.folder / file).is_file()), None)


def find_inside(package: Packaged, file: str) -> Path:
    if path := seek_inside(package, file):
        return path
    raise DataError(
        f"The installed package {package.install} lacks {package.folder}/{file}. "
        f"Run `pip install --force-reinstall {package.install}`."
    )
