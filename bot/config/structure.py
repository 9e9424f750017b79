"""Read a piece of the file into its model, and put every mistake into a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from bot.config.problems import Problems, nearest, quoted
from lifecycle.paths import Parts

M = TypeVar("M", bound=BaseModel)

_SENTENCES: Final = {
    "missing": "this key is needed",
    "string_type": "this must be text; write it in quotes",
    "int_type": "this must be a whole number",
    "bool_type": "this must be true or false",
    "list_type": "this must be a list, in brackets, like [a, b]",
    "dict_type": "this must be a mapping",
    "model_type": "this must be a mapping",
    "model_attributes_type": "this must be a mapping",
    "int_parsing_size": "this number is too large",
    "greater_than": "this must be more than {gt}",
    "greater_than_equal": "this must be at least {ge}",
    "less_than_equal": "this must be at most {le}",
    "value_error": "{error}",
}


def read_as(model: type[M], value: Any, parts: Parts, problems: Problems) -> M | None:
    """Return `value` as `model`; if it is not one, note its problems and return None."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_input=False):
            note(item, model, value, parts, problems)
        return None


def note(
    item: Mapping[str, Any], model: type[BaseModel], value: Any, parts: Parts, problems: Problems
) -> None:
    """Put one of pydantic's errors over `model` at `parts` into words."""
    loc = tuple(step for step in item["loc"] if step != "[key]")
    kind, ctx = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        words = "there is no such key" + nearest(str(loc[-1]), keys_at(model, loc[:-1]))
    elif kind in ("enum", "literal_error"):
        wrong = _at(value, loc)
        words = f"{quoted(wrong)} is not known here" + nearest(str(wrong), _listed(ctx))
    elif kind == "string_type" and isinstance(_at(value, loc), list | dict):
        words = "this must be one text, not a list and not a mapping"
    else:
        words = _SENTENCES.get(kind, str(item["msg"])).format(**ctx)
    problems.add((*parts, *loc), words)


def _listed(ctx: Mapping[str, Any]) -> list[str]:
    return [word.strip("' ") for word in str(ctx["expected"]).replace(" or ", ", ").split(", ")]


def _at(value: Any, loc: Iterable[str | int]) -> Any:
    for step in loc:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def keys_of(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model as they stand in the file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def keys_at(model: type[BaseModel], loc: Iterable[str | int]) -> list[str]:
    """Return the keys that are valid at `loc` below `model`."""
    here: type[BaseModel] | None = model
    for step in loc:
        here = _model_below(here, step) if here else None
    return keys_of(here) if here else []


def _model_below(model: type[BaseModel], step: str | int) -> type[BaseModel] | None:
    for name, field in model.model_fields.items():
        if step in (name, field.alias):
            return _model_in(field.annotation)
    return None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inside = (
        get_args(annotation) if get_origin(annotation) in (Union, UnionType, list, dict) else ()
    )
    return next((model for model in map(_model_in, inside) if model), None)
