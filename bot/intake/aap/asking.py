"""Ask about a call: find or make the proposal it means, or keep why there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from weakref import WeakValueDictionary

from bot.intake.aap.book import Asked, as_first_sent, fresh_call, keep, known_call
from bot.intake.aap.wire import AapRefused, unauthorized
from bot.intake.http.door import Door
from lifecycle.answers import Answer, Sender
from lifecycle.authority import MIN_JUSTIFICATION
from lifecycle.errors import Fault, Refused
from lifecycle.policy import ToolKind, ToolPolicy
from lifecycle.text.masking import mask_text
from lifecycle.tier import Tier

#: Refused for the moment: nothing is kept, so that the key stays free for this call or another.
_LATER: Final = frozenset({"rate_limited", "too_many_open", "audit_unavailable", "rule_timeout"})

#: The words of refusals that name a field of the document: the door made that one, and whoever
#: calls has never seen it.
_WORDS: Final = {
    "insufficient_justification": "Say in agent_reasoning, in "
    f"{MIN_JUSTIFICATION} characters or more, why this is needed, and ask under a new key."
}


@dataclass(slots=True)
class Asking:
    """Makes a stored call of a submission. `sender` is always an agent."""

    door: Door
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def ask(
        self, submission: Mapping[str, Any], key: str, sender: Sender, raw: bytes
    ) -> tuple[Asked, bool]:
        """Return the call that a key stands for from now on, and whether it is new.

        `raw` are the bytes as they came. Raises AapRefused; if that is for the moment only, the key
        stands for nothing.
        """
        longest_s = self.door.policy.limits.longest_window_s
        fresh = fresh_call(str(sender.id), key, submission, self.door.now_ms(), longest_s)
        # Two at once would make two documents with one id, since their times differ.
        async with self._turns.setdefault(fresh.id, asyncio.Lock()):
            if not sender.is_known_to(self.door.policy):
                raise unauthorized()  # removed while it waited behind the same call
            known = await self.door.store.read(lambda tx: known_call(tx, fresh))
            return (known, False) if known else await self._proposed(fresh, sender, raw)

    async def _proposed(self, fresh: Asked, sender: Sender, raw: bytes) -> tuple[Asked, bool]:
        tool = self.door.policy.tools.get(fresh.submission["tool"])
        if tool is None or not _may_be_proposed(tool):
            error = _no_agent_tool(fresh, tool)
            await self.door.workflow.intake.refused(error, sender, raw)
            return await self._refused(fresh, str(error))
        call = await self.door.store.read(lambda tx: as_first_sent(tx, fresh))
        document = json.dumps(document_of(call, tool)).encode()
        answer = await self.door.workflow.submit(document, sender)
        if answer.proposal_id is not None:
            known = replace(call, proposal_id=answer.proposal_id)
            return await self.door.store.write(lambda tx: keep(tx, known))
        _raise_for_now(answer)
        words = _WORDS.get(str(answer.reason)) or answer.explanation or str(answer.reason)
        return await self._refused(call, words)

    async def _refused(self, call: Asked, words: str) -> tuple[Asked, bool]:
        refused = replace(call, refused=words, refused_at_ms=self.door.now_ms())
        return await self.door.store.write(lambda tx: keep(tx, refused))


def document_of(call: Asked, tool: ToolPolicy) -> dict[str, Any]:
    """Return the Proposal that a call means: the tool's action and target, the call's arguments.

    The server that the call names is part of the target: tools of two servers may share a name, and
    what people approved for one of them must not begin on the other.
    """
    sent = call.submission
    server = sent.get("server")
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
            "resource_id": f"call to {server}" if server else "call",
            "domain": "agent",
            **tool.target,
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


def _may_be_proposed(tool: ToolPolicy) -> bool:
    """Return True for tools of agents, and blocked ones: the attempt is to leave a trace."""
    return tool.kind is ToolKind.AGENT or tool.tier is Tier.BLOCK


def _no_agent_tool(call: Asked, tool: ToolPolicy | None) -> Refused:
    if tool is None:
        words = f"No tool here is named {mask_text(call.submission['tool'])[:64]!r}."
        return Refused([Fault("unknown_tool", "tool", suggestion=words)])
    words = f"{tool.name} is carried out by Signoff itself: propose it instead of calling it."
    return Refused([Fault("tool_mismatch", "tool", suggestion=words)])


def _raise_for_now(answer: Answer) -> None:
    """Raise AapRefused if the answer decides nothing about the call itself."""
    if answer.reason == "unknown_agent":
        raise unauthorized()  # removed in this very moment
    if answer.reason in _LATER:
        status = 503 if answer.reason == "audit_unavailable" else 429
        raise AapRefused(status, str(answer.reason), answer.explanation, answer.retry_after_s or 1)
    if answer.reason == "id_conflict":
        words = "Another proposal of yours has the id of this key: choose a new key."
        raise AapRefused(409, "idempotency_conflict", words)
