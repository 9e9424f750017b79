"""`governed` wraps a function of an agent so that it runs only after people have signed off on the
very call."""

from __future__ import annotations

import functools
import inspect
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, ParamSpec, TypeVar

from bot.client.errors import NothingDone, SignoffRefused, copied
from bot.client.session import TERMINAL, Signoff
from bot.client.telling import Receipts, decided, fitting, is_yet_to_act, told

P = ParamSpec("P")
R = TypeVar("R")


def governed(
    tool: str,
    *,
    signoff: Signoff | None = None,
    target: Mapping[str, Any] | None = None,
    justification: str | None = None,
    receipt: Receipts | None = None,
    timeout_s: float | None = None,
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Let people sign off on every call of an async function, which a tool of kind `agent` names.

    A call proposes its own arguments, waits for people, redeems the permit, runs, and reports the
    receipt (`receipt(result)`, else the result if it is a dict). Raises SignoffRefused with the
    reason if it may not run, and TypeError before proposing if the tool is of another kind. A
    function that is not `async def` is refused with TypeError when it is decorated, because it
    would begin its work before it is awaited; so is a `functools.partial` of one, because nobody
    sees what that has bound.

    It runs with a copy of its arguments as they were when it was called: that is what people see.
    `timeout_s` limits the wait for people, in seconds; None waits for ever.
    """

    def decorated(run: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        if not inspect.iscoroutinefunction(run) or isinstance(run, functools.partial):
            raise TypeError("governed takes a function that is written with `async def`.")
        signature = inspect.signature(run)

        @functools.wraps(run)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            bound.arguments.update(copied(bound.arguments))
            async with _session(signoff) as session:
                proposer = _Governed(session, tool, target, justification or _words(run))
                proposal_id = await proposer.permitted(dict(bound.arguments), timeout_s)
                return await _reported(session, proposal_id, run, bound, receipt)

        return call

    return decorated


def _session(signoff: Signoff | None) -> AbstractAsyncContextManager[Signoff]:
    """Return a session for one call; a session that the caller gave is not closed afterwards."""
    return Signoff() if signoff is None else nullcontext(signoff)


class _Governed:
    """One governed call, from its arguments to a redeemed permit."""

    def __init__(
        self, session: Signoff, tool: str, target: Mapping[str, Any] | None, justification: str
    ) -> None:
        self._session, self._tool = session, tool
        self._target, self._justification = target, justification

    async def permitted(self, parameters: dict[str, Any], timeout_s: float | None) -> str:
        """Propose, wait and redeem; return the proposal's id. Raises SignoffRefused if it may not
        run, TypeError if the tool is not of kind agent."""
        document = await self._document(parameters)
        answer = await self._session.propose(document)
        proposal_id = str(answer["proposal_id"])
        found = await decided(self._session.wait, proposal_id, timeout_s)
        permit = found.get("permit")
        if permit is None or found["state"] in TERMINAL:
            raise SignoffRefused(str(found.get("reason")), str(found.get("explanation")), found)
        # If the answer is lost, the function is not begun and nobody reports `failed`: another
        # process with the same call may have redeemed the permit and be at work. A person looks.
        await self._session.redeem(proposal_id, str(permit), parameters)
        return proposal_id

    async def _document(self, parameters: dict[str, Any]) -> dict[str, Any]:
        known = {each["name"]: each for each in await self._session.tools()}
        kind = known.get(self._tool, {}).get("kind")
        if kind != "agent":
            raise TypeError(
                f"{self._tool} is {'no tool here' if kind is None else f'of kind {kind}'}: only "
                "tools of kind agent are carried out by the agent itself; propose any other."
            )
        tool = known[self._tool]
        return {
            "proposal_id": f"{self._tool[:40]}-{secrets.token_hex(8)}",
            "ts_ms": self._session.now_ms(),
            "actor": await self._session.whoami(),
            "tool": self._tool,
            "action_type": tool["action_type"],
            "target": {
                "resource_type": self._tool,
                "resource_id": "call",
                "domain": "agent",
                "constraints": {},
                **{key: each for key, each in tool["match"].items() if key != "action_type"},
                **(self._target or {}),
            },
            "parameters": parameters,
            "justification": self._justification,
        }


async def _reported(
    session: Signoff,
    proposal_id: str,
    run: Callable[..., Awaitable[R]],
    bound: inspect.BoundArguments,
    receipt: Receipts | None,
) -> R:
    """Run the function and report the outcome.

    If it raises, nothing is reported, because it may have acted; the same if it returns what only
    begins to act when it is awaited or iterated. A function that knows that it left nothing behind
    raises NothingDone, and `failed` is reported. One that was raised by a governed call inside it
    says nothing of what it did itself before or after that call.
    """
    try:
        result = await run(*bound.args, **bound.kwargs)
    except NothingDone as error:
        if error.told_of is None:
            error.told_of = proposal_id
            await told(session.report, proposal_id, "failed", {})
        raise
    if not is_yet_to_act(proposal_id, result):
        await told(session.report, proposal_id, "done", fitting(receipt, result))
    return result


def _words(run: Callable[..., Any]) -> str:
    return f"The agent calls {run.__name__}: {(inspect.getdoc(run) or 'no description').strip()}"
