"""Read a rule's settings into its options; each mistake has its place and the nearest key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, get_args

import orjson
from pydantic import BaseModel, ValidationError

from lifecycle.nearest import meant
from lifecycle.paths import Parts
from lifecycle.sentinel import Rule

_PREFIX = "Value error, "
_MOMENT = "date, time and offset, like 2026-12-24T00:00:00Z"
_NO_MOMENT = frozenset(
    {"datetime_type", "datetime_parsing", "datetime_from_date_parsing", "timezone_aware"}
)


class BadSettings(Exception):
    """The settings of a rule cannot be read."""

    def __init__(self, faults: list[tuple[Parts, str]]) -> None:
        """Take all faults, each with its place in the rule's settings and its words."""
        super().__init__("; ".join(words for _, words in faults))
        self.faults = faults


def read_options(rule: type[Rule], settings: Mapping[str, Any]) -> Any:
    """Return the rule's options. Raises BadSettings with everything that is wrong."""
    try:
        written = orjson.dumps(dict(settings), default=_moment)
    except TypeError as error:
        raise BadSettings(
            [((), f"the settings of {rule.id} are no plain values: {error}")]
        ) from None
    try:
        return rule.Options.model_validate_json(written)
    except ValidationError as error:
        raise BadSettings(list(_faults(rule, error))) from None


def _moment(value: Any) -> str:
    """Return a date or time as text; readers of YAML make objects of them."""
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(type(value).__name__)


def _faults(rule: type[Rule], error: ValidationError) -> Iterator[tuple[Parts, str]]:
    for item in error.errors(include_url=False):
        parts: Parts = tuple(part for part in item["loc"] if part != "[key]")
        key = str(parts[-1]) if parts else rule.id
        match item["type"]:
            case "extra_forbidden":
                known = _keys_of(rule.Options, parts[:-1])
                choice = f" It knows {', '.join(sorted(known))}." if known else " It has none."
                yield parts, f"{rule.id} has no setting {key!r}.{meant(key, known) or choice}"
            case "missing":
                yield parts, f"{rule.id} needs the setting {key!r}: write it."
            case "value_error":
                yield parts, f"{rule.id}: {item['msg'].removeprefix(_PREFIX)}."
            case kind if kind in _NO_MOMENT:
                yield parts, f"{rule.id}: {key}: write {_MOMENT}."
            case _:
                yield parts, f"{rule.id}: {key}: {item['msg']}."


def _keys_of(model: Any, parts: Parts) -> list[str]:
    """Return the keys of the model at this place."""
    for part in parts:
        model = _inside(model, part)
    if not _is_model(model):
        return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _inside(kind: Any, part: str | int) -> Any:
    if _is_model(kind):
        fields = kind.model_fields.items()
        return next((f.annotation for name, f in fields if part in (name, f.alias)), None)
    inner = [each for each in get_args(kind) if each not in (Ellipsis, type(None), str)]
    return inner[-1] if inner else None


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
