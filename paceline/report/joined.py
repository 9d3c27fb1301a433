"""Two records joined like for like: each run of A with the same run of B, and every run that has none, with why."""

import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from paceline.analyse.likeforlike import PAIRS
from paceline.errors import RecordError
from paceline.record.layout import StudyFolder
from paceline.record.writer import OVER
from paceline.report.names import counted
from paceline.report.sides import Member, Side, described, measured, read, records
from paceline.spec import Run
from paceline.spec.run import FIELDS, PARTS

_JOINED: dict[str, Any] = {
    "setting": pl.String,
    "metric": pl.String,
    "seed": pl.Int64,
    "run_a": pl.String,
    "run_b": pl.String,
}


class Refused(NamedTuple):
    setting: str
    seed: int
    reason: str


class Pair(NamedTuple):
    setting: str
    a: Member
    b: Member


@dataclass(frozen=True)
class Joined:
    pairs: pl.DataFrame  # setting, seed, run_a, run_b and the columns of analyse.likeforlike
    refused: pl.DataFrame  # setting, seeds, runs, reason
    machines: pl.DataFrame  # what, A, B: only what differs
    neither: int  # runs that have ended on neither side
    selects: tuple[str, ...]  # how the studies choose what is reported, where the two sides differ or flatter

    @property
    def refusals(self) -> int:
        return int(self.refused["runs"].sum())


def join(a: Path, b: Path) -> Joined:
    """All that two records, or two folders of records, have in common; RecordError if that is nothing."""
    couples, alone = _couples(a, b)
    several = len(couples) > 1
    tables: list[pl.DataFrame] = []
    refused, selects = list(alone), list[str]()
    machines: tuple[list[dict[str, str]], list[dict[str, str]]] = ([], [])
    neither = 0
    for one, other in couples:
        couple = _Couple(read(one), read(other), several=several)
        couple.match()
        tables.append(couple.table())
        refused += couple.refused
        neither += couple.neither
        selects += couple.selects()
        for found, side in zip(machines, couple.machines(), strict=True):
            found += side
    pairs = pl.concat(tables)
    refusals = _grouped(refused)
    if pairs.is_empty():
        raise RecordError(_nothing(a, b, refusals, neither))
    return Joined(pairs, refusals, _differing(*machines), neither, tuple(dict.fromkeys(selects)))


def _couples(a: Path, b: Path) -> tuple[list[tuple[StudyFolder, StudyFolder]], list[Refused]]:
    """The records to join, and the studies that only one folder has."""
    found = [records(a), records(b)]
    alone = [(path / "study.json").is_file() for path in (a, b)]
    if all(alone):
        return [(found[0][0], found[1][0])], []
    if any(alone):
        one, many, there = (a, b, found[1]) if alone[0] else (b, a, found[0])
        names = ", ".join(folder.path.name for folder in there)
        raise RecordError(f"{one} is the record of one study, {many} a folder of records. Say which of them: {names}.")
    named = [{folder.path.name: folder for folder in side} for side in found]
    shared = [name for name in named[0] if name in named[1]]
    if not shared:
        said = [", ".join(side) for side in named]
        raise RecordError(
            f"no study is recorded in both: {a} has {said[0]}; {b} has {said[1]}. To compare records of two names, "
            "say the two folders that hold study.json."
        )
    refused = [
        Refused(f"{name}: all", -1, f"the study is only in {letter}")
        for letter, side in zip("AB", named, strict=True)
        for name in side
        if name not in shared
    ]
    return [(named[0][name], named[1][name]) for name in shared], refused


class _Couple:
    """Two records of one study: which runs are the same, and why others are not."""

    def __init__(self, a: Side, b: Side, *, several: bool) -> None:
        self.a, self.b, self._several = a, b, several
        self.pairs: list[Pair] = []
        self.refused: list[Refused] = []
        self.neither = 0

    def match(self) -> None:
        strangers: tuple[list[Member], list[Member]] = ([], [])
        for key in dict.fromkeys((*self.a.members, *self.b.members)):
            ours, theirs = self.a.members.get(key, []), self.b.members.get(key, [])
            if ours and theirs:
                self._meet(ours, theirs)
            else:
                strangers[0].extend(ours)
                strangers[1].extend(theirs)
        self._strangers(*strangers)

    def _meet(self, ours: list[Member], theirs: list[Member]) -> None:
        """The same run on both sides: joined on the same device, or on two where there is one on each."""
        done = [[m for m in side if m.status == "done"] for side in (ours, theirs)]
        devices = {member.run.device: member for member in done[1]}
        same = [(m, devices[m.run.device]) for m in done[0] if m.run.device in devices]
        taken = [{pair[place].id for pair in same} for place in (0, 1)]
        left = [[m for m in side if m.id not in ids] for side, ids in zip(done, taken, strict=True)]
        if len(left[0]) == len(left[1]) == 1:
            same.append((left[0][0], left[1][0]))
            left = [[], []]
        for one, other in same:
            self._pair(one, other)
        for letter, opposite, here, there in (("A", "B", left[0], theirs), ("B", "A", left[1], ours)):
            for member in here:
                self._refuse(member, _absent(letter, opposite, here, there))
        if not done[0] and not done[1]:
            self._unfinished(ours, theirs)

    def _unfinished(self, ours: list[Member], theirs: list[Member]) -> None:
        ended = [member.status for member in (ours[0], theirs[0])]
        if set(ended) & {"diverged", "failed"}:
            self._refuse(ours[0], f"{ended[0]} in A, {ended[1]} in B")
        else:
            self.neither += 1

    def _pair(self, one: Member, other: Member) -> None:
        if reason := self._other_origin(one, other):
            self._refuse(one, reason)
        else:
            self.pairs.append(Pair(self._named(one, other), one, other))

    def _other_origin(self, one: Member, other: Member) -> str:
        """Why two runs of one configuration are not the same run; empty if they are."""
        data = self.a.data(one), self.b.data(other)
        for letter, found in zip("AB", data, strict=True):
            if found is None:
                return f"machine.json of {letter} does not say which data it was trained on"
        if data[0] != data[1]:
            return f"other data: {one.run.data} is {_short(data[0])} in A, {_short(data[1])} in B"
        for name in _own(one.run):
            sources = [(member.details.get("sources") or {}).get(name) for member in (one, other)]
            if None in sources:
                return f"the source of {name} is not recorded on both sides"
            if sources[0] != sources[1]:
                return f"another source of {name}: {_short(sources[0])} in A, {_short(sources[1])} in B"
        return ""

    def _strangers(self, ours: Iterable[Member], theirs: Iterable[Member]) -> None:
        """Runs whose configuration only one side has; named where the other side has another in the same place."""
        waiting: dict[Any, list[Member]] = defaultdict(list)
        for member in theirs:
            waiting[member.place].append(member)
        for member in ours:
            other = waiting[member.place].pop(0) if waiting.get(member.place) else None
            if not _began(member, other):
                self.neither += 1
            elif other:
                self._refuse(member, f"another configuration: {_differences(member.run, other.run)}")
            else:
                self._refuse(member, "only in A")
        for member in itertools.chain(*waiting.values()):
            if _began(member):
                self._refuse(member, "only in B")
            else:
                self.neither += 1

    def _refuse(self, member: Member, reason: str) -> None:
        self.refused.append(Refused(self._named(member, member), member.run.seed, reason))

    def _named(self, one: Member, other: Member) -> str:
        """A setting in words, with its study where there are several, and its devices where these are an axis."""
        name = self.a.folder.path.name
        study = f"{name}: " if self._several and one.setting != name else ""
        by_device = one.by_device or other.by_device
        devices = f" / {' against '.join(dict.fromkeys((one.run.device, other.run.device)))}" if by_device else ""
        return f"{study}{one.setting}{devices}"

    def selects(self) -> list[str]:
        found = {self.a.study.select, self.b.study.select}
        return ["best_epoch" if len(found) == 1 else "mixed"] if "best_epoch" in found else []

    def table(self) -> pl.DataFrame:
        """The pairs with all that is compared of them."""
        judged = all(side.rows["accuracy"].is_not_null().any() for side in (self.a, self.b))
        metric = "accuracy" if judged else "loss"
        select = "best_epoch" if self.selects() == ["best_epoch"] else "test"
        table = pl.DataFrame(
            [(pair.setting, metric, pair.a.run.seed, pair.a.id, pair.b.id) for pair in self.pairs],
            schema=_JOINED,
            orient="row",
        )
        ours = measured(self.a, [pair.a for pair in self.pairs], select, metric)
        theirs = measured(self.b, [pair.b for pair in self.pairs], select, metric)
        for letter, found in (("a", ours), ("b", theirs)):
            named = found.rename({name: f"{name}_{letter}" for name in found.columns})
            table = table.join(named, on=f"run_{letter}", how="left", maintain_order="left")
        return table.select(*_JOINED, *(pl.col(name).cast(kind) for name, kind in PAIRS.items() if name not in _JOINED))

    def machines(self) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
        """What the joined runs were trained with, in words."""
        ours = [fact for pair in self.pairs for fact in described(self.a.machine(pair.a), pair.a)]
        theirs = [fact for pair in self.pairs for fact in described(self.b.machine(pair.b), pair.b)]
        return ours, theirs


def _absent(letter: str, other: str, here: list[Member], there: list[Member]) -> str:
    """Why a run that is done here has no partner there."""
    waiting = [member.status for member in there if member.status != "done"]
    if waiting:
        return f"{waiting[0]} in {other}"
    on = ", ".join(member.run.device for member in here)
    return f"on {on} in {letter}, and {other} has none, or several devices, to hold against it"


def _began(*members: Member | None) -> bool:
    return any(member and member.status in OVER for member in members)


def _own(run: Run) -> list[str]:
    """The names under which a run's sources are recorded."""
    own = [part.name for part in (getattr(run, kind) for kind in PARTS) if part.own]
    return [*own, *([f"weights {run.weights}"] if run.weights != "none" else [])]


def _short(checksum: str | None) -> str:
    return (checksum or "").removeprefix("sha256:")[:12]


def _differences(one: Run, other: Run) -> str:
    pairs = [(name, getattr(one, name), getattr(other, name)) for name in FIELDS if name != "device"]
    return "; ".join(f"{name} {_said(a)} in A, {_said(b)} in B" for name, a, b in pairs if a != b)


def _said(value: Any) -> str:
    if hasattr(value, "model_dump"):
        return ", ".join(f"{key} {inner}" for key, inner in value.model_dump(exclude_defaults=True).items())
    if isinstance(value, float):
        return f"{value:g}"
    return "unsaid" if value is None else str(value)


def _differing(ours: list[dict[str, str]], theirs: list[dict[str, str]]) -> pl.DataFrame:
    names = dict.fromkeys(name for fact in (*ours, *theirs) for name in fact)
    lines = []
    for name in names:
        said = [sorted({fact.get(name, "none") for fact in side}) for side in (ours, theirs)]
        if said[0] != said[1]:
            lines.append({"what": name.replace("_gb", " GB"), "A": "; ".join(said[0]), "B": "; ".join(said[1])})
    return pl.DataFrame(lines, schema={"what": pl.String, "A": pl.String, "B": pl.String})


def _grouped(refused: list[Refused]) -> pl.DataFrame:
    """A line a setting and reason, with its seeds; a whole study has none."""
    table = pl.DataFrame(refused, schema={"setting": pl.String, "seed": pl.Int64, "reason": pl.String}, orient="row")
    seeds = pl.col("seed").filter(pl.col("seed") >= 0).sort().cast(pl.String)
    return (
        table.group_by("setting", "reason", maintain_order=True)
        .agg(seeds.str.join(", ").alias("seeds"), (pl.col("seed") >= 0).sum().cast(pl.Int64).alias("runs"))
        .select("setting", "seeds", "runs", "reason")
    )


def _nothing(a: Path, b: Path, refused: pl.DataFrame, neither: int) -> str:
    """The error where no run of A is the same run in B: the commonest reasons, each with an example."""
    counts = refused.group_by("reason", maintain_order=True).agg(pl.col("runs").sum(), pl.col("setting").first())
    lines = [
        f"\n  {reason} ({counted(runs, 'run')}, such as {setting})"
        for reason, runs, setting in counts.sort("runs", descending=True, maintain_order=True).head(6).iter_rows()
    ]
    waiting = f"\n  ended on neither side ({counted(neither, 'run')})" if neither else ""
    return f"nothing to compare: no run of {a} is the same run in {b}.{''.join(lines)}{waiting}"
