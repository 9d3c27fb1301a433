"""A value set from outside (--set, --seeds, --scale) written into the document, above all that the file says."""

from typing import Any

from paceline.errors import StudyError, nearest
from paceline.spec.document import Document, Lines, mapping, parse

_STUDY = (
    "name",
    "question",
    "base",
    "compare",
    "tune",
    "cases",
    "repeat",
    "measure",
    "select",
    "published",
    "assumed",
    "scales",
)
Path = tuple[str, ...]


def override(document: Document, key: str, value: Any, label: str) -> Document:
    """`steps=200` sets the base and every case that says it; for an axis it replaces the axis; `tune.lr=[...]` goes by
    path; `cases=[a, b]` keeps those cases. `loader=4` takes `loader.workers` out of base and cases, and
    `loader.workers=4` goes into every case that has a loader of its own."""
    data, lines = _copy(document.data), dict(document.lines)
    if not isinstance(data, dict):
        return document
    if key == "cases" and isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        value = _keep(mapping(data.get("cases")), value, label)
    for path in _places(data, key, label):
        for inner in _inside(data, path):
            del _at(data, path[:-1])[inner[-1]]
            _forget(lines, inner)
        _write(data, path, [value] if _is_axis(path) and not _is_axis_value(value) else value)
        _forget(lines, path)
        lines[path] = label
    return Document(document.file, data, lines)


def read_value(value: str, label: str) -> Any:
    """What stands behind the = of `--set key=value`, read as a study file would read it."""
    try:
        return parse(value, label).data
    except StudyError as error:
        raise StudyError(error.message, where=label) from None


def _forget(lines: Lines, path: Path) -> None:
    for old in [known for known in lines if known[: len(path)] == path]:
        del lines[old]


def _is_axis(path: Path) -> bool:
    in_study = len(path) == 2 and path[0] in ("compare", "tune")
    return (in_study or (len(path) == 4 and path[2] == "tune")) and path[-1] != "sample"


def _is_axis_value(value: Any) -> bool:
    """A list, or a range to sample from."""
    return isinstance(value, list) or (isinstance(value, dict) and {"low", "high"} <= value.keys())


def _places(data: dict[str, Any], key: str, label: str) -> list[Path]:
    head, _, rest = key.partition(".")
    if head in ("cases", "scales") and rest:
        return [_named(data, head, rest, label)]
    if head == "base" and rest:
        _refuse_beneath(data, rest, label)
    if head in _STUDY:
        return [(head, rest)] if rest else [(head,)]
    for axes in ("compare", "tune"):
        if key in mapping(data.get(axes)):
            return [(axes, key)]
    places: list[Path] = [("base", key)]
    for name, case in mapping(data.get("cases")).items():
        if key in mapping(mapping(case).get("tune")):
            places.append(("cases", name, "tune", key))
        elif {key, head} & mapping(case).keys() or _inside(data, ("cases", name, key)):
            places.append(("cases", name, key))
    return places


def _refuse_beneath(data: dict[str, Any], key: str, label: str) -> None:
    """A value of the base that no run would have, because axes and cases stand above it."""
    cases = [mapping(case) for case in mapping(data.get("cases")).values()]
    axis = next((axes for axes in ("compare", "tune") if key in mapping(data.get(axes))), None)
    why = (
        f"{key} is an axis ({axis}.{key})" if axis
        else f"every case sets {key} itself" if cases and all(key in {*c, *mapping(c.get("tune"))} for c in cases)
        else ""
    )  # fmt: skip
    if why:
        raise StudyError(f"{why}, so the base's changes no run; say {key} instead of base.{key}.", where=label)


def _inside(data: dict[str, Any], path: Path) -> list[Path]:
    """The dotted keys that stand beside a key of base or of a case and reach into it."""
    settings = (path[0], len(path)) in (("base", 2), ("cases", 3))
    return [(*path[:-1], key) for key in _at(data, path[:-1]) if key.startswith(f"{path[-1]}.")] if settings else []


def _at(data: dict[str, Any], path: Path) -> dict[str, Any]:
    for step in path:
        data = mapping(data.get(step))
    return data


def _named(data: dict[str, Any], head: str, rest: str, label: str) -> Path:
    """The place of `cases.a.lr`; the name itself may have dots in it."""
    known = mapping(data.get(head))
    name = max((n for n in known if f"{rest}.".startswith(f"{n}.")), key=len, default=None)
    if name is None:
        raise _unnamed(head, rest, known, label)
    inner = rest[len(name) + 1 :]
    if head == "cases" and inner.startswith("tune."):
        return (head, name, "tune", inner.removeprefix("tune."))
    return (head, name, inner) if inner else (head, name)


def _keep(cases: dict[str, Any], names: list[str], label: str) -> dict[str, Any]:
    if unknown := [name for name in names if name not in cases]:
        raise _unnamed("cases", unknown[0], cases, label)
    return {name: cases[name] for name in names}


def _unnamed(head: str, rest: str, known: dict[str, Any], label: str) -> StudyError:
    allowed = nearest(rest.partition(".")[0], known) if known else "The study has none."
    return StudyError(f"no such name among the {head}. {allowed}", key=f"{head}.{rest}", where=label)


def _write(data: dict[str, Any], path: Path, value: Any) -> None:
    for step in path[:-1]:
        data[step] = mapping(data.get(step))
        data = data[step]
    data[path[-1]] = value


def _copy(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _copy(value) for key, value in data.items()}
    return [_copy(value) for value in data] if isinstance(data, list) else data
