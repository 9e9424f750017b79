"""Carry out AAP's five operations with the workflow: ask, look, cancel, consume, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

from bot.intake.aap.asking import Asking
from bot.intake.aap.book import (
    Asked,
    asked,
    cancel,
    in_clear,
    is_use,
    keep_outcome,
    known_outcome,
    mask,
    nobody_waits,
    note_use,
    use_runs,
    used_by,
)
from bot.intake.aap.shown import shown
from bot.intake.aap.wire import AapRefused
from bot.intake.http.door import Door
from bot.intake.http.holding import held, listened_to
from bot.intake.http.marks import proposal_key
from bot.intake.http.waiting import ENDING, BotEnds
from lifecycle.agents.reporting import DONE_UNBEGUN
from lifecycle.answers import Reply, Sender
from lifecycle.moment import rfc3339
from lifecycle.ports import Transaction
from lifecycle.proposal import Verb
from lifecycle.verdicts.findings import WAITABLE

#: Obstacles that go away by themselves; nothing has happened.
#: `permit_not_yet_valid` is what a clock leaves that was set back before a restart.
_FOR_NOW: Final = WAITABLE | {
    "frozen",
    "audit_unavailable",
    "still_running",
    "rule_timeout",
    "permit_not_yet_valid",
}
_AGAIN_S: Final = 5


@dataclass(slots=True)
class Provider:
    """The operations that the routes call. `sender` is always an agent."""

    door: Door
    asking: Asking

    async def ask(
        self, submission: Mapping[str, Any], key: str, sender: Sender, raw: bytes
    ) -> tuple[dict[str, Any], bool]:
        """Ask about one call; return it, and whether it is new."""
        call, new = await self.asking.ask(submission, key, sender, raw)
        return await self._shown(call), new

    async def look(
        self, asked_id: str, wait_s: int, sender: Sender, incoming: Request
    ) -> dict[str, Any]:
        """Return a call; a pending one is held for up to `wait_s` seconds, or to its deadline."""
        call = await self._own(asked_id, sender)
        key, waiting = proposal_key(call.proposal_id or ""), self.door.waiting
        # The mark is read first, so that a decision made after it ends the wait at once.
        at = await self.door.store.read(lambda tx: waiting.mark_of(tx, key))
        content = await self._shown(call)
        if content["status"] != "pending" or not wait_s:
            return content
        # The mark is that of the proposal, which may have more time than this call.
        left_s = (call.deadline_ms - self.door.now_ms()) / 1000
        try:
            await held(self.door, incoming, sender, key, at, min(wait_s, left_s))
        except BotEnds:
            raise AapRefused(503, "audit_unavailable", ENDING, _AGAIN_S) from None
        return await self._shown(call)

    async def cancel(self, asked_id: str, sender: Sender) -> dict[str, Any]:
        """Take a call back while it is pending, and its proposal if nobody else waits for that.

        The call is cancelled first: whatever becomes of the proposal, a cancelled call never
        begins.
        """
        call, unwanted = await self.door.store.write(
            lambda tx: self._cancelled(tx, asked_id, str(sender.id))
        )
        if unwanted:
            _raise_for_now(await self.door.workflow.withdraw(str(call.proposal_id), sender))
        return await self._shown(await self._own(asked_id, sender))

    def _cancelled(self, tx: Transaction, asked_id: str, agent: str) -> tuple[Asked, bool]:
        """Note it, once; return the call, and whether its proposal is wanted by nobody any more."""
        call, now_ms = asked(tx, asked_id, agent), self.door.now_ms()
        status = shown(tx, call, self.door.workflow.world.ring, now_ms)["status"]
        if status == "pending":
            cancel(tx, call, now_ms)
        elif status != "cancelled":
            raise AapRefused(409, "already_terminal", "This call was decided before.")
        return call, nobody_waits(tx, call, now_ms)

    async def consume(
        self, asked_id: str, key: str, sender: Sender, incoming: Request
    ) -> dict[str, Any]:
        """Use the approval up; the same key again is the same use, as long as that goes on.

        After that nobody awaits what this call does: it counts as done, or as not done. Nothing
        begins for an adapter that has hung up meanwhile: its approval stays good.
        """
        call = await self._own(asked_id, sender)
        content = await self._shown(call)
        if content["status"] != "approved":
            expired = content["status"] == "expired"
            code = "approval_expired" if expired else "not_approved"
            raise AapRefused(409, code, f"This call is {content['status']}.")
        used, runs = await self.door.store.read(
            lambda tx: (is_use(tx, call, key), use_runs(tx, call))
        )
        if used and not runs:
            raise AapRefused(409, "already_consumed", "What it was used up for is over.")
        if not used:
            async with listened_to(incoming) as still:
                await self._redeem(call, key, sender, still)
        return await self._shown(call)

    async def report(self, asked_id: str, told: dict[str, Any], sender: Sender) -> dict[str, Any]:
        """Take the outcome of a call. `failed` says nothing of what was left, so a person looks."""
        call = await self._own(asked_id, sender)
        if call.proposal_id is None or not await self.door.store.read(lambda tx: used_by(tx, call)):
            raise await self._unused(call, told, sender)
        if not await self.door.store.read(lambda tx: known_outcome(tx, call, told)):
            note = {"note": told["note"]} if "note" in told else {}
            outcome = "done" if told["status"] == "succeeded" else "unknown"
            # The workflow first: if it cannot take the report, nothing is kept and it comes again.
            _raise_for_now(await self.door.workflow.report(call.proposal_id, sender, outcome, note))
            at = rfc3339(self.door.now_ms())
            await self.door.store.write(lambda tx: keep_outcome(tx, call, told, at))
        return await self._shown(await self._own(asked_id, sender))

    async def _unused(self, call: Asked, told: dict[str, Any], sender: Sender) -> AapRefused:
        """Return why this outcome is not taken: by our book the call has used no approval up.

        It may have, if that book is a copy that was brought back. So people hear that it was done.
        """
        words = "This call was not begun."
        if call.proposal_id is not None and told["status"] == "succeeded":
            note = {"note": told["note"]} if "note" in told else {}
            reply = await self.door.workflow.report(call.proposal_id, sender, DONE_UNBEGUN, note)
            _raise_for_now(reply)
            words = f"{words} {reply.words}"
        return AapRefused(409, "not_consumed", words)

    async def _own(self, asked_id: str, sender: Sender) -> Asked:
        return await self.door.store.read(lambda tx: asked(tx, asked_id, str(sender.id)))

    async def _shown(self, call: Asked) -> dict[str, Any]:
        ring, now_ms = self.door.workflow.world.ring, self.door.now_ms()
        if await self.door.store.read(lambda tx: in_clear(tx, call)):
            await self.door.store.write(lambda tx: mask(tx, call))
        return await self.door.store.read(lambda tx: shown(tx, call, ring, now_ms))

    async def _redeem(
        self, call: Asked, key: str, sender: Sender, still: Callable[[], None]
    ) -> None:
        """Use up the permit for this call. Raises AapRefused; another call or door may have used
        it. `still` is called in the unit that uses it up, and undoes that if it raises."""

        def along(tx: Transaction) -> None:
            still()
            note_use(tx, call, key, self.door.now_ms())

        kept = await self.door.store.read(
            lambda tx: tx.permits.of(str(call.proposal_id), Verb.EXECUTE.value, 1)
        )
        token = kept.token if kept else ""
        reply = await self.door.workflow.redeem(
            token,
            dict(call.submission["arguments"]),
            sender,
            call.proposal_id,
            along,
        )
        if reply.done or await self.door.store.read(lambda tx: is_use(tx, call, key)):
            return
        if reply.code == "permit_already_consumed":
            raise AapRefused(409, "already_consumed", "This approval was used up before.")
        _raise_for_now(reply)
        code = "approval_expired" if reply.code == "permit_expired" else "not_approved"
        raise AapRefused(409, code, reply.words)


def _raise_for_now(reply: Reply) -> None:
    """Raise AapRefused 503 if the same may be asked again unchanged."""
    if reply.code in _FOR_NOW:
        raise AapRefused(503, str(reply.code), reply.words, _AGAIN_S)
