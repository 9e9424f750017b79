"""Call a tool and turn whatever comes back into a result: done, failed or unknown.

Nothing that a tool raises or returns escapes from here (design section 7).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import Any, Final, assert_never

import orjson

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.located import located
from lifecycle.ports import Call, HandedSecrets, Tool, ToolDoubtful, ToolFailed
from lifecycle.proposal import Outcome, Verb
from lifecycle.text.masking import harmless
from lifecycle.text.quoted_secrets import Secrets, mask_quoted, secrets_in
from lifecycle.workings.time_limits import within

log = logging.getLogger("signoff.tools")

LARGEST_RECEIPT: Final = 65_536
#: The field of a summary that stands for a receipt too large to be kept.
LEFT_OUT: Final = "receipt_left_out"
_LONGEST_WORDS: Final = 300
#: So much of what a tool said is searched for credentials: nobody else is served meanwhile, and
#: some tools repeat a whole answer of their server.
_MOST_READ: Final = 16_384
_LARGEST_EXACT: Final = 2**53 - 1
#: Python writes a longer number in hexadecimal digits alone.
_MOST_BITS: Final = 10_000
#: How deep, and of which length, what is no JSON is named.
_DEEPEST_NAMED: Final = 8
_LONGEST_NAME: Final = 64
_NO_NUMBERS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
#: The fields of a receipt that decide something; kept even if the whole is too large to be kept.
_READ: Final = ("affected_records", "effects", "still_stands")


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended: `done`, `failed` (nothing is left behind) or `unknown`.

    `explanation` is for people; it holds no secret and no inside of an exception. `still_stands` is
    what a roll back could not take back. `whole` is the whole answer if it is too large to be kept
    as `receipt`; an agent is shown its beginning. `handed` are secrets of the tool that the receipt
    may repeat; nobody is shown them.
    """

    outcome: Outcome
    receipt: Mapping[str, Any] | None = None
    explanation: str = ""
    still_stands: tuple[Any, ...] = ()
    whole: Mapping[str, Any] | None = None
    handed: Secrets = ()


async def call_tool(tool: Tool, call: Call) -> CallResult:
    """Call the verb of `call` within `call.limit_s`; raise nothing but a cancellation of our own
    task.

    An answer that came while this process was stopped is taken, though it may be past the limit.

    A tool that ends the program, or is cancelled by something of its own, ends only its own call.
    Receipts and errors may be objects of the tool's own, whose methods run when they are judged. If
    that fails, the outcome is unknown: it says nothing about what was done.
    """
    try:
        handed = tool.secrets_handed() if isinstance(tool, HandedSecrets) else ()
        return replace(await _judged(tool, call, handed), handed=handed)
    except BaseException as error:
        if _ours(error):
            raise
        log.error("the answer of %s: %s", call.tool, located(error))
        name = type(error).__name__
        return _unknown(f"{call.tool} gave an answer that cannot be read ({name}).")


async def _judged(tool: Tool, call: Call, handed: Secrets) -> CallResult:
    try:
        async with within(call.limit_s) as limit:
            receipt = await _called(tool, call)
    except ToolFailed as failure:
        return CallResult(Outcome.FAILED, explanation=_words(call, failure, handed))
    except ToolDoubtful as doubt:
        return _unknown(_doubt_words(call, doubt, handed))
    except BaseException as error:
        if limit.expired() and isinstance(error, TimeoutError):
            return _unknown(_overtime(call))
        if _ours(error):
            raise
        log.error("%s of %s: %s", call.verb, call.tool, located(error))
        return _unknown(f"{call.tool} ended with {type(error).__name__}; what it did is not known.")
    return result_of(call.tool, call.verb, receipt)


def _ours(error: BaseException) -> bool:
    """Return True if our own task is being ended, as opposed to something within the tool."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit)


async def _called(tool: Tool, call: Call) -> object:
    """Call the verb and return what the tool returned, which may be anything."""
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
    """Return the result for an answer that says done; an answer that is no receipt is `unknown`."""
    if not isinstance(receipt, Mapping):
        what = type(receipt).__name__
        return _unknown(f"{tool} answered with {what}, and a receipt is a dict: it may be empty.")
    try:
        data = _written(dict(receipt))
        kept = _read_back(data)
    except (ValueError, TypeError, RecursionError):
        return _unknown(f"{tool} answered with a receipt that is no JSON{_where(receipt)}.")
    whole = kept if len(data) > LARGEST_RECEIPT else None
    if whole is not None:
        kept = _summary(whole, data)
    if len(canonical_bytes(kept)) > LARGEST_RECEIPT:
        return _unknown(f"{tool} answered with a receipt that is too large to be judged.")
    standing = _standing(kept.get("still_stands")) if verb == Verb.ROLL_BACK else ()
    return CallResult(Outcome.DONE, kept, still_stands=standing, whole=whole)


def _where(receipt: Mapping[Any, Any]) -> str:
    """Return which of its fields is no JSON, and of what type, for whoever writes the tool."""
    for key, item in receipt.items():
        if not isinstance(key, str):
            return f": the name of a field is {_a(key)}"
        if (odd := _no_json(item, _DEEPEST_NAMED)) is not None:
            return f": {harmless(key)[:_LONGEST_NAME]} is or holds {_a(odd)}"
    return ""


def _no_json(value: Any, deep: int) -> Any:
    """Return the first value that is no JSON, None if none is found so deep."""
    match value:
        case Mapping() if deep:
            names = (name for name in value if not isinstance(name, str))
            odd = chain(names, (_no_json(each, deep - 1) for each in value.values()))
            return next((each for each in odd if each is not None), None)
        case list() | tuple() if deep:
            found = (_no_json(each, deep - 1) for each in value)
            return next((each for each in found if each is not None), None)
        case Mapping() | list() | tuple() | str() | int() | float() | None:
            return None
        case _:
            return value


def _a(value: Any) -> str:
    return f"a value of type {type(value).__name__[:_LONGEST_NAME]}"


def _written(receipt: dict[str, Any]) -> bytes:
    """Return the canonical form. Raises ValueError, TypeError, RecursionError if it has none."""
    try:
        return canonical_bytes(receipt)
    except ValueError:
        return canonical_bytes(_plain(receipt))


def _read_back(data: bytes) -> dict[str, Any]:
    """Return the receipt to keep, in a form that is canonical once more.

    A whole number that was written as a float, like 1e17, is read back as an integer that is too
    long; it becomes a text.
    """
    kept: dict[str, Any] = orjson.loads(data)
    try:
        canonical_bytes(kept)
    except ValueError:
        return dict(_plain(kept))
    return kept


def _plain(value: Any) -> Any:
    """Return a value in which everything that JSON readers disagree on has become text.

    A 64-bit id, NaN or half a character is odd in a receipt, but the receipt still says that it was
    done.
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
            return str(value) if value.bit_length() <= _MOST_BITS else hex(value)
        case float() if not isfinite(value):
            return _NO_NUMBERS[str(value)]
        case _:
            return value


def _name(key: Any) -> Any:
    """Return a field's name with the same care; a key that is no text is left as it is."""
    return _plain(key) if isinstance(key, str) else key


def _standing(stated: Any) -> tuple[Any, ...]:
    """Return `still_stands` as a tuple; empty only for absent, null, false or an empty list."""
    if isinstance(stated, list):
        return tuple(stated)
    return () if stated is None or stated is False else (stated,)


def _summary(receipt: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """Return the fields that decide something, with size and digest of the whole receipt."""
    kept = {key: receipt[key] for key in _READ if key in receipt}
    return kept | {LEFT_OUT: {"bytes": len(data), "digest": digest_of(data)}}


def _overtime(call: Call) -> str:
    return f"{call.tool} did not answer within {call.limit_s:g} s; what it did is not known."


def _doubt_words(call: Call, doubt: ToolDoubtful, handed: Secrets) -> str:
    said = _said(call, doubt, handed)
    return f"{call.tool}: {said or 'it did not tell how it ended'}; what it did is not known."


def _said(call: Call, error: Exception, handed: Secrets) -> str:
    """Return the words of a tool on one line, masked before they are cut, with nothing hidden.

    They may quote what the tool was given, or its config hands to it, and are told in places that
    show what they are handed.
    """
    words = str(error)
    if len(words) > _MOST_READ:  # half of a credential would not be recognized
        words = " ".join(words[:_MOST_READ].rsplit(maxsplit=1)[:-1])
    given = (*handed, *secrets_in([call.parameters, call.target]))
    return harmless(mask_quoted(words, given))[:_LONGEST_WORDS]


def _words(call: Call, failure: ToolFailed, handed: Secrets) -> str:
    """Return that nothing was done; of a roll back, that it took nothing back."""
    takes_back = call.verb == Verb.ROLL_BACK
    what = "took nothing back" if takes_back else "failed and left nothing behind"
    said = _said(call, failure, handed)
    end = "" if said.endswith((".", "!", "?")) else "."
    return f"{call.tool} {what}" + (f": {said}{end}" if said else ".")


def _unknown(explanation: str) -> CallResult:
    return CallResult(Outcome.UNKNOWN, explanation=explanation)
