"""Every set in the catalogue, and whether it is here. Free of torch."""

from collections.abc import Iterable
from typing import Any

from paceline.data.catalogue import ENTRIES, Entry
from paceline.data.locate import Files, seek_inside
from paceline.data.pretrained import IMAGENET, file_of, seek
from paceline.spec import Run


def describe(files: Files) -> list[dict[str, Any]]:
    """One row a set; files are looked for, not read: `check` reads them."""
    return [_row(known, files) for known in ENTRIES.values()]


def lacking(runs: Iterable[Run], files: Files) -> list[str]:
    """A line for each set and each file of weights of these runs that is not here, or not whole, with what to do.
    `files.beside` is the study's folder."""
    asked = {(run.data, run.weights, run.model.name) for run in runs}
    data = {part for part, _, _ in asked}
    known = [ENTRIES[name] for name in sorted({part.name for part in data}) if name in ENTRIES]
    states = [(entry.name, *_state(entry, files)) for entry in known]
    sets = [f"Data: {name} is {state}: {what}" for name, state, what in states if state in ("missing", "incomplete")]
    paths = sorted({files.own(part.complete["path"]) for part in data if part.name == "folder"})
    sets += [f"Data: {path.absolute()} is no folder." for path in paths if not path.is_dir()]
    weights = sorted({file_of(said, model) for _, said, model in asked if said != "none"})
    return [*sets, *(f"Weights: {name} is missing{_got(name)}" for name in weights if seek(name, files) is None)]


def _got(name: str) -> str:
    return f": paceline data get {name}" if name in IMAGENET.values() else "."


def _row(known: Entry, files: Files) -> dict[str, Any]:
    state, where = _state(known, files)
    return {
        "set": known.name,
        "about": known.about,
        "examples": known.examples or None,
        "shape": known.shape,
        "classes": known.classes,
        "state": state,
        "where": where,
        "source": known.source,
    }


def _state(known: Entry, files: Files) -> tuple[str, str]:
    """('made' | 'yours' | 'present' | 'missing' | 'incomplete', where it lies or what gets it)."""
    if form := files.seek_form(known):
        return "present", str(form.parent)
    if known.by_hand:
        home = files.home(known.name)
        return ("missing", f"For {home}: {known.by_hand}") if known.forms else ("yours", known.by_hand)
    if not known.files:
        return "made", "on the spot"
    inside, names = known.inside, [file.name for file in known.files]
    found = [seek_inside(inside, n) if inside else files.seek(known.name, n) for n in names]
    here = [path for path in found if path]
    if len(here) == len(found):
        return "present", str(here[0].parent)
    remedy = f"pip install {inside.install}" if inside else files.remedy(known.name)
    return ("incomplete" if here else "missing"), remedy
