"""This module holds the client's session with the HTTP door of a running bot."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, NoReturn, cast

import httpx

from bot.client.errors import (
    SignoffRefused,
    SignoffUnreachable,
    address,
    bearer,
    encoded,
    part_of_path,
)

_CHECK: Final = "/v1/proposals:check"
TERMINAL: Final = frozenset({"completed", "rolled_back", "rejected"})
_HOLD_S: Final = 25
_TIMEOUT_S: Final = 20.0
_TOLD_OF_TOOLS: Final = frozenset({"name", "kind", "action_type", "match"})
#: Of a call that failed in one of these ways the bot has heard nothing.
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: The pause in seconds before asking again, if the bot answered at once that nothing has changed.
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
        """Take the address and the agent's token, by default from SIGNOFF_URL and SIGNOFF_TOKEN.

        `now_ms` is the agent's own clock, by which its documents are dated. Raises
        SignoffUnreachable if the address is invalid, or if the token cannot be sent.
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
        """Submit a document and return the answer; raises SignoffRefused if the bot says no."""
        answer = await self._asked("POST", "/v1/proposals", document)
        # A question has no proposal: its `proposal_id` is None.
        told = isinstance(answer.get("proposal_id", False), str | None)
        return answer if told else self._strange(changes=True)

    async def check(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the answer to a submission would be now; no proposal is stored."""
        return await self._asked("POST", _CHECK, document)

    async def proposal(self, proposal_id: str, *, wait_s: int = 0) -> dict[str, Any]:
        """Return a proposal of this agent; the bot holds the answer for up to `wait_s` seconds
        until its state changes."""
        return await self._about(proposal_id, "GET", f"?wait={wait_s}" if wait_s else "", wait_s)

    async def wait(self, proposal_id: str, *, timeout_s: float | None = None) -> dict[str, Any]:
        """Return the proposal once it has ended, or once a permit waits for this agent.

        Raises TimeoutError after `timeout_s` seconds.
        """
        begun_s = time.monotonic()
        before: object = None
        while True:
            left_s, asked_s = _left(begun_s, timeout_s), time.monotonic()
            found = await self.proposal(proposal_id, wait_s=min(_HOLD_S, max(0, int(left_s))))
            if found["state"] in TERMINAL or found.get("permit"):
                return found
            left_s = _left(begun_s, timeout_s)
            if left_s <= 0:
                raise TimeoutError(f"{proposal_id} is still {found['state']}")
            # The bot holds answers for whole seconds; the rest of the time is waited for here.
            if found["state"] == before and time.monotonic() - asked_s < _PAUSE_S:
                await asyncio.sleep(min(_PAUSE_S, left_s))
            before = found["state"]

    async def question(self, question_id: str, *, wait_s: int = 0) -> dict[str, Any]:
        """Return a question of this agent; the bot holds the answer for up to `wait_s` seconds
        until a reviewer has answered."""
        path = f"/v1/questions/{part_of_path(question_id)}"
        answer = await self._asked("GET", f"{path}?wait={wait_s}", wait_s=wait_s)
        return answer if "answer" in answer else self._strange()

    async def withdraw(self, proposal_id: str) -> dict[str, Any]:
        """Withdraw a proposal of this agent before it is carried out."""
        return await self._about(proposal_id, "DELETE")

    async def redeem(
        self, proposal_id: str, permit: str, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Use up a permit with the actual parameters; begin only after this has returned.

        Raises SignoffUnreachable if the answer does not say that this proposal is `executing`: what
        stands between may have answered in the bot's place.
        """
        body = {"permit": permit, "parameters": dict(parameters)}
        begun = await self._about(proposal_id, "POST", "/redeem", body=body)
        return begun if begun["state"] == "executing" else self._strange(changes=True)

    async def report(
        self, proposal_id: str, outcome: str, receipt: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Report `done` with a receipt, or `failed` if nothing was left behind."""
        body = {"outcome": outcome, "receipt": dict(receipt or {})}
        return await self._about(proposal_id, "POST", "/receipt", body=body)

    async def tools(self) -> list[dict[str, Any]]:
        """List the tools; that a tool is in the list does not permit its use."""
        listed = (await self._asked("GET", "/v1/tools")).get("tools")
        told = isinstance(listed, list) and all(map(_is_tool, listed))
        return cast("list[dict[str, Any]]", listed) if told else self._strange()

    async def whoami(self) -> str:
        """Return the id under which this token speaks."""
        if self._agent is None:
            known = (await self._asked("GET", "/v1/whoami")).get("id")
            self._agent = known if isinstance(known, str) else self._strange()
        return self._agent

    async def _about(
        self,
        proposal_id: str,
        method: str,
        rest: str = "",
        wait_s: float = 0,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the answer about one proposal. Raises SignoffUnreachable for one that is about
        something else."""
        path = f"/v1/proposals/{part_of_path(proposal_id)}{rest}"
        answer = await self._asked(method, path, body, wait_s=wait_s)
        told = isinstance(answer.get("state"), str)
        meant = told and answer.get("proposal_id") == proposal_id
        return answer if meant else self._strange(changes=method != "GET")

    def _strange(self, *, changes: bool = False) -> NoReturn:
        raise SignoffUnreachable(
            f"Signoff at {self.url} gave an answer that it never gives: somebody else may answer "
            "there.",
            maybe_done=changes,
        )

    async def _asked(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, wait_s: float = 0
    ) -> dict[str, Any]:
        changes = method != "GET" and path != _CHECK
        answer, content = await self._answer(method, path, body, wait_s, changes=changes)
        if not isinstance(content, dict):
            words = f"Signoff at {self.url} answered no object."
            raise SignoffUnreachable(words, maybe_done=changes)
        if answer.is_success:
            return content
        reason, words = content.get("reason"), content.get("detail") or content.get("error") or ""
        # Each refusal of Signoff says whether to try again; that of a gateway may have a reason.
        if reason is None or "retry" not in content:
            raise SignoffUnreachable(
                f"Signoff at {self.url} answered {answer.status_code}: {words}",
                maybe_done=changes and answer.is_server_error,
            )
        raise SignoffRefused(str(reason), str(words), content)

    async def _answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        wait_s: float,
        *,
        changes: bool,
    ) -> tuple[httpx.Response, Any]:
        """Return the answer and what it says. Raises SignoffUnreachable for none, or one that is no
        JSON."""
        content_type = {"content-type": "application/json"} if body is not None else {}
        sent = encoded(body) if body is not None else None
        try:
            answer = await self._http.request(
                method, path, content=sent, headers=content_type, timeout=_TIMEOUT_S + wait_s
            )
            return answer, answer.json()
        except (httpx.HTTPError, ValueError, RecursionError) as error:
            why = f"({type(error).__name__})"
            if changes and not isinstance(error, _NOT_SENT):
                words = f"Signoff at {self.url} gave no answer that can be read {why}."
                raise SignoffUnreachable(words, maybe_done=True) from error
            raise SignoffUnreachable(
                f"Signoff at {self.url} cannot be reached {why}. Is the bot running, with "
                "intake.http enabled?"
            ) from error


def _is_tool(listed: Any) -> bool:
    return isinstance(listed, dict) and listed.keys() >= _TOLD_OF_TOOLS


def _left(begun_s: float, timeout_s: float | None) -> float:
    return _HOLD_S if timeout_s is None else timeout_s - (time.monotonic() - begun_s)
