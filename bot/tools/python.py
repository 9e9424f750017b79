"""Tools that are classes of the operator's own (design section 7)."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, Final

from bot.config.kinds import capabilities_of, class_in, never_committed, takes
from bot.expected import StartFailed
from bot.forked import end_copy
from bot.pool import THREADS_OF
from bot.tools.apart import apart, left_of
from bot.tools.threads import DaemonThreads, NotBegun, beside
from lifecycle.located import NOT_LOADED, located
from lifecycle.ports import Call, ToolFailed

#: So many calls of one tool may go on although their time is over.
MOST_AT_ONCE: Final = 32
#: So many plain ones may be under way: each has a thread, and the machine only some.
_MOST_UNDER_WAY: Final = 128


class PythonTool:
    """Wraps `module:Class`: `execute(call)`, and where it has them `commit` and `roll_back`.

    Methods may be plain or async, and return the receipt. A plain one runs in a thread of its own,
    which no time limit can end, an async one in a task of its own, which need not end when it is
    told to: once MOST_AT_ONCE of them hang, no more begin. What they begin in the loop, and what is
    begun as the object is made, has the threads of its tool. ToolFailed means that nothing is left
    behind, any other error unknown. `reversible = True` and `deferred = True` on the class say what
    it can take back.
    """

    def __init__(self, settings: Mapping[str, Any], folder: Path) -> None:
        """Load `class`, looking beside the config file too, and make one with its `options`.

        Raises ValueError where it cannot be loaded, StartFailed where none can be made.
        """
        self._places, self._threads = _Places(), DaemonThreads(MOST_AT_ONCE)
        name = settings["class"]
        made = self._theirs(partial(class_in, name, folder))
        try:
            self._tool = self._theirs(lambda: made(**settings.get("options", {})))
            in_vain = never_committed(made, self._tool)
        except NOT_LOADED as error:  # whatever it is, it is the operator's own
            words = f"{name} cannot be made ({located(error)}): mend it, or its options."
            raise StartFailed(words) from error
        for verb, claim in _needed(made):
            method = getattr(self._tool, verb, None)
            if not callable(method):
                raise StartFailed(f"{name} {claim}has no {verb}(call): write one.")
            if not takes(method, "call"):
                raise StartFailed(f"{name} must have {verb} as {verb}(self, call): write it so.")
        if in_vain:
            raise StartFailed(f"{name} {in_vain}")

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Run execute."""
        return await self._run("execute", call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Run commit; without one, execute has done all there is to do."""
        return await self._run("commit", call) if hasattr(self._tool, "commit") else {}

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Run roll_back; ToolFailed where there is none."""
        if not hasattr(self._tool, "roll_back"):
            raise ToolFailed(f"{call.tool} has no way to take anything back")
        return await self._run("roll_back", call)

    async def _run(self, verb: str, call: Call) -> Mapping[str, Any]:
        method: Callable[[Call], Any] = getattr(self._tool, verb)
        name = f"{call.tool} {verb} of {call.proposal_id}"
        if inspect.iscoroutinefunction(method):
            self._refuse_more(call)
            return _as_given(await apart(method(call), name, self._threads))
        self._refuse_more(call)
        place = self._places.taken()
        try:
            answer = await beside(partial(self._counted, place, method, call), name)
        except asyncio.CancelledError:  # its time is over, and it may go on all the same
            self._places.over(place)
            raise
        except NotBegun as error:
            self._places.free(place)
            words = "this machine starts no more threads, so this call was not begun"
            raise ToolFailed(words) from error
        except BaseException:  # whatever it raised it has ended, or was never begun
            self._places.free(place)
            raise
        return _as_given(
            await apart(answer, name, self._threads) if inspect.isawaitable(answer) else answer
        )

    def _refuse_more(self, call: Call) -> None:
        """Raise ToolFailed where too many calls hang: each takes its part of the whole bot."""
        under_way, hang = self._places.counted()
        hang += left_of(self._threads)
        if hang >= MOST_AT_ONCE:
            words = f"{hang} calls of {call.tool} do not return; this one was not begun"
            raise ToolFailed(words)
        if self._threads.hang():
            words = (
                f"what {call.tool} began in its threads does not return; this call was not begun"
            )
            raise ToolFailed(words)
        if under_way >= _MOST_UNDER_WAY:
            words = f"{under_way} calls of {call.tool} are under way; this one was not begun"
            raise ToolFailed(words)

    def _counted(self, place: object, method: Callable[[Call], Any], call: Call) -> Any:
        try:
            return self._theirs(partial(method, call))
        finally:
            self._places.free(place)

    def _theirs(self, work: Callable[[], Any]) -> Any:
        """Do their work so that what it begins in the loop has their threads too, not our own."""
        context = copy_context()
        context.run(THREADS_OF.set, self._threads)
        try:
            answer = context.run(work)
        except BaseException as error:
            end_copy(error)
            raise
        end_copy()
        return answer


class _Places:
    """The plain calls of one tool that are under way, those whose time is over among them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way, self._over = set[object](), set[object]()

    def taken(self) -> object:
        with self._lock:
            self._under_way.add(place := object())
        return place

    def over(self, place: object) -> None:
        with self._lock:
            self._over |= self._under_way & {place}

    def free(self, place: object) -> None:
        with self._lock:
            self._under_way.discard(place)
            self._over.discard(place)

    def counted(self) -> tuple[int, int]:
        """Return how many are under way, and of how many of them the time is over."""
        with self._lock:
            return len(self._under_way), len(self._over)


def _needed(made: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield each verb that a class must have, with what it says of itself that asks for it."""
    can = capabilities_of(made)
    yield "execute", ""
    if can.reversible:
        yield "roll_back", "says that it is reversible, and "
    if can.deferred:
        yield "commit", "says that it is deferred, and "


def _as_given(answer: Any) -> Mapping[str, Any]:
    """Pass on what an operator's class answered, whatever it is: the caller judges it."""
    receipt: Mapping[str, Any] = answer
    return receipt
