"""AAP's five operations over the workflow: ask, look, cancel, consume, report."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.intake.aap.book import (
    Asked,
    asked,
    fingerprint,
    id_of,
    is_use,
    keep,
    keep_outcome,
    known_outcome,
    note_use,
    open_call,
    used_by,
)
from bot.intake.aap.shown import shown
from bot.intake.aap.wire import AapRefused, seconds
from bot.intake.http.door import Door
from bot.intake.http.marks import proposal_key
from lifecycle.answers import Sender
from lifecycle.moment import rfc3339
from lifecycle.policy import ToolKind, ToolPolicy
from lifecycle.proposal import Verb

_LATER: Final = frozenset({"rate_limited", "too_many_open", "audit_unavailable", "rule_timeout"})
_NOTHING_BEGUN: Final = frozenset({"frozen", "audit_unavailable"})


@dataclass(slots=True)
class Provider:
    """What the routes call. `sender` is always an agent."""

    door: Door

    async def ask(
        self, submission: dict[str, Any], key: str, sender: Sender
    ) -> tuple[dict[str, Any], bool]:
        """Ask about one call; return it, and whether it is new."""
        agent, now_ms = str(sender.id), self.door.now_ms()
        deadline_ms = now_ms + seconds(submission["timeout"]) * 1000
        digest = fingerprint(submission)
        fresh = Asked(id_of(agent, key), agent, submission, now_ms, deadline_ms, digest=digest)
        call, new = await self.door.store.write(lambda tx: open_call(tx, fresh))
        if call.proposal_id is None and call.refused is None:
            call = await self._proposed(replace(call, submission=submission), sender)
        return await self._shown(call), new

    async def look(self, asked_id: str, wait_s: int, sender: Sender) -> dict[str, Any]:
        """Return a call; held up to `wait_s` while it is pending."""
        call = await self._own(asked_id, sender)
        content = await self._shown(call)
        if content["status"] != "pending" or not wait_s or call.proposal_id is None:
            return content
        key, view = proposal_key(call.proposal_id), self.door.waiting.mark_of
        at = await self.door.store.read(lambda tx: view(tx, key))
        await self.door.waiting.changed(key, at, wait_s)
        return await self._shown(call)

    async def cancel(self, asked_id: str, sender: Sender) -> dict[str, Any]:
        """Take a call back while it is pending."""
        call = await self._own(asked_id, sender)
        content = await self._shown(call)
        if content["status"] == "cancelled":
            return content
        if content["status"] != "pending" or call.proposal_id is None:
            raise AapRefused(409, "already_terminal", "This call was decided before.")
        reply = await self.door.workflow.withdraw(call.proposal_id, sender)
        if not reply.done:
            raise AapRefused(409, "already_terminal", reply.words)
        return await self._shown(call)

    async def consume(self, asked_id: str, key: str, sender: Sender) -> dict[str, Any]:
        """Use the approval up; the same key again is the same use."""
        call = await self._own(asked_id, sender)
        content = await self._shown(call)
        if content["status"] != "approved":
            expired = content["status"] == "expired"
            code = "approval_expired" if expired else "not_approved"
            raise AapRefused(409, code, f"This call is {content['status']}.")
        if not await self.door.store.read(lambda tx: is_use(tx, call, key)):
            await self._redeem(call, key, sender)
        return await self._shown(call)

    async def report(self, asked_id: str, told: dict[str, Any], sender: Sender) -> dict[str, Any]:
        """Take the outcome of a call. `failed` says nothing of what was left: a person looks."""
        call = await self._own(asked_id, sender)
        if call.proposal_id is None or not await self.door.store.read(lambda tx: used_by(tx, call)):
            raise AapRefused(409, "not_consumed", "This call was not begun.")
        if not await self.door.store.read(lambda tx: known_outcome(tx, call, told)):
            note = {"note": told["note"]} if "note" in told else {}
            outcome = "done" if told["status"] == "succeeded" else "unknown"
            # The law first: what it could not take is told again, and is not known here before.
            reply = await self.door.workflow.report(call.proposal_id, sender, outcome, note)
            if reply.code == "audit_unavailable":
                raise AapRefused(503, reply.code, reply.words, 5)
            at = rfc3339(self.door.now_ms())
            await self.door.store.write(lambda tx: keep_outcome(tx, call, told, at))
        return await self._shown(await self._own(asked_id, sender))

    async def _own(self, asked_id: str, sender: Sender) -> Asked:
        return await self.door.store.read(lambda tx: asked(tx, asked_id, str(sender.id)))

    async def _shown(self, call: Asked) -> dict[str, Any]:
        ring, now_ms = self.door.workflow.world.ring, self.door.now_ms()
        return await self.door.store.read(lambda tx: shown(tx, call, ring, now_ms))

    async def _proposed(self, call: Asked, sender: Sender) -> Asked:
        """Put a proposal behind a call, or the reason why there is none."""
        tool = self.door.policy.tools.get(call.submission["tool"])
        if tool is None or tool.kind is not ToolKind.AGENT:
            return await self._refused(call, _no_agent_tool(call, tool))
        document = document_of(call, tool)
        answer = await self.door.workflow.submit(json.dumps(document).encode(), sender)
        if answer.reason in _LATER and answer.proposal_id is None:
            raise AapRefused(
                429 if answer.reason != "audit_unavailable" else 503,
                str(answer.reason),
                answer.explanation,
                answer.retry_after_s or 1,
            )
        if answer.proposal_id is None:
            return await self._refused(call, answer.explanation or str(answer.reason))
        known = replace(call, proposal_id=answer.proposal_id)
        return await self.door.store.write(lambda tx: keep(tx, known))

    async def _refused(self, call: Asked, words: str) -> Asked:
        refused = replace(call, refused=words, refused_at_ms=self.door.now_ms())
        return await self.door.store.write(lambda tx: keep(tx, refused))

    async def _redeem(self, call: Asked, key: str, sender: Sender) -> None:
        """Use the permit up for this call, or say why not: another call or door may have."""
        kept = await self.door.store.read(
            lambda tx: tx.permits.of(str(call.proposal_id), Verb.EXECUTE.value, 1)
        )
        token = kept.token if kept else ""
        reply = await self.door.workflow.redeem(
            token,
            dict(call.submission["arguments"]),
            sender,
            call.proposal_id,
            lambda tx: note_use(tx, call, key),
        )
        if reply.done or await self.door.store.read(lambda tx: is_use(tx, call, key)):
            return
        if reply.code == "permit_already_consumed":
            raise AapRefused(409, "already_consumed", "This approval was used up before.")
        if reply.code in _NOTHING_BEGUN:
            raise AapRefused(503, str(reply.code), reply.words, 5)
        code = "approval_expired" if reply.code == "permit_expired" else "not_approved"
        raise AapRefused(409, code, reply.words)


def document_of(call: Asked, tool: ToolPolicy) -> dict[str, Any]:
    """Return the Proposal that a call means: the tool's own action and match, its arguments."""
    sent = call.submission
    context = sent.get("context") or {}
    through = f"{context.get('framework', 'AAP')}, call {context.get('call_id', call.id)}"
    return {
        "proposal_id": call.id,
        "ts_ms": call.created_at_ms,
        "actor": call.agent,
        "tool": tool.name,
        "action_type": tool.action_type.value,
        "target": {
            "resource_type": tool.name,
            "resource_id": "call",
            "domain": "agent",
            **tool.match,
            "constraints": {},
        },
        "parameters": sent["arguments"],
        "time_window": {
            "valid_from_ms": call.created_at_ms,
            "valid_until_ms": call.deadline_ms,
            "max_duration_ms": tool.timeout_s * 1000,
        },
        "justification": sent.get("agent_reasoning")
        or f"The agent gave no reasoning; the call came through {through}.",
    }


def _no_agent_tool(call: Asked, tool: ToolPolicy | None) -> str:
    if tool is None:
        return f"No tool here is named {call.submission['tool'][:64]!r}."
    return f"{tool.name} is carried out by Signoff itself: propose it instead of calling it."
