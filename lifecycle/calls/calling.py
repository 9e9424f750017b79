"""Calling a tool: every end is done, failed or unknown, and nothing escapes (design section 7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, assert_never

import orjson

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.located import located
from lifecycle.ports import Call, Tool, ToolDoubtful, ToolFailed
from lifecycle.proposal import Outcome, Verb
from lifecycle.text.masking import mask_text
from lifecycle.time_limits import within

log = logging.getLogger("signoff.tools")

LARGEST_RECEIPT: Final = 65_536
#: What a receipt that is too large to be kept says of itself.
LEFT_OUT: Final = "receipt_left_out"
_LONGEST_WORDS: Final = 300
_LARGEST_EXACT: Final = 2**53 - 1
_NO_NUMBERS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
#: What the law reads in a receipt; kept even where the receipt is too large to be kept whole.
_READ: Final = ("affected_records", "effects", "still_stands")


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended: `done`, `failed` (nothing is left behind) or `unknown`.

    `explanation` is for people and holds no secret and no inside of an exception; `still_stands`
    is what roll_back could not take back; `whole` is what was answered, where that is too large to
    be kept as `receipt`: an agent is shown the beginning of it.
    """

    outcome: Outcome
    receipt: Mapping[str, Any] | None = None
    explanation: str = ""
    still_stands: tuple[Any, ...] = ()
    whole: Mapping[str, Any] | None = None


async def call_tool(tool: Tool, call: Call) -> CallResult:
    """Call the verb of `call` within `call.limit_s`; raises only the caller's cancellation.

    What it answered while this process was stopped, and could not look, is taken.

    A tool that ends the program, or that is cancelled by something of its own, ends no more than
    its call. A receipt and an error may be objects of the tool's own, whose methods are run where
    they are judged: what fails there says nothing of what was done.
    """
    try:
        return await _judged(tool, call)
    except BaseException as error:
        if _ours(error):
            raise
        log.error("the answer of %s: %s", call.tool, located(error))
        name = type(error).__name__
        return _unknown(f"{call.tool} gave an answer that cannot be read ({name}).")


async def _judged(tool: Tool, call: Call) -> CallResult:
    try:
        async with within(call.limit_s) as limit:
            receipt = await _called(tool, call)
    except ToolFailed as failure:
        return CallResult(Outcome.FAILED, explanation=_words(call, failure))
    except ToolDoubtful as doubt:
        return _unknown(_doubt_words(call.tool, doubt))
    except BaseException as error:
        if limit.expired() and isinstance(error, TimeoutError):
            return _unknown(_overtime(call))
        if _ours(error):
            raise
        log.error("%s of %s: %s", call.verb, call.tool, located(error))
        return _unknown(f"{call.tool} ended with {type(error).__name__}; what it did is not known.")
    return result_of(call.tool, call.verb, receipt)


def _ours(error: BaseException) -> bool:
    """Say whether it is our own task that is being ended, and not something within the tool."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit)


async def _called(tool: Tool, call: Call) -> object:
    """Dispatch on the verb; the answer is whatever the tool returned, which may be anything."""
    verb = Verb(call.verb)
    match verb:
        case Verb.EXECUTE:
            return await tool.execute(call)
        case Verb.COMMIT:
            return await tool.commit(call)
        case Verb.ROLL_BACK:
            return await tool.roll_back(call)
        case _:
            assert_never(verb)


def result_of(tool: str, verb: str, receipt: object) -> CallResult:
    """Return what an answer amounts to that says done, whatever it is: no receipt is unknown."""
    if not isinstance(receipt, Mapping):
        return _unknown(f"{tool} answered with something that is no receipt.")
    try:
        data = _written(dict(receipt))
        kept = _read_back(data)
    except (ValueError, TypeError, RecursionError):
        return _unknown(f"{tool} answered with a receipt that is no JSON.")
    whole = kept if len(data) > LARGEST_RECEIPT else None
    if whole is not None:
        kept = _summary(whole, data)
    if len(canonical_bytes(kept)) > LARGEST_RECEIPT:
        return _unknown(f"{tool} answered with a receipt that is too large to be judged.")
    standing = _standing(kept.get("still_stands")) if verb == Verb.ROLL_BACK else ()
    return CallResult(Outcome.DONE, kept, still_stands=standing, whole=whole)


def _written(receipt: dict[str, Any]) -> bytes:
    """Return the canonical form; raises ValueError, TypeError, RecursionError for what has none."""
    try:
        return canonical_bytes(receipt)
    except ValueError:
        return canonical_bytes(_plain(receipt))


def _read_back(data: bytes) -> dict[str, Any]:
    """Return what is kept of a receipt, which must have a canonical form once more.

    A whole number that was written as a float, 1e17, is read as one that is too long.
    """
    kept: dict[str, Any] = orjson.loads(data)
    try:
        canonical_bytes(kept)
    except ValueError:
        return dict(_plain(kept))
    return kept


def _plain(value: Any) -> Any:
    """Return a value with as text what readers of JSON disagree on.

    A 64-bit id, NaN and half a character say odd things of what was done, and still that it was.
    """
    match value:
        case Mapping():
            return {_name(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case bool():
            return value
        case int() if abs(value) > _LARGEST_EXACT:
            return str(value)
        case float() if not isfinite(value):
            return _NO_NUMBERS[str(value)]
        case _:
            return value


def _name(key: Any) -> Any:
    """Return the name of a field; what is no text names none."""
    return _plain(key) if isinstance(key, str) else key


def _standing(stated: Any) -> tuple[Any, ...]:
    """Read `still_stands`: nothing only where it is absent, null, false or an empty list."""
    if isinstance(stated, list):
        return tuple(stated)
    return () if stated is None or stated is False else (stated,)


def _summary(receipt: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """Keep what the law reads, and which receipt it was."""
    kept = {key: receipt[key] for key in _READ if key in receipt}
    return kept | {LEFT_OUT: {"bytes": len(data), "digest": digest_of(data)}}


def _overtime(call: Call) -> str:
    return f"{call.tool} did not answer within {call.limit_s:g} s; what it did is not known."


def _doubt_words(tool: str, doubt: ToolDoubtful) -> str:
    said = _said(doubt)
    return f"{tool}: {said or 'it did not tell how it ended'}; what it did is not known."


def _said(error: Exception) -> str:
    return " ".join(mask_text(str(error)).split())[:_LONGEST_WORDS]


def _words(call: Call, failure: ToolFailed) -> str:
    """Say that nothing was done; of a roll back, that all it was to take back stands."""
    takes_back = call.verb == Verb.ROLL_BACK
    what = "took nothing back" if takes_back else "failed and left nothing behind"
    said = _said(failure)
    end = "" if said.endswith((".", "!", "?")) else "."
    return f"{call.tool} {what}" + (f": {said}{end}" if said else ".")


def _unknown(explanation: str) -> CallResult:
    return CallResult(Outcome.UNKNOWN, explanation=explanation)
