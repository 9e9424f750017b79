"""Calls tools that are classes of the operator's own (design section 7).

`PythonTool` says on which thread the code of such a class runs.
"""

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
from bot.process.forked import end_copy
from bot.process.pool import THREADS_OF
from bot.tools.apart import apart, left_of
from bot.tools.handed import secrets_in_env
from bot.tools.threads import DaemonThreads, NotBegun, beside
from lifecycle.located import NOT_LOADED, located
from lifecycle.ports import Call, ToolFailed

#: How many calls of one tool may go on although their time is over.
MOST_AT_ONCE: Final = 32
#: How many plain calls of one tool may be under way. Each has a thread, and a machine has only so
#: many of them.
_MOST_UNDER_WAY: Final = 128


class PythonTool:
    """Wraps `module:Class`, with `execute(call)` and, if the class has them, `commit` and
    `roll_back`.

    Methods may be plain or async, and return the receipt. ToolFailed means that nothing is left
    behind; after any other error the outcome is unknown. `reversible = True` and `deferred = True`
    on the class say what it can take back.

    - The methods of this class run on the event loop; only `_counted`, with the `_theirs` that it
      calls, runs on the thread of its call.
    - A plain method of the operator's runs on a thread of its own, which no time limit can end.
    - An async one runs on the loop, in a task of its own, which may go on when it is cancelled.
    - What their code hands to the loop's pool (asyncio.to_thread), also while the object is made,
      runs on the threads of this tool (`DaemonThreads`).
    - The object is made on the loop at a start, and on a thread of its own at a reload.

    While MOST_AT_ONCE calls hang, no further call begins.
    """

    def __init__(
        self, settings: Mapping[str, Any], folder: Path, environment: Mapping[str, str]
    ) -> None:
        """Load `class`, also from beside the config file, and make an object with its `options`.

        Raises ValueError if the class cannot be loaded, StartFailed if no object can be made or a
        method is missing.
        """
        self._places, self._threads = _Places(), DaemonThreads(MOST_AT_ONCE)
        self._handed = secrets_in_env(settings.get("env", ()), environment)
        name = settings["class"]
        made = self._theirs(partial(class_in, name, folder))
        try:
            self._tool = self._theirs(lambda: made(**settings.get("options", {})))
            in_vain = never_committed(made, self._tool)
            needed = [(*each, getattr(self._tool, each[0], None)) for each in _needed(made)]
        except NOT_LOADED as error:  # whatever is raised, the operator's own code raises it
            words = f"{name} cannot be made ({located(error)}): mend it, or its options."
            raise StartFailed(words) from error
        for verb, claim, method in needed:
            if not callable(method):
                raise StartFailed(f"{name} {claim}has no {verb}(call): write one.")
            if not takes(method, "call"):
                raise StartFailed(f"{name} must have {verb} as {verb}(self, call): write it so.")
        if in_vain:
            raise StartFailed(f"{name} {in_vain}")

    def secrets_handed(self) -> tuple[str, ...]:
        """Return the secrets that `env` names."""
        return self._handed

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Run the object's execute."""
        return await self._run("execute", call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Run the object's commit; without one, do nothing, because execute has done it all."""
        return await self._run("commit", call) if hasattr(self._tool, "commit") else {}

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Run the object's roll_back. Raises ToolFailed if there is none."""
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
        except asyncio.CancelledError:  # its time is over, but its thread may go on
            self._places.over(place)
            raise
        except NotBegun as error:
            self._places.free(place)
            words = "this machine starts no more threads, so this call was not begun"
            raise ToolFailed(words) from error
        except BaseException:  # whatever was raised, the method has ended or was never begun
            self._places.free(place)
            raise
        return _as_given(
            await apart(answer, name, self._threads) if inspect.isawaitable(answer) else answer
        )

    def _refuse_more(self, call: Call) -> None:
        """Raise ToolFailed if too many calls of this tool hang or are under way, because each uses
        up a part of what the whole bot has."""
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
        """Run the operator's code, so that what it hands to the loop's pool runs on the tool's own
        threads.

        Runs on the calling thread: that of the call, or the one on which the object is made. A copy
        of the process that the code forked ends here.
        """
        context = copy_context()
        context.run(THREADS_OF.set, self._threads)
        try:
            answer = context.run(work)
        except BaseException as error:
            end_copy(error)
            raise
        end_copy()
        return answer


def started_in() -> str:
    """Return the folder in which this process runs, where the classes of tools read relative paths;
    "" if it was removed, in which case there is nothing for them to read."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


class _Places:
    """Counts the plain calls of one tool that are under way, also those whose time is over.

    It is shared by the loop and the threads of the calls, under a lock.
    """

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
        """Return how many calls are under way, and for how many of these the time is over."""
        with self._lock:
            return len(self._under_way), len(self._over)


def _needed(made: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield each verb that a class must have, with the claim of the class that requires it."""
    can = capabilities_of(made)
    yield "execute", ""
    if can.reversible:
        yield "roll_back", "says that it is reversible, and "
    if can.deferred:
        yield "commit", "says that it is deferred, and "


def _as_given(answer: Any) -> Mapping[str, Any]:
    """Return what an operator's class answered, whatever it is; `call_tool` judges it."""
    receipt: Mapping[str, Any] = answer
    return receipt
