"""A small client for agents in Python: propose, wait, redeem, report; and `governed` tools."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar

import httpx

from bot.client_errors import (
    NothingDone,
    SignoffRefused,
    SignoffUnreachable,
    address,
    bearer,
    copied,
    encoded,
    part_of_path,
)
from bot.telling import Receipts, decided, fitting, told

__all__ = ["NothingDone", "Signoff", "SignoffRefused", "SignoffUnreachable", "governed"]

P = ParamSpec("P")
R = TypeVar("R")

_TERMINAL: Final = frozenset({"completed", "rolled_back", "rejected"})
_HOLD_S: Final = 25
_TIMEOUT_S: Final = 20.0
#: So long until what is not held, and has not changed, is asked for again.
_PAUSE_S: Final = 0.5


class Signoff:
    """One agent's session with a running bot.

    async with Signoff(url, token) as signoff:
        answer = await signoff.propose(document)
        ended = await signoff.wait(answer["proposal_id"])
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,  # noqa: TID251 - see below
    ) -> None:
        """Take the address and the agent's token, else SIGNOFF_URL and SIGNOFF_TOKEN.

        `now_ms` is the agent's own clock, by which its documents are dated. Raises
        SignoffUnreachable where the address is none, or the token is none that can be sent.
        """
        self.now_ms = now_ms
        self.url = address(url or os.environ.get("SIGNOFF_URL") or "http://127.0.0.1:8080")
        held = token if token is not None else os.environ.get("SIGNOFF_TOKEN", "")
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers={"authorization": bearer(held)},
            timeout=_TIMEOUT_S,
            transport=transport,
            trust_env=False,
        )
        self._agent: str | None = None

    async def __aenter__(self) -> Signoff:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def propose(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Submit a document and return the answer; raises SignoffRefused where it says no."""
        return await self._asked("POST", "/v1/proposals", document)

    async def check(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a submission would meet now; nothing is stored."""
        return await self._asked("POST", "/v1/proposals:check", document)

    async def proposal(self, proposal_id: str, *, wait_s: int = 0) -> dict[str, Any]:
        """Return one of one's own proposals; held up to `wait_s` until its state changes."""
        path = f"/v1/proposals/{part_of_path(proposal_id)}"
        return await self._asked("GET", f"{path}?wait={wait_s}" if wait_s else path, wait_s=wait_s)

    async def wait(self, proposal_id: str, *, timeout_s: float | None = None) -> dict[str, Any]:
        """Return the proposal once it has ended, or once a permit waits for this agent.

        Raises TimeoutError after `timeout_s` seconds.
        """
        begun_s = time.monotonic()
        before: object = None
        while True:
            left_s, asked_s = _left(begun_s, timeout_s), time.monotonic()
            found = await self.proposal(proposal_id, wait_s=min(_HOLD_S, max(0, int(left_s))))
            if found["state"] in _TERMINAL or found.get("permit"):
                return found
            if _left(begun_s, timeout_s) < 1:
                raise TimeoutError(f"{proposal_id} is still {found['state']}")
            if found["state"] == before and time.monotonic() - asked_s < _PAUSE_S:
                await asyncio.sleep(_PAUSE_S)
            before = found["state"]

    async def question(self, question_id: str, *, wait_s: int = 0) -> dict[str, Any]:
        """Return a question of one's own; held up to `wait_s` until a reviewer has answered."""
        path = f"/v1/questions/{part_of_path(question_id)}"
        return await self._asked("GET", f"{path}?wait={wait_s}", wait_s=wait_s)

    async def withdraw(self, proposal_id: str) -> dict[str, Any]:
        """Take a proposal of one's own back before it is carried out."""
        return await self._asked("DELETE", f"/v1/proposals/{part_of_path(proposal_id)}")

    async def redeem(
        self, proposal_id: str, permit: str, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Use up a permit with the actual parameters; begin only after this has returned."""
        body = {"permit": permit, "parameters": dict(parameters)}
        return await self._asked("POST", f"/v1/proposals/{part_of_path(proposal_id)}/redeem", body)

    async def report(
        self, proposal_id: str, outcome: str, receipt: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Report `done` with a receipt, or `failed` where nothing was left behind."""
        body = {"outcome": outcome, "receipt": dict(receipt or {})}
        return await self._asked("POST", f"/v1/proposals/{part_of_path(proposal_id)}/receipt", body)

    async def tools(self) -> list[dict[str, Any]]:
        """List the tools; to stand in the list is no permission."""
        listed = await self._asked("GET", "/v1/tools")
        return list(listed["tools"])

    async def whoami(self) -> str:
        """Return the id under which this token speaks."""
        if self._agent is None:
            self._agent = str((await self._asked("GET", "/v1/whoami"))["id"])
        return self._agent

    async def _asked(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, wait_s: float = 0
    ) -> dict[str, Any]:
        content_type = {"content-type": "application/json"} if body is not None else {}
        sent = encoded(body) if body is not None else None
        try:
            answer = await self._http.request(
                method, path, content=sent, headers=content_type, timeout=_TIMEOUT_S + wait_s
            )
            content = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise SignoffUnreachable(
                f"Signoff at {self.url} cannot be reached ({type(error).__name__}). Is the bot "
                "running, with intake.http enabled?"
            ) from error
        if not isinstance(content, dict):
            raise SignoffUnreachable(f"Signoff at {self.url} answered no object.")
        if answer.is_success:
            return content
        reason, words = content.get("reason") or content.get("error"), content.get("detail", "")
        if reason is None:
            raise SignoffUnreachable(
                f"Signoff at {self.url} answered {answer.status_code}: {words}"
            )
        raise SignoffRefused(str(reason), str(words), content)


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
    receipt (`receipt(result)`, else the result where it is a dict). Raises SignoffRefused with the
    reason where it may not run, and TypeError before proposing where the tool is of another kind.
    A function that is not `async def` is refused at once, also by TypeError: it would be at work
    before it is awaited.

    It runs with a copy of its arguments as they were when it was called: that is what people see.
    """

    def decorated(run: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        if not inspect.iscoroutinefunction(run):
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
    """Return a session for one call; one that was given is closed by whoever gave it."""
    return Signoff() if signoff is None else nullcontext(signoff)


class _Governed:
    """One governed call, from its arguments to a redeemed permit."""

    def __init__(
        self, session: Signoff, tool: str, target: Mapping[str, Any] | None, justification: str
    ) -> None:
        self._session, self._tool = session, tool
        self._target, self._justification = target, justification

    async def permitted(self, parameters: dict[str, Any], timeout_s: float | None) -> str:
        """Propose, wait and redeem; return the id. Raises SignoffRefused, TypeError."""
        document = await self._document(parameters)
        answer = await self._session.propose(document)
        proposal_id = str(answer["proposal_id"])
        found = await decided(self._session.wait, proposal_id, timeout_s)
        permit = found.get("permit")
        if permit is None or found["state"] in _TERMINAL:
            raise SignoffRefused(str(found["reason"]), str(found["explanation"]), found)
        # Where the answer is lost the function is not begun, and nobody reports `failed`: another
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
                **tool["match"],
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
    """Run, and report what became of it. What raises may have acted: nobody reports `failed`.

    A function that knows that nothing was left behind raises NothingDone.
    """
    try:
        result = await run(*bound.args, **bound.kwargs)
    except NothingDone:
        await told(session.report, proposal_id, "failed", {})
        raise
    await told(session.report, proposal_id, "done", fitting(receipt, result))
    return result


def _words(run: Callable[..., Any]) -> str:
    return f"The agent calls {run.__name__}: {(inspect.getdoc(run) or 'no description').strip()}"


def _left(begun_s: float, timeout_s: float | None) -> float:
    return _HOLD_S if timeout_s is None else timeout_s - (time.monotonic() - begun_s)
