"""Brings a proposal from approved to executing if all holds right before a tool is called.

The functions are parts of units; `gatekeeper` asks Sentinel before and follows what comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lifecycle import codes
from lifecycle.agreeing.opened import stands_as_opened
from lifecycle.agreeing.retelling_calls import digest_told
from lifecycle.agreeing.rows import may_begin_as_told
from lifecycle.callbacks import call_back, tell
from lifecycle.changed_rows import digest_mismatch
from lifecycle.confirming import Membership, still_approved
from lifecycle.deciding import decided_by
from lifecycle.door import advance, amend
from lifecycle.event_kinds import EventKind
from lifecycle.expiry import expire
from lifecycle.fitting import fits_its_digest
from lifecycle.freezing import stands_still
from lifecycle.moment import Moment
from lifecycle.permitting import grant
from lifecycle.policy import ToolKind, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, Execution, Outcome, Proposal, Verb
from lifecycle.proposers import configured
from lifecycle.sentinel import Facts
from lifecycle.state import State, Trigger
from lifecycle.tier import TIER_POLICIES, CardKind, Puller
from lifecycle.verdict import Verdict
from lifecycle.verdicts.effective_terms import revoke_permit, standing_changes
from lifecycle.verdicts.findings import newly_soft, waits_for_rule
from lifecycle.verdicts.fingerprints import call_print_of, in_force
from lifecycle.verdicts.gathering import same_evidence
from lifecycle.verdicts.judge import policy_changed, raised_by, reject_by_sentinel, verdict_details
from lifecycle.verdicts.last_judged import judged_under


@dataclass(frozen=True, slots=True)
class Opening:
    """What came of trying to begin. `token` is the permit if a tool is to be called now; `again`
    asks for a fresh check, because policy or evidence changed or too much time has passed since;
    `unconfirmed` asks besides whether those who approved are members still."""

    proposal: Proposal
    token: str | None = None
    again: bool = False
    unconfirmed: bool = False


def begin(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    verdict: Verdict,
    facts: Facts,
    there: Membership | None = None,
) -> Opening:
    """Begin execution if all holds at this moment; the unit also writes intent and permit.

    `there` is the answer who of those who approved has left, None if nobody was asked.
    """
    tool = moment.policy.tools.get(proposal.tool)
    ended = _cannot_begin(tx, moment, proposal, tool)
    if ended is not None or tool is None:
        return Opening(ended or proposal)
    if not still_true(tx, moment, proposal, verdict, facts):
        return Opening(proposal, again=True)
    otherwise = _judged_otherwise(tx, moment, proposal)
    if otherwise is not None:
        return Opening(otherwise)
    waiting = _outer_obstacle(tx, moment, proposal) or waits_for_rule(verdict)
    if waiting is not None:
        return Opening(_wait(tx, moment, proposal, waiting))
    if not verdict.passed:
        return Opening(reject_by_sentinel(tx, moment, proposal, verdict))
    if newly_soft(proposal, verdict):
        return Opening(ask_people(tx, moment, proposal, verdict))
    return _unhindered(tx, moment, proposal, tool, there)


def _unhindered(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    tool: ToolPolicy,
    there: Membership | None,
) -> Opening:
    """Begin, or hand the permit to the agent. The trail, which may be long, is compared last."""
    approved = still_approved(tx, moment, proposal, there)
    if approved is None:
        return Opening(proposal, again=True, unconfirmed=True)
    if approved.opener is None:
        return Opening(approved)
    if not may_begin_as_told(tx, approved):
        return Opening(digest_mismatch(tx, moment, approved))
    if tool.kind is ToolKind.AGENT:
        return Opening(_hand_over(tx, moment, approved, tool))
    return start_execution(tx, moment, approved, tool)


def _judged_otherwise(tx: Transaction, moment: Moment, proposal: Proposal) -> Proposal | None:
    """Return the proposal if it was not judged or opened as the policy in force wants, else None.

    After a new policy it is judged again first, then tried again. A row that asks for less than it
    must was changed by somebody, and is ended.
    """
    if not judged_under(moment.policy, proposal):
        return proposal
    if not stands_as_opened(tx, moment, proposal):
        return digest_mismatch(tx, moment, proposal)
    return None


def still_true(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict, facts: Facts
) -> bool:
    """Return whether what the verdict was made of still holds: policy, evidence, and the hour."""
    same_policy = of_this_policy(moment, proposal, verdict, facts) and in_force(tx, moment)
    timely = not moment.is_long_since(facts.now_ms)  # evidence has aged since then, hours ended
    return same_policy and timely and same_evidence(tx, proposal, facts)


def of_this_policy(moment: Moment, proposal: Proposal, verdict: Verdict, facts: Facts) -> bool:
    """Return whether the rules that judged and the tool that they judged are of this policy."""
    tool = moment.policy.tools.get(proposal.tool)
    return verdict.policy_digest == moment.policy.digest and facts.tool == tool


def ask_people(tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict) -> Proposal:
    """Void approvals and ask people again, because of a soft finding that they did not know of."""
    raised = raised_by(moment.policy, proposal, verdict)
    revoked = revoke_permit(tx, moment, proposal)
    tx.reviews.void(proposal.proposal_id, None, "Sentinel found something new")
    return amend(
        tx,
        moment,
        proposal,
        EventKind.RAISED,
        SENTINEL,
        details=verdict_details(verdict) | {"window_s": raised.window_s},
        verdict=verdict,
        opener=None,
        opener_puller=None,
        **({"waiting_for": None} | revoked | standing_changes(raised)),
    )


def _cannot_begin(
    tx: Transaction, moment: Moment, proposal: Proposal, tool: ToolPolicy | None
) -> Proposal | None:
    """Return the proposal if it must not begin (not approved, expired, changed), else None."""
    if proposal.state is not State.SENTINEL_APPROVED or proposal.opener is None:
        return proposal
    if proposal.expired(moment.now_ms):
        return expire(tx, moment, proposal)
    if proposal.permit_waits:
        return proposal
    if not fits_its_digest(proposal):
        return digest_mismatch(tx, moment, proposal)
    if configured(moment.policy, proposal.actor) is None:
        return policy_changed(tx, moment, proposal, "Its proposer is no longer configured.")
    # If the tool is gone, the check under the new policy ends it and says so.
    return proposal if tool is None else None


def start_execution(
    tx: Transaction, moment: Moment, proposal: Proposal, tool: ToolPolicy, token: str | None = None
) -> Opening:
    """Enter `executing` with outcome running; the window counts from this moment.

    With a `token` its agent carries it out; without one we do, and the permit is granted here.
    """
    by_agent = token is not None
    opener, puller = proposal.opener, proposal.opener_puller
    if opener is None or puller is None:
        return Opening(proposal)
    if token is None:
        token = grant(tx, moment, proposal, tool, Verb.EXECUTE, 1)
    execution = _execution(moment, proposal, puller, deferred=tool.deferred, by_agent=by_agent)
    begun = advance(
        tx,
        moment,
        proposal,
        Trigger.EXECUTE,
        opener,
        puller,
        sender=decided_by(tx, proposal.proposal_id, opener, Verb.EXECUTE),
        details=_begun_as(execution, tool),
        waiting_for=None,
        permit_waits=False,
        attention=None,
        attention_why="",
        execution=execution,
    )
    return Opening(begun, token)


def _begun_as(execution: Execution, tool: ToolPolicy) -> dict[str, Any]:
    """Return what the entry tells: of what we carry out also how its tool is called."""
    told = {
        "window_closes_at_ms": execution.window_closes_at_ms,
        "by_agent": execution.by_agent,
        "deferred": execution.deferred,
    }
    return told | ({} if execution.by_agent else {"call": call_print_of(tool)})


def _execution(
    moment: Moment, proposal: Proposal, puller: Puller, *, deferred: bool, by_agent: bool
) -> Execution:
    closes_at_ms = moment.now_ms + proposal.window_s * 1000 if proposal.window_s else None
    return Execution(
        verb=Verb.EXECUTE,
        attempt=1,
        outcome=Outcome.RUNNING,
        window_opens_at_ms=moment.now_ms if closes_at_ms else None,
        window_closes_at_ms=closes_at_ms,
        began_at_ms=moment.now_ms,
        early=puller is Puller.ORCHESTRATOR,
        by_agent=by_agent,
        deferred=deferred,
    )


def card_is_out(tx: Transaction, moment: Moment, proposal: Proposal) -> bool:
    """Return whether people can see the proposal: a card stands on a surface of the config.

    That is so in any case for tiers without a live card.
    """
    if TIER_POLICIES[proposal.tier].card is not CardKind.LIVE:
        return True
    cards = tx.cards.standing(proposal.proposal_id)
    return any(card.delivered and card.surface in moment.surfaces for card in cards)


def _outer_obstacle(tx: Transaction, moment: Moment, proposal: Proposal) -> str | None:
    still = stands_still(tx, moment, proposal)
    if still is not None:
        return still
    if proposal.valid_from_ms is not None and moment.now_ms < proposal.valid_from_ms:
        return "valid_from_ms"
    if not card_is_out(tx, moment, proposal):
        return "its card"
    return None


def _wait(tx: Transaction, moment: Moment, proposal: Proposal, waiting: str) -> Proposal:
    """Note what it waits for, when that changes and not at every look.

    A reason in the trail is a code; what has none is told in words.
    """
    if proposal.waiting_for == waiting:
        return proposal
    code = waiting if waiting in codes.ALL else None
    details = {} if code else {"why": proposal.but(waiting_for=waiting).waits_for}
    return amend(
        tx,
        moment,
        proposal,
        EventKind.WAITING,
        SENTINEL,
        reason=code,
        details=details,
        waiting_for=waiting,
    )


def _hand_over(tx: Transaction, moment: Moment, proposal: Proposal, tool: ToolPolicy) -> Proposal:
    """Give the agent its permit; execution begins when it is redeemed."""
    earlier = tx.permits.of(proposal.proposal_id, Verb.EXECUTE.value, 1)
    key = f"permit:{proposal.proposal_id}" + (f":{proposal.version}" if earlier else "")
    token = grant(tx, moment, proposal, tool, Verb.EXECUTE, 1, used=False)
    permit = tx.permits.of(proposal.proposal_id, Verb.EXECUTE.value, 1)
    expires_ms = permit.expires_at_ms if permit else moment.now_ms
    handed: dict[str, Any] = {"permit": token, "proposal_id": proposal.proposal_id}
    tell(tx, moment, proposal, key, "permit", handed)
    call_back(tx, moment, proposal.actor.id, key, "permit", handed, proposal.proposal_id)
    return amend(
        tx,
        moment,
        proposal,
        EventKind.PERMIT_HANDED_OVER,
        proposal.opener or SENTINEL,
        details={"permit": digest_told(token), "permit_until_ms": expires_ms},
        permit_waits=True,
        waiting_for="the agent's redemption",
        deadline_ms=min(expires_ms, proposal.deadline_ms) if _bounded(proposal) else expires_ms,
    )


def _bounded(proposal: Proposal) -> bool:
    return proposal.read().time_window is not None
