"""Compare the row of a proposal and its reviews with its trail, and decide whether to act on it.

`audit verify` asks `disagreements` of every row. The bot asks `may_begin_as_told`, `stands_as_told`
and `handed_back_as_told` right before it begins, goes on with, or takes back a proposal (ADR 0013).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from lifecycle.agreeing.calls import (
    about_its_call,
    about_its_stop,
    about_its_times,
    at_words,
    differs,
    only_staged,
)
from lifecycle.agreeing.evidence import about_its_evidence
from lifecycle.agreeing.retelling import retold
from lifecycle.agreeing.retelling_calls import digest_told
from lifecycle.agreeing.reviews import about_reviews
from lifecycle.agreeing.told import UNTOLD, Told
from lifecycle.audit import AuditEntry
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.event_kinds import EventKind
from lifecycle.fitting import fits_its_digest
from lifecycle.likeness import known_by
from lifecycle.moment import on_calendar
from lifecycle.policy import ApprovalClass
from lifecycle.ports import Transaction
from lifecycle.posted_cards import about_its_cards, about_its_showing, was_shown
from lifecycle.proposal import Execution, Proposal
from lifecycle.quorum import approval_class_of
from lifecycle.review import Review
from lifecycle.state import State
from lifecycle.tier import TIER_POLICIES, Tier
from lifecycle.verdicts.judge import found_in, verdict_details
from lifecycle.verdicts.last_judged import is_owed, policy_before

_SUBMITTED: Final = EventKind.SUBMITTED
#: The least number of people that an approval class needs, whatever a config says.
_ASKED_FOR: Final = {ApprovalClass.SINGLE: 1, ApprovalClass.DUAL: 2, ApprovalClass.THRESHOLD: 1}


def disagreements(
    proposal: Proposal, trail: Sequence[AuditEntry], reviews: Sequence[Review]
) -> list[str]:
    """Return a sentence for each difference of a row and its reviews from the trail; empty if none.

    The chain itself is verified elsewhere (`audit.broken_links`).
    """
    if not trail:
        return [f"proposal {proposal.proposal_id}: no entry tells of it"]
    told = retold(trail)
    found = [
        *_about_its_state(proposal, told),
        *_about_its_end(proposal, told),
        *_about_its_beginning(proposal, trail[0], told),
        *_about_its_bytes(proposal, trail, told),
        *about_its_call(proposal, told),
        *about_its_stop(proposal, told),
        *about_its_times(proposal, told),
        *_about_who_decides(proposal, told),
        *_about_its_verdict(proposal, told),
        *_about_its_policy(proposal, told),
        *about_reviews(proposal, trail, reviews),
        *about_its_cards(trail),
        *about_its_showing(proposal, trail),
        *told.odd,
    ]
    return [f"proposal {proposal.proposal_id}: {words}" for words in found]


def may_begin_as_told(tx: Transaction, proposal: Proposal) -> bool:
    """Return True if row, reviews and bound evidence are as told, and its card was posted if one
    must be.

    It is asked before a proposal begins. A document, a state or an approval that somebody put into
    the database by hand has no entry, and makes it False.
    """
    trail = tx.audit.without_attempts(proposal.proposal_id)
    reviews = tx.reviews.of(proposal.proposal_id)
    unbound = (*about_its_evidence(tx, proposal),)
    told = was_shown(proposal, trail) and not disagreements(proposal, trail, reviews)
    return told and not unbound


def stands_as_told(tx: Transaction, proposal: Proposal) -> bool:
    """Return True if it is under way as its row says, and no ❌ is told that its row lacks.

    It is asked before a tool is called for an execution that began earlier, since otherwise only
    the row says that it began, by which tool, and how long the window of another try is.
    """
    trail = tx.audit.without_attempts(proposal.proposal_id)
    told = retold(trail)
    otherwise = (
        *_about_whose_call_it_is(proposal, trail),
        *differs("window's length in s", proposal.window_s, told.window_s),
        *_about_its_bytes(proposal, trail, told),
        *about_its_call(proposal, told),
        *about_its_stop(proposal, told),
        *_about_its_policy(proposal, told),
        *about_its_evidence(tx, proposal),
        *about_its_cards(trail),
    )
    return told.state == proposal.state and not otherwise


def handed_back_as_told(tx: Transaction, proposal: Proposal, called: Execution) -> bool:
    """Return True if receipt, still-standing parts, tool and document of a roll back are as the
    trail tells.

    A roll back is made whatever else the row says. With the receipt of another proposal, another
    tool with this receipt, or other parameters it would take back what belongs to somebody else. A
    stage is discarded whatever the document says: nothing was done.
    """
    trail = tx.audit.without_attempts(proposal.proposal_id)
    told = retold(trail)
    if told.call is None or trail[0].event.details.get("tool", proposal.tool) != proposal.tool:
        return False
    if not (only_staged(called, told) or _asks_as_told(proposal, trail[0])):
        return False
    standing = digest_told(list(called.still_stands))
    return told.receipt in (digest_told(called.receipt), UNTOLD) and (
        told.call.stands in (standing, UNTOLD)
    )


def _asks_as_told(proposal: Proposal, first: AuditEntry) -> bool:
    """Return True if the document asks for what was proposed, in whichever form it is written.

    Raises ValueError if it is no JSON.
    """
    document, digest = proposal.document, first.event.digest
    return digest in (digest_of(document), digest_of(canonical_bytes(orjson.loads(document))))


def begun_with(tx: Transaction, proposal: Proposal) -> str | None:
    """Return the fingerprint of the call, by the config under which it began, or a person had it
    begin, or be taken back, anew, as the trail tells.

    None if it does not: for what an agent carries out, and where an older version began it.
    """
    told = (
        entry.event.details.get("call")
        for entry in reversed(tx.audit.without_attempts(proposal.proposal_id))
    )
    return next((each for each in told if isinstance(each, str)), None)


def called_under(tx: Transaction, proposal: Proposal) -> str | None:
    """Return the digest of the policy under which its last call was claimed, as the trail tells;
    None if nothing was called."""
    call = retold(tx.audit.without_attempts(proposal.proposal_id)).call
    return None if call is None else call.began.event.policy_digest


def begins(kind: object) -> bool:
    """Return True if an entry of this kind is the first of a proposal, which must have a row."""
    return kind == _SUBMITTED


def _about_its_state(proposal: Proposal, told: Told) -> Iterator[str]:
    moved = told.moved
    if moved is None:
        yield f"its state is {proposal.state}, and no entry moved it there"
    elif told.state != proposal.state:
        yield f"its state is {proposal.state}, entry {moved.seq} says {told.state}"
    elif proposal.terminal and moved.event.reason != proposal.reason:
        yield f"its reason is {proposal.reason}, entry {moved.seq} says {moved.event.reason}"


def _about_its_end(proposal: Proposal, told: Told) -> Iterator[str]:
    """Compare who ended it, when and with which words; an open proposal must have no end."""
    moved = told.moved
    if moved is None or told.state != proposal.state:
        return
    if not proposal.terminal:
        if proposal.decided_by or proposal.decided_at_ms is not None or proposal.reason:
            yield "it is open, and has an end"
        return
    event, seq = moved.event, moved.seq
    if proposal.decided_by != event.actor:
        yield f"it was decided by {proposal.decided_by}, entry {seq} says {event.actor}"
    if at_words(proposal.decided_at_ms) != event.at:
        yield f"it was decided at {at_words(proposal.decided_at_ms)}, entry {seq} says {event.at}"
    yield from differs("explanation", proposal.explanation, told.explanation)


def _about_its_beginning(proposal: Proposal, first: AuditEntry, told: Told) -> Iterator[str]:
    event = first.event
    if not begins(event.kind):
        yield f"its first entry {first.seq} is no submission"
        return
    yield from _about_whose_call_it_is(proposal, [first])
    yield from differs("surface", proposal.surface, event.surface)
    yield from differs("time of submission", at_words(proposal.created_at_ms), event.at)
    if told.deadline_ms is not UNTOLD:
        deadline_ms = on_calendar(told.deadline_ms)  # an older version told what nobody can mean
        yield from differs("deadline", at_words(proposal.deadline_ms), at_words(deadline_ms))
    yield from differs("wait for a permit's redemption", proposal.permit_waits, told.permit_waits)
    # Entries of older versions do not have the digests by which a repeat is recognized.
    repeats = known_by(proposal.content_digest, proposal.likeness_digest)
    if event.details.get("known_by", repeats) != repeats:
        yield "the digests by which a repeat of it is known are not those that the trail tells"
    if proposal.extra or "beside" in event.details:
        yield from _about_what_stands_beside(proposal, event.details)


def _about_whose_call_it_is(proposal: Proposal, trail: Sequence[AuditEntry]) -> Iterator[str]:
    """Compare proposer and tool; a document that names no tool does not say which one is meant."""
    for first in trail[:1]:
        yield from differs("proposer", proposal.actor, first.event.actor)
        yield from differs("tool", proposal.tool, first.event.details.get("tool", UNTOLD))


def _about_what_stands_beside(proposal: Proposal, details: Any) -> Iterator[str]:
    """Compare the plan that is shown on its card; of a masked proposal only the plan's witness."""
    witness, told = proposal.extra.get("witness"), details.get("witness")
    plan = digest_told(proposal.extra)
    if told is None:
        yield "a plan stands beside it, and no entry tells of one"
    elif witness != told:
        yield f"it came from a plan with the witness {witness}, the trail says {told}"
    elif not proposal.masked and details.get("beside", plan) != plan:
        yield "the plan that it came from is not the one that the trail tells of"


def _about_its_bytes(proposal: Proposal, trail: Sequence[AuditEntry], told: Told) -> Iterator[str]:
    other = next((entry for entry in trail if entry.event.digest != proposal.digest), None)
    if other is not None:
        yield f"its digest is not the one of entry {other.seq}"
    if proposal.masked:
        if not _was_masked(told):
            yield "it is kept masked, and no entry tells why"
        return
    if not fits_its_digest(proposal):
        yield "what is stored does not fit its digest"
        return
    document = proposal.read()
    window = document.time_window
    if proposal.task_id != document.task_id:
        yield f"its task is {proposal.task_id}, its document says {document.task_id}"
    if proposal.valid_from_ms != (on_calendar(window.valid_from_ms) if window else None):
        yield f"it may begin at {at_words(proposal.valid_from_ms)}, its document says another time"
    if window is not None and proposal.deadline_ms > on_calendar(window.valid_until_ms):
        yield f"its deadline is {at_words(proposal.deadline_ms)}, its document ends before that"


def _was_masked(told: Told) -> bool:
    """Return True if it ended for a reason for which only a masked form is kept.

    Those are `tool_blocked` and a finding of `secrets_absent`: the document may contain a
    credential.
    """
    if told.state != State.REJECTED or told.moved is None:
        return False
    event = told.moved.event
    return event.reason == "tool_blocked" or bool(_rules(event.details).get("secrets_absent"))


def _rules(details: Any) -> Any:
    return details.get("rules") or {}


def _about_who_decides(proposal: Proposal, told: Told) -> Iterator[str]:
    yield from differs("tier", proposal.tier, told.tier)
    yield from differs("quorum", proposal.quorum, told.quorum)
    yield from differs("need of people", proposal.quorum_needs_people, told.needs_people)
    yield from differs("window's length in s", proposal.window_s, told.window_s)
    yield from differs("attention", proposal.attention, told.attention)
    if proposal.tier is not Tier.BLOCK and fits_its_digest(proposal):
        asked = approval_class_of(proposal.read())
        least = max(TIER_POLICIES[proposal.tier].quorum, _ASKED_FOR.get(asked, 0) if asked else 0)
        if proposal.quorum < least:
            yield f"its quorum is {proposal.quorum}, its tier and document ask for {least}"


def _about_its_verdict(proposal: Proposal, told: Told) -> Iterator[str]:
    verdict, rules = proposal.verdict, told.rules
    if rules is UNTOLD:
        return
    found = verdict_details(verdict) if verdict else {}
    known = (found.get("rules"), found_in(verdict) if verdict else None)  # once told in clear
    if rules not in known or told.findings not in (found.get("findings"), UNTOLD):
        yield "what Sentinel found is not what the trail tells"


def _about_its_policy(proposal: Proposal, told: Told) -> Iterator[str]:
    """Compare the policy it was last judged under; under the same one it is not judged again."""
    if told.policy is None:
        return
    yield from differs("policy", proposal.policy_digest, told.policy)
    yield from differs("last check's policy", policy_before(proposal), told.policy)
    if is_owed(proposal) != told.owed:
        yield "whether its evidence is still to be judged by is not what the trail tells"
