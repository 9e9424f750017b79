"""Waits for the decision on a governed call and reports its outcome, through times when the bot
does not answer. `bot.client.governed` uses it on the agent's loop."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import chain, repeat
from typing import Any, Final, Protocol

from bot.client.errors import SignoffRefused, SignoffUnreachable

log = logging.getLogger("signoff.client")

Receipts = Callable[[Any], Mapping[str, Any]]
Report = Callable[[str, str, dict[str, Any]], Awaitable[Any]]


class Wait(Protocol):
    """The type of `Signoff.wait`."""

    async def __call__(self, proposal_id: str, *, timeout_s: float | None) -> dict[str, Any]:
        """Return the proposal once it has ended or a permit waits."""
        ...


#: The pauses in seconds before a call that was not answered is tried again.
_AGAIN_S: Final = (0.5, 1.0, 2.0, 4.0)
#: The longest such pause in seconds, whatever the answer asks for: somebody waits for the result.
_LONGEST_S: Final = 60.0
_LATER: Final = "later"
#: The reasons for which Signoff refuses a receipt that it cannot read. It must hear nevertheless
#: that the work is done, or a person has to find out.
_UNREADABLE: Final = frozenset(
    {
        "too_large",
        "too_deep",
        "out_of_range",
        "non_finite_number",
        "invalid_unicode",
        "control_character",
        "duplicate_key",
        "wrong_type",
    }
)


def fitting(receipt: Receipts | None, result: Any) -> dict[str, Any]:
    """Return the receipt of a result; if it cannot be sent, one that says that it is left out."""
    try:
        made = dict(receipt(result) if receipt else result if isinstance(result, dict) else {})
        json.dumps(made, allow_nan=False)
    except Exception as error:
        log.warning("a receipt is left out: %s", type(error).__name__)
        return _left_out(type(error).__name__)
    return made


def is_yet_to_act(proposal_id: str, result: Any) -> bool:
    """Return True for a result that acts when it is awaited or iterated: a coroutine, a task, a
    generator. Nobody knows yet what comes of it, so that it is not called done."""
    waits = inspect.isawaitable(result)
    if not (waits or inspect.isgenerator(result) or inspect.isasyncgen(result)):
        return False
    kind = type(result).__name__
    log.warning("%s returned a %s and is not reported: that may act only now", proposal_id, kind)
    return True


async def decided(wait: Wait, proposal_id: str, timeout_s: float | None) -> dict[str, Any]:
    """Wait for people's decision and return it; wait on if the bot does not answer meanwhile.

    Raises what `wait` raises. SignoffUnreachable, and a refusal with `later`, are raised only once
    `timeout_s` seconds are over; never if it is None.
    """
    begun_s = time.monotonic()
    for usual_s in chain(_AGAIN_S, repeat(_AGAIN_S[-1])):
        left_s = None if timeout_s is None else timeout_s - (time.monotonic() - begun_s)
        try:
            return await wait(proposal_id, timeout_s=left_s)
        except (SignoffUnreachable, SignoffRefused) as error:
            pause_s = _pause_s(error, usual_s)
            if pause_s is None or (left_s is not None and left_s <= pause_s):
                raise
            log.warning("%s is waited for again: %s", proposal_id, error)
            await asyncio.sleep(pause_s)
    raise AssertionError  # repeat never ends


async def told(report: Report, proposal_id: str, outcome: str, receipt: dict[str, Any]) -> None:
    """Report an outcome; try again if nobody answers or the answer says `later`.

    A receipt that Signoff cannot read (a number of 64 bits, a mebibyte) is left out. It raises
    nothing: the work is done, and the caller must get its result. If the report fails, a person
    looks into the call once its time is over.
    """
    refused = await _reported(report, proposal_id, outcome, receipt)
    if refused in _UNREADABLE:
        await _reported(report, proposal_id, outcome, _left_out(refused))


async def _reported(
    report: Report, proposal_id: str, outcome: str, receipt: dict[str, Any]
) -> str | None:
    """Report; return the reason if it was refused for good, else None (taken, or never
    answered)."""
    for usual_s in (*_AGAIN_S, None):
        try:
            await report(proposal_id, outcome, receipt)
            return None
        except (SignoffUnreachable, SignoffRefused) as error:
            pause_s = None if usual_s is None else _pause_s(error, usual_s)
            if pause_s is None:
                log.warning("%s is %s, and that was not taken: %s", proposal_id, outcome, error)
                return error.reason if isinstance(error, SignoffRefused) else None
            await asyncio.sleep(pause_s)
        except Exception as error:
            # Its session was closed meanwhile, for example; asking again would end the same way.
            why = type(error).__name__
            log.warning("%s is %s, and that cannot be told: %s", proposal_id, outcome, why)
            return None
    raise AssertionError  # the last of them returns


def _left_out(why: str) -> dict[str, Any]:
    return {"receipt_left_out": why}


def _pause_s(error: SignoffUnreachable | SignoffRefused, usual_s: float) -> float | None:
    """Return after how many seconds to try again, None if that would change nothing."""
    if isinstance(error, SignoffUnreachable):
        return usual_s
    if error.retry != _LATER:
        return None
    asked_s = error.answer.get("retry_after_s")
    return max(usual_s, min(asked_s, _LONGEST_S)) if isinstance(asked_s, int | float) else usual_s
