"""Builds the content of a card from a proposal, without a word of any platform (design section 8).

Fields that the bot alone writes (`card_facts`) and fields that an agent wrote (`card_written`)
stand apart.
"""

from __future__ import annotations

import asyncio
from typing import Final, assert_never

from bot.chat.cards.beside import Beside
from bot.chat.cards.card_facts import facts_of, people_needed
from bot.chat.cards.card_written import Written, written_of
from bot.chat.cards.content import CardContent, Colour
from bot.views import as_seen
from lifecycle.proposal import Outcome, Proposal, Verb
from lifecycle.state import State
from lifecycle.tier import TIER_POLICIES, CardKind

#: The card of a document of so many bytes or more takes so long that others would wait for it.
_LARGE_BYTES: Final = 4_096
REACT: Final = "React: ✅ approve | ❌ reject"
REACT_WITH_REASON: Final = "React: ❌ reject | to approve, type why"
REACT_OPENED: Final = "React: ❌ reject"
REACT_WINDOW: Final = "React: ❌ roll back"
REACT_EARLY: Final = "React: ✅ keep it, close the window now | ❌ roll back"


def card_of(proposal: Proposal, beside: Beside) -> CardContent:
    """Return the whole card for a proposal as it stands at `beside.now_ms`; `written_card` may run
    it in a thread."""
    seen = as_seen(proposal, beside.now_ms)
    written = written_of(seen, beside.policy)
    react, commands = instructions_of(seen)
    return CardContent(
        proposal_id=seen.proposal_id,
        version=seen.version,
        title=title_of(seen),
        colour=colour_of(seen),
        final=seen.terminal,
        facts=facts_of(seen, beside),
        written_by=f"Written by {seen.actor}, unverified",
        written=written.fields,
        warnings=_warnings(written),
        react=react,
        commands=commands,
        call_group=_called(seen, beside),
        footer=f"{seen.proposal_id} · {seen.digest} · version {seen.version}",
    )


async def written_card(proposal: Proposal, beside: Beside) -> CardContent:
    """Return the card. A large one is built in a thread, so that nothing else waits for it."""
    if len(proposal.document) < _LARGE_BYTES:
        return card_of(proposal, beside)
    return await asyncio.to_thread(card_of, proposal, beside)


def title_of(proposal: Proposal) -> str:
    """Return a title like `🔔 PROPOSAL from agent leila (PROPOSE tier)`, with the config's id."""
    match TIER_POLICIES[proposal.tier].card:
        case CardKind.NOTE_AFTER:
            did = "did" if proposal.state is State.COMPLETED else "proposed"
            return f"📝 NOTE: what {proposal.actor} {did} ({proposal.tier} tier)"
        case CardKind.LIVE | CardKind.NONE:
            return f"🔔 PROPOSAL from {proposal.actor} ({proposal.tier} tier)"


def colour_of(proposal: Proposal) -> Colour:
    """Return the colour of the proposal's state; attention takes precedence over the state."""
    if proposal.attention is not None:
        return Colour.ATTENTION
    match proposal.state:
        case State.PENDING:
            return Colour.CHECKING
        case State.SENTINEL_APPROVED:
            return Colour.WAITING
        case State.EXECUTING:
            return Colour.RUNNING
        case State.COMPLETED:
            return Colour.DONE
        case State.ROLLED_BACK:
            return Colour.UNDONE
        case State.REJECTED:
            return Colour.REJECTED
        case _:
            assert_never(proposal.state)


def instructions_of(proposal: Proposal) -> tuple[str, tuple[str, ...]]:
    """Return what an emoji does now (empty if nothing), and the commands that do something."""
    if TIER_POLICIES[proposal.tier].card is not CardKind.LIVE:
        return "", _settling(proposal)
    match proposal.state:
        case State.PENDING | State.SENTINEL_APPROVED:
            return _deciding(proposal)
        case State.EXECUTING:
            return _undoing(proposal)
        case State.COMPLETED | State.ROLLED_BACK | State.REJECTED:
            return "", _settling(proposal)
        case _:
            assert_never(proposal.state)


def _deciding(proposal: Proposal) -> tuple[str, tuple[str, ...]]:
    reject = f"reject {proposal.proposal_id} <reason>"
    if proposal.opener is not None:  # it is approved, and waits for thaw, its hours or its agent
        return REACT_OPENED, (reject,)
    if proposal.verdict is not None and proposal.verdict.needs_reason:  # a ✅ alone is refused
        return REACT_WITH_REASON, (f"approve {proposal.proposal_id} <reason>", reject)
    return REACT, (f"approve {proposal.proposal_id} [reason]", reject)


def _undoing(proposal: Proposal) -> tuple[str, tuple[str, ...]]:
    execution, settling = proposal.execution, _settling(proposal)
    if execution is None or not proposal.window_s or execution.verb is not Verb.EXECUTE:
        return "", settling
    back = f"roll-back {proposal.proposal_id} <reason>"
    if execution.early and execution.outcome is Outcome.DONE:
        return REACT_EARLY, (f"approve {proposal.proposal_id}", back, *settling)
    return REACT_WINDOW, (back, *settling)


def _settling(proposal: Proposal) -> tuple[str, ...]:
    if proposal.attention is None:
        return ()
    match proposal.attention.value:
        case "outcome_unknown":
            settle = f"settle {proposal.proposal_id}"
            return f"{settle} happened", f"{settle} did-not-happen", *_retrying(proposal)
        case "commit_failed":
            return *_retrying(proposal), f"roll-back {proposal.proposal_id} <reason>"
        case "rollback_incomplete":
            return *_retrying(proposal), f"settle {proposal.proposal_id} happened"
        case "envelope_exceeded":
            return (f"settle {proposal.proposal_id} happened",)
        case _:
            return ()


def _retrying(proposal: Proposal) -> tuple[str, ...]:
    """Offer to call the tool again, unless an agent carries it out or a ❌ has stopped it."""
    execution = proposal.execution
    if execution is None:
        return ()
    acts = execution.verb is not Verb.ROLL_BACK
    if acts and (execution.by_agent or proposal.kept_stop is not None):
        return ()
    return (f"retry {proposal.proposal_id}",)


def _warnings(written: Written) -> tuple[str, ...]:
    return tuple(f"⚠️ {label}: {', '.join(warnings)}" for label, warnings in written.warnings)


def _called(proposal: Proposal, beside: Beside) -> str | None:
    tool = beside.policy.tools.get(proposal.tool)
    return tool.reviewers if tool is not None and people_needed(proposal) else None
