"""Telling what a governed call came to, whatever the way there does."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from bot.client_errors import SignoffRefused, SignoffUnreachable

log = logging.getLogger("signoff.client")

Receipts = Callable[[Any], Mapping[str, Any]]
Report = Callable[[str, str, dict[str, Any]], Awaitable[Any]]

#: An outcome that nobody took is told again after so long, in seconds.
_TOLD_AGAIN_S: Final = (0.5, 1.0, 2.0, 4.0)


def fitting(receipt: Receipts | None, result: Any) -> dict[str, Any]:
    """Return the receipt of a result; what cannot be sent is said to be left out."""
    try:
        made = receipt(result) if receipt else result if isinstance(result, dict) else {}
        json.dumps(made, allow_nan=False)
    except Exception as error:
        log.warning("a receipt is left out: %s", type(error).__name__)
        return {"receipt_left_out": type(error).__name__}
    return dict(made)


async def told(report: Report, proposal_id: str, outcome: str, receipt: dict[str, Any]) -> None:
    """Report an outcome, again where nobody answers.

    Raises nothing: the work is over, and whoever called must have its result. Unreported, it is
    looked into by a person once its time is over.
    """
    for pause_s in (*_TOLD_AGAIN_S, None):
        try:
            await report(proposal_id, outcome, receipt)
            return
        except SignoffUnreachable as error:
            if pause_s is None:
                log.warning("%s is %s, and nobody could be told: %s", proposal_id, outcome, error)
                return
            await asyncio.sleep(pause_s)
        except SignoffRefused as error:
            log.warning("%s is %s, its receipt was refused: %s", proposal_id, outcome, error)
            return
