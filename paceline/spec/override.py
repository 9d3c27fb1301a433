"""A value set from outside (--set, --seeds, --scale) written into the document, above all that the file says."""

from typing import Any

from paceline.spec.document import Document, parse

_STUDY = ("name", "question", "base", "compare", "tune", "cases", "repeat", "measure", "select", "scales")


def override(document: Document, key: str, value: Any, label: str) -> Document:
    """`steps=200` sets the base and every case; for an axis it replaces the axis; `tune.lr=[...]` goes by path."""
    if isinstance(value, str):
        value = parse(value, label).data
    data, lines = _copy(document.data), dict(document.lines)
    if not isinstance(data, dict):
        return document
    for path in _places(data, key):
        axis = path[0] in ("compare", "tune") or "tune" in path[:-1]
        ranged = isinstance(value, dict) and {"low", "high"} <= value.keys()
        _write(
            data,
            path,
            [value] if axis and not isinstance(value, list) and not ranged and path[-1] != "sample" else value,
        )
        for old in [known for known in lines if known[: len(path)] == path]:
            del lines[old]
        lines[path] = label
    return Document(document.file, data, lines)


def _places(data: dict[str, Any], key: str) -> list[tuple[str, ...]]:
    head, _, rest = key.partition(".")
    if head in _STUDY:
        if head == "cases" and rest:
            name, _, inner = rest.partition(".")
            return [("cases", name, *(("tune", inner[5:]) if inner.startswith("tune.") else (inner,)))]
        return [(head, rest)] if rest else [(head,)]
    for axes in ("compare", "tune"):
        if key in _mapping(data.get(axes)):
            return [(axes, key)]
    places: list[tuple[str, ...]] = [("base", key)]
    for name, case in _mapping(data.get("cases")).items():
        if key in _mapping(case):
            places.append(("cases", name, key))
        if key in _mapping(_mapping(case).get("tune")):
            places.append(("cases", name, "tune", key))
    return places


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _write(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        data[step] = _mapping(data.get(step))
        data = data[step]
    data[path[-1]] = value


def _copy(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _copy(value) for key, value in data.items()}
    return [_copy(value) for value in data] if isinstance(data, list) else data
