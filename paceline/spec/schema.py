"""The JSON schema of a study file, for editors: `paceline schema`. Made of what reads the file."""

from dataclasses import replace
from typing import Any

from paceline.spec.argument import REQUIRED, Arg, Entry
from paceline.spec.parts import TABLE
from paceline.spec.run import GROUPS, PARTS, Run
from paceline.spec.study import MAX_RUNS, Range, Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OWN = {"type": "string", "pattern": "^[^:]+:[^:]+$", "description": "a part of your own, as file:name"}
_ALSO: dict[str, list[dict[str, Any]]] = {  # that are read as something longer
    "subset": [{"type": "integer"}],
    "loader": [{"type": "integer"}, {"const": "memory"}],
    "overlap": [{"type": "boolean"}],
}
_TYPES = {"number": "number", "integer": "integer", "flag": "boolean", "word": "string", "text": "string"}
_AT = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def schema() -> dict[str, Any]:
    run = _plain(Run.model_json_schema())
    fields = {name: _field(name, said) for name, said in run["properties"].items()}
    dotted = f"^({'|'.join((*PARTS, *GROUPS))})\\."
    closed: dict[str, Any] = {"type": "object", "additionalProperties": False}
    settings = {**closed, "properties": fields, "patternProperties": {dotted: {}}}
    lists = {name: {"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{name}"}} for name in fields}
    axis = {"type": "array", "minItems": 1}
    compare = {**closed, "properties": lists, "patternProperties": {dotted: axis}}
    tune = {
        **closed,
        "properties": {
            "sample": _SAMPLE,
            **{name: {"anyOf": [said, {"$ref": "#/$defs/range"}]} for name, said in lists.items()},
        },
        "patternProperties": {dotted: {"anyOf": [axis, {"$ref": "#/$defs/range"}]}},
    }
    case = {**settings, "properties": {**fields, "tune": {"$ref": "#/$defs/tune"}}}
    named = {**case, "properties": {**case["properties"], "name": {"type": "string"}}, "required": ["name"]}
    said = _plain(Study.model_json_schema())["properties"]
    shapes: dict[str, dict[str, Any]] = {
        "base": {"$ref": "#/$defs/settings"},
        "compare": {"$ref": "#/$defs/compare"},
        "tune": {"$ref": "#/$defs/tune"},
        "cases": {
            "anyOf": [
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/case"}},
                {"type": "array", "items": {"$ref": "#/$defs/named_case"}},
            ]
        },
    }
    said |= {key: {**shape, "description": said[key]["description"]} for key, shape in shapes.items()}
    groups = {name: found for name, found in run["$defs"].items() if name != "Part"}
    flip = groups["Augment"]["properties"]["flip"]
    flip["anyOf"] = [{"enum": flip.pop("enum")}, {"type": "boolean"}]
    del flip["type"]
    made = {"settings": settings, "compare": compare, "tune": tune, "case": case, "named_case": named}
    made["range"] = _plain(Range.model_json_schema())
    return {
        "$schema": DIALECT,
        "title": "A Paceline study",
        "type": "object",
        "properties": said,
        "required": ["name"],
        "additionalProperties": False,
        "$defs": {**groups, **made, **fields},
    }


_SAMPLE = {"type": "integer", "minimum": 1, "maximum": MAX_RUNS, "description": "points to draw of the ranges"}


def _field(name: str, said: dict[str, Any]) -> dict[str, Any]:
    if name in TABLE:
        default = {"default": Run.model_fields[name].default.plain()} if "default" in said else {}
        return {"description": said["description"], **default, **_part(TABLE[name])}
    if name in _ALSO:
        return {**said, "anyOf": [*said["anyOf"], *_ALSO[name]]}
    return said


def _part(table: dict[str, Entry]) -> dict[str, Any]:
    """By its name, or as a mapping with arguments; or one of the user's own."""
    ways = [{"const": name, **({"description": entry.about} if entry.about else {})} for name, entry in table.items()]
    own = {"type": "object", "properties": {"name": OWN}, "required": ["name"]}
    return {"anyOf": [*ways, *(_mapping(name, entry) for name, entry in table.items()), OWN, own]}


def _mapping(name: str, entry: Entry) -> dict[str, Any]:
    needed = [key for key, arg in entry.args.items() if arg.default is REQUIRED]
    return {
        "type": "object",
        "properties": {"name": {"const": name}, **{key: _argument(arg) for key, arg in entry.args.items()}},
        "required": ["name", *needed],
        "additionalProperties": False,
    }


def _argument(arg: Arg) -> dict[str, Any]:
    if arg.type in ("numbers", "integers"):
        one = Arg(arg.type[:-1], low=arg.low, high=arg.high, above=arg.above, below=arg.below)
        return {"type": "array", "minItems": 1, "items": _argument(one)}
    if arg.choices and arg.type != "word":
        return {"anyOf": [_argument(replace(arg, choices=())), {"enum": list(arg.choices)}]}
    said: dict[str, Any] = {"type": _TYPES[arg.type]}
    if arg.choices:
        said["enum"] = list(arg.choices)
    if arg.low is not None:
        said["exclusiveMinimum" if arg.above else "minimum"] = arg.low
    if arg.high is not None:
        said["exclusiveMaximum" if arg.below else "maximum"] = arg.high
    if arg.default is not REQUIRED:
        said["default"] = list(arg.default) if isinstance(arg.default, tuple) else arg.default
    return said


def _plain(said: Any) -> Any:
    """Without titles, and with limits as a schema spells them."""
    if isinstance(said, dict):
        kept = {key: value for key, value in said.items() if not (key == "title" and isinstance(value, str))}
        return {_AT.get(key, key): _plain(value) for key, value in kept.items()}
    return [_plain(each) for each in said] if isinstance(said, list) else said
