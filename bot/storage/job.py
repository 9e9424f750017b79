"""A job of the writer: one unit, and the caller that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lifecycle.ports import StoreUnavailable, Transaction

#: What is said of a writer that ended before it could say why.
STOPPED: Final = "The store stopped."


@dataclass(slots=True)
class Job:
    """A unit that waits or has run, with the future on which its caller waits.

    It is made on the event loop, run and filled in on the writer's thread, and answered on the
    loop.
    """

    unit: Callable[[Transaction], Any]
    answer: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None
    #: True once it is committed. Without that it is no success, whatever ended the writer.
    is_durable: bool = False

    def fail(self, error: BaseException) -> None:
        """Record why nothing of the unit remains; the first error counts."""
        self.value, self.error = None, self.error or error

    def reply(self) -> None:
        """Answer the caller, unless it was cancelled and nobody waits any more."""
        if self.answer.done():
            return
        if self.error is None and not self.is_durable:
            self.fail(StoreUnavailable(STOPPED))
        if self.error is None:
            self.answer.set_result(self.value)
        elif isinstance(self.error, asyncio.CancelledError):
            self.answer.cancel()
        elif isinstance(self.error, StopIteration):
            self.answer.set_exception(RuntimeError("a unit raised StopIteration"))
        else:
            self.answer.set_exception(self.error)
