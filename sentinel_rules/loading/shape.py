"""Check the form of a rule's class, and say in words for its author what it lacks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Final

from lifecycle.sentinel import RuleCase, RuleOptions

#: A class that lacks one of these is no rule.
PARTS: Final = (
    "id",
    "version",
    "summary",
    "Options",
    "passes",
    "fails",
    "applies_to",
    "check",
)
WHAT_A_RULE_IS: Final = f"a rule is a class with {', '.join(PARTS)}"
#: A class with at least this many of them was meant to be a rule.
_LIKE_A_RULE: Final = 4
_ASKED_WITH: Final = ("proposal", "facts")


def is_rule(value: Any) -> bool:
    """Return True if this is a class with all parts of a rule, whatever they hold."""
    return inspect.isclass(value) and not _lacked(value)


def is_like_a_rule(value: Any) -> bool:
    """Return True if this is a class that was probably meant to be a rule."""
    return inspect.isclass(value) and len(PARTS) - len(_lacked(value)) >= _LIKE_A_RULE


def why_no_rule(value: Any) -> str:
    """Return why something is no rule."""
    if not inspect.isclass(value):
        return WHAT_A_RULE_IS
    return f"{value.__name__} lacks {', '.join(_lacked(value))}"


def misshapen(rule: type[Any]) -> str | None:
    """Return what is wrong with the parts of a rule's class; None if they have their form."""
    return "; ".join(_faults(rule)) or None


def names_a_place(told: Any) -> bool:
    """Return True if this is a pair of a setting's path and the name that stands there."""
    match told:
        case (tuple(parts), str()):
            return all(isinstance(part, str | int) for part in parts)
        case _:
            return False


def _lacked(value: type[Any]) -> list[str]:
    return [part for part in PARTS if not hasattr(value, part)]


def _faults(rule: type[Any]) -> Iterator[str]:
    if type(rule.version) is not int:
        yield "version must be a whole number"
    if not isinstance(rule.summary, str):
        yield "summary must be text"
    options = rule.Options
    if not (inspect.isclass(options) and issubclass(options, RuleOptions)):
        yield "Options must be a class that inherits RuleOptions"
    for part in ("passes", "fails"):
        yield from _faults_of_cases(part, getattr(rule, part))
    if not _takes(rule, ("options",)):
        yield "__init__ must take (self, options)"
    for part in ("applies_to", "check"):
        yield from _faults_of_method(part, inspect.getattr_static(rule, part))


def _faults_of_method(part: str, found: Any) -> Iterator[str]:
    if inspect.isfunction(found) and not _takes(found, ("self", *_ASKED_WITH)):
        yield f"{part} must take (self, {', '.join(_ASKED_WITH)})"
    if inspect.iscoroutinefunction(found):
        yield f"{part} must be plain: write def, not async def"
    elif inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found):
        yield f"{part} must return its answer: write no yield in it"


def _faults_of_cases(part: str, cases: Any) -> Iterator[str]:
    if isinstance(cases, RuleCase):
        yield f"{part} must be a tuple: behind a single case stands a comma, (RuleCase(…),)"
    elif not isinstance(cases, tuple | list):
        yield f"{part} must be a tuple of RuleCase, and is {type(cases).__name__}"
    elif strange := [type(case).__name__ for case in cases if not isinstance(case, RuleCase)]:
        yield f"{part} must hold RuleCase alone, and holds {strange[0]}"


def _takes(called: Any, names: tuple[str, ...]) -> bool:
    try:
        inspect.signature(called).bind(*names)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return True
    return True
