"""A part of a run: a built-in name, a name with arguments, or a dotted path to the user's own callable."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from paceline.errors import SYNONYMS, nearest
from paceline.spec.argument import REQUIRED, SEED, ArgumentError, Entry
from paceline.spec.parts import TABLE

Args = tuple[tuple[str, Any], ...]
_TABLES = (".csv", ".tsv", ".parquet", ".npz", ".npy", ".json", ".xlsx", ".pt")
_OF_THE_RUN = ("lr", "batch", "steps", "epochs", "schedule", "warmup", "clip_norm", "clip_value", "weights", "augment")


@dataclass(frozen=True)
class Part:
    """What is said of a part, without what is default: equal parts are equal objects."""

    kind: str
    name: str
    args: Args = ()

    @property
    def entry(self) -> Entry | None:
        """Its line in the table; None for a dotted path."""
        return TABLE[self.kind].get(self.name)

    @property
    def path(self) -> str:
        """`module:attribute` of what builds it."""
        if self.entry:
            return self.entry.path
        return self.name if ":" in self.name else ":".join(self.name.rsplit(".", 1))

    @property
    def own(self) -> bool:
        return self.entry is None

    @property
    def complete(self) -> dict[str, Any]:
        """All arguments, the unsaid ones at their defaults."""
        defaults = {key: arg.default for key, arg in self.entry.args.items()} if self.entry else {}
        return {**defaults, **dict(self.args)}

    def drawn(self, seed: int) -> "Part":
        """With the seed of a run in the place of the word `seed`."""
        follows = {key: seed for key, value in self.args if key in self._draws and value == SEED}
        return read(self.kind, {"name": self.name, **dict(self.args), **follows}) if follows else self

    @property
    def undrawn(self) -> "Part":
        """Without what a seed may draw."""
        return Part(self.kind, self.name, tuple((key, value) for key, value in self.args if key not in self._draws))

    @property
    def _draws(self) -> set[str]:
        """The arguments that may follow the seed: of own data those with the names that ours have."""
        if self.entry:
            return {key for key, arg in self.entry.args.items() if arg.follows_seed}
        return {"seed", "split_seed"} if self.kind == "data" else set()

    def plain(self) -> Any:
        """As a study file would say it."""
        return {"name": self.name, **{k: _unfreeze(v) for k, v in self.args}} if self.args else self.name

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={_show(value)}" for key, value in self.args)
        return f"{self.name}({inside})" if inside else self.name


def read(kind: str, said: Any, later: Collection[str] = ()) -> Part:
    """A Part from what a study file says; ArgumentError says what is wrong and what is allowed.

    `later` names arguments that dotted keys will add, so that they are not missed here.
    """
    if isinstance(said, Part):
        return said
    name, args = _split(kind, said)
    entry = TABLE[kind].get(name)
    if entry:
        return Part(kind, name, _read_args(kind, name, entry, args, later))
    if not _dotted(name):
        raise ArgumentError(
            f"unknown {kind} '{name}'. {nearest(name, TABLE[kind])} Or a path of your own, as my_file:name."
        )
    if (module := name.partition(":")[0]).endswith(".py"):
        raise ArgumentError(
            f"say {name.replace('.py:', ':', 1)}, without .py."
            if ":" in name
            else f"'{module}' is a file; say file:name."
        )
    if kind == "data" and name.endswith(_TABLES):
        raise ArgumentError(f"'{name}' is a file; say a function of yours that reads it, as my_file:name.")
    return Part(kind, name, tuple(sorted((key, _freeze(value, key)) for key, value in args.items())))


def entry_of(kind: str, said: Any) -> Entry | None:
    """The line in the table of what a study file says; None for a path of the user's own, and for what is no part."""
    if isinstance(said, Part):
        return said.entry
    try:
        return TABLE[kind].get(_split(kind, said)[0])
    except ArgumentError:
        return None


def _split(kind: str, said: Any) -> tuple[str, dict[str, Any]]:
    """Name and arguments; `folder:PATH` is short for the data set folder with that path."""
    name = said.get("name") if isinstance(said, dict) else said
    if isinstance(name, str):
        args = {key: value for key, value in said.items() if key != "name"} if isinstance(said, dict) else {}
        if kind == "data" and name.startswith("folder:"):
            if "path" in args:
                raise ArgumentError("the folder is said twice.", "path")
            return "folder", {**args, "path": name.removeprefix("folder:")}
        return name, args
    if callable(name):
        called = getattr(name, "__name__", "name")
        raise ArgumentError(f"say a {kind} by its name: put it into a .py file and say file:{called}.")
    raise ArgumentError(f"{said!r} is no {kind}; say a name, or {{name: ..., argument: ...}}.")


def _dotted(name: str) -> bool:
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    return bool(module) and attribute.isidentifier() and all(word.isidentifier() for word in module.split("."))


def _read_args(kind: str, name: str, entry: Entry, args: dict[str, Any], later: Collection[str]) -> Args:
    for key in args:
        if key not in entry.args:
            hint = misplaced(kind, key) or _had_by(kind, key)
            allowed = nearest(key, entry.args) if entry.args else "It takes none."
            raise ArgumentError(f"{kind} '{name}' has no argument '{key}'. {hint or allowed}", key)
    required = [key for key, arg in entry.args.items() if arg.default is REQUIRED]
    missing = [key for key in required if key not in args and key not in later]
    if missing:
        raise ArgumentError(f"{kind} '{name}' needs the argument '{missing[0]}'.")
    read = {key: entry.args[key].read(value, key) for key, value in args.items()}
    return tuple(sorted((key, value) for key, value in read.items() if value != entry.args[key].default))


def misplaced(kind: str, key: str) -> str:
    """Where an argument belongs that other libraries give to the part itself."""
    meant = SYNONYMS.get(key, key)
    return f"{meant} is a setting of the run: say it beside {kind}, not in it." if meant in _OF_THE_RUN else ""


def _had_by(kind: str, key: str) -> str:
    others = [name for name, entry in TABLE[kind].items() if key in entry.args]
    return f"Those that have it: {', '.join(sorted(others))}." if others else ""


def _freeze(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        raise ArgumentError("an argument is a number, a word, true, false or a list of these.", key)
    return tuple(_freeze(item, key) for item in value) if isinstance(value, (list, tuple)) else value


def _unfreeze(value: Any) -> Any:
    return [_unfreeze(item) for item in value] if isinstance(value, tuple) else value


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{','.join(map(_show, value))}]"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)
