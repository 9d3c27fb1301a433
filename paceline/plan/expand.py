"""Study -> runs: cases x compare x tune x repeat, each value checked once, where it stands in the file."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined

from paceline.plan.cost import check_size
from paceline.plan.sample import sample
from paceline.spec import identity, signature
from paceline.spec.argument import ArgumentError, Entry
from paceline.spec.check import check
from paceline.spec.document import KeyPath
from paceline.spec.part import Part, entry_of
from paceline.spec.part import read as read_part
from paceline.spec.run import GROUPS, PARTS, Loader, Run, construct, refuse_unknown
from paceline.spec.study import MAX_RUNS, Study, said
from paceline.spec.whole import is_whole

Said = tuple[Any, KeyPath]  # a raw value and where it stands

_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(Annotated[field.annotation, *field.metadata, None])  # type: ignore[arg-type]
    for name, field in Run.model_fields.items()
}
_REQUIRED = tuple(name for name, field in Run.model_fields.items() if field.is_required())
_DEFAULTS = {name: field.default for name, field in Run.model_fields.items()}


@dataclass(frozen=True, slots=True)
class Trial:
    """A run and its place in the study. Two cases that say the same thing share one run."""

    id: str
    case: str
    axes: dict[str, Any]
    run: Run


def expand(study: Study, *, own_parts: bool = True) -> list[Trial]:
    """All trials, seeds outermost, so that a study broken off early has seen every setting.

    Without `own_parts` the sources of the user's own parts need not be there: a record is read on any machine.
    """
    if (count := _count(study)) > MAX_RUNS:
        raise study.document.error((), f"{count:,} runs; a study has at most {MAX_RUNS:,}.")
    settings = list(_settings(study, own_parts))
    first = int(study.base.get("seed", 0))
    seeds = range(first, first + study.repeat)
    hashes = [identity.setting_hash(run) for _, _, run in settings]
    return [
        _trial(case, axes, run, digest, seed)
        for seed in seeds
        for (case, axes, run), digest in zip(settings, hashes, strict=True)
    ]


def _trial(case: str, axes: dict[str, Any], run: Run, digest: Any, seed: int) -> Trial:
    """The setting at one seed, which its data may follow: then it is the run of the data that the seed draws."""
    data = run.data.drawn(seed)
    if data is not run.data:
        drawn = construct({**run.__dict__, "seed": seed, "data": data})
        return Trial(identity.run_id(drawn), case, axes, drawn)
    reseeded = run if run.seed == seed else construct({**run.__dict__, "seed": seed})
    return Trial(identity.repeat_id(digest, seed), case, axes, reseeded)


def _count(study: Study) -> int:
    own = sum(_size(case.get("tune", {})) for case in study.cases.values()) if study.cases else 1
    return study.repeat * _size(study.compare) * _size(study.tune) * own


def _size(axes: dict[str, Any]) -> int:
    return int(axes["sample"]) if "sample" in axes else math.prod(len(values) for values in axes.values())


def _settings(study: Study, own_parts: bool) -> Iterator[tuple[str, dict[str, Any], Run]]:
    reader = _Reader(study, own_parts)
    cases: dict[str, dict[str, Any]] = study.cases or {"": {}}
    for name, case in cases.items():
        fixed: dict[str, Said] = {key: (value, ("base", key)) for key, value in study.base.items()}
        inner = {key: (value, ("cases", name, key)) for key, value in case.items() if key != "tune"}
        fixed = {key: value for key, value in fixed.items() if key.partition(".")[0] not in inner} | inner
        own_tune = case.get("tune", {})
        axes_of = (study.compare, study.tune, own_tune)
        parts = _Parts(fixed, axes_of)
        grids = [_grid(study.compare, ("compare",)), _points(study.tune, ("tune",), parts)]
        grids.append(_points(own_tune, ("cases", name, "tune"), parts))
        start = reader.start(fixed, [key for axes in axes_of for key in axes])
        for compared, tuned, own in itertools.product(*grids):
            axes = {**compared, **tuned, **own}
            yield (
                name,
                {key: reader.shown(key, value) for key, value in axes.items()},
                reader.run(start, fixed, axes),
            )


def _grid(axes: dict[str, list[Any]], path: KeyPath) -> list[dict[str, Said]]:
    columns = [[(key, (value, (*path, key, i))) for i, value in enumerate(values)] for key, values in axes.items()]
    return [dict(point) for point in itertools.product(*columns)]


@dataclass(frozen=True)
class _Parts:
    """What the parts of a case may be."""

    fixed: dict[str, Said]
    axes: Sequence[dict[str, Any]]

    def entries(self, kind: str) -> list[Entry | None]:
        """Their lines in the table; None for the user's own."""
        on_axes = [value for axis in self.axes for value in axis.get(kind, ())]
        alone = self.fixed[kind][0] if kind in self.fixed else _DEFAULTS.get(kind)
        return [entry_of(kind, said) for said in on_axes or [alone]]


def _points(tune: dict[str, Any], path: KeyPath, parts: _Parts) -> list[dict[str, Said]]:
    if "sample" not in tune:
        return _grid(tune, path)
    axes = {key: value for key, value in tune.items() if key != "sample"}
    heads = {key: key.partition(".")[0] for key in axes}
    whole = [key for key, head in heads.items() if is_whole(key, parts.entries(head) if head in PARTS else ())]
    points = enumerate(sample(axes, tune["sample"], whole))
    return [{key: (value, (*path, key, f"#{i}")) for key, value in point.items()} for i, point in points]


class _Reader:
    """Reads each distinct value once: a grid of 100,000 runs has few distinct values."""

    def __init__(self, study: Study, own_parts: bool) -> None:
        self._study, self._own_parts = study, own_parts
        self._known: dict[Any, Any] = {}
        self._on_axis: dict[KeyPath, set[Any]] = {}  # the values met so far on each axis
        self._later: dict[str, tuple[str, ...]] = {}  # by part, the arguments that dotted keys add

    def start(self, fixed: dict[str, Said], axes: list[str]) -> dict[str, Any]:
        """The values that all settings of a case share."""
        self._later = {head: tuple(inner) for head, inner in _nested(fixed, dict.fromkeys(axes)).items()}
        return {
            **_DEFAULTS,
            **{key: self._read(key, *value) for key, value in fixed.items() if "." not in key},
        }

    def run(self, start: dict[str, Any], fixed: dict[str, Said], axes: dict[str, Said]) -> Run:
        values = dict(start)
        for key, (value, path) in axes.items():
            if "." not in key:
                values[key] = self._read(key, value, path)
        for head, inner in _nested(fixed, axes).items():
            values[head] = self._extend(head, values[head], inner)
        run = construct(values)
        for name in _REQUIRED:
            if values[name] is PydanticUndefined:
                raise self._study.document.error(
                    ("base",), f"'{name}' is missing; set it in base, compare, tune or cases."
                )
        try:
            check(run)
            check_size(run)
        except ArgumentError as error:
            _, path = {**fixed, **axes}.get(error.key, (None, ("base", error.key)))
            raise self._study.document.error(path, str(error)) from None
        return run

    def shown(self, key: str, value: Said) -> Any:
        """An axis value as tables show it: numbers as numbers, parts as words."""
        at = ("shown", value[1])
        if at not in self._known:
            read = value[0] if "." in key else self._read(key, *value)
            if "." not in key and isinstance(value[1][-1], int):
                self._refuse_twin(read, *value)
            self._known[at] = read if isinstance(read, (int, float, str)) else _words(value[0], read)
        return self._known[at]

    def _refuse_twin(self, read: Any, value: Any, path: KeyPath) -> None:
        met = self._on_axis.setdefault(path[:-1], set())
        same = str(read) if isinstance(read, int) and not isinstance(read, bool) else read  # a batch of 50 and of '50'
        if same in met:
            raise self._study.document.error(path, f"{value!r} stands twice on this axis, in other words.")
        met.add(same)

    def _read(self, name: str, value: Any, path: KeyPath) -> Any:
        later = self._later.get(name, ())
        at = (path, later)
        if at not in self._known:
            try:
                self._known[at] = self._validated(name, value, later)
            except ArgumentError as error:
                raise self._study.document.error((*path, error.key) if error.key else path, str(error)) from None
            except ValidationError as error:
                place, message = said(error)
                raise self._study.document.error((*path, *place) if name in GROUPS else path, message) from None
        return self._known[at]

    def _validated(self, name: str, value: Any, later: tuple[str, ...] = ()) -> Any:
        if name in GROUPS:
            refuse_unknown(name, value)
        if name not in PARTS:
            return _ADAPTERS[name].validate_python(value)
        part = read_part(name, value, later)
        if part.own and self._own_parts:
            signature.check(part, self._study.folder, later)
        return part

    def _extend(self, head: str, base: Any, inner: dict[str, Said]) -> Any:
        """A part (or subset, early_stop) with arguments set by dotted keys."""
        key = (base, tuple((name, repr(value), path) for name, (value, path) in inner.items()))
        if key not in self._known:
            extra = {name: value for name, (value, _) in inner.items()}
            self._known[key] = self._extended(head, base, extra, inner)
        return self._known[key]

    def _extended(self, head: str, base: Any, extra: dict[str, Any], inner: dict[str, Said]) -> Any:
        path = next(iter(inner.values()))[1]
        if base is PydanticUndefined:
            raise self._study.document.error(path, f"'{head}' itself is missing.")
        try:
            if head in PARTS:
                plain = base.plain()
                return self._validated(head, {**(plain if isinstance(plain, dict) else {"name": plain}), **extra})
            return self._validated(head, {**(base.model_dump() if base else {}), **extra})
        except ArgumentError as error:
            raise self._study.document.error(inner.get(error.key, (None, path))[1], str(error)) from None
        except ValidationError as error:
            place, message = said(error)
            raise self._study.document.error(inner.get(str(place[0]), (None, path))[1], message) from None


def _nested(*settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Dotted keys, by the part they reach into."""
    nested: dict[str, dict[str, Said]] = {}
    for setting in settings:
        for key, value in setting.items():
            if "." in key:
                head, _, rest = key.partition(".")
                nested.setdefault(head, {})[rest] = value
    return nested


def _words(said: Any, read: Any) -> str:
    if isinstance(read, Part):
        return str(read)
    if isinstance(read, Loader) and not isinstance(said, dict):
        return f"{read.workers} worker{'' if read.workers == 1 else 's'}"
    if isinstance(said, dict):
        return ", ".join(f"{key} {value}" for key, value in said.items())
    return "none" if said is None else str(said)
