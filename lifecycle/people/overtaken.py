"""Refuse acts that were overtaken: what they are about changed before they could be processed.

A surface may have to wait before it processes an act: for its platform, or for what stands on
another surface. A later act on another surface may be done by then. An act counts for what stood
when it was heard. One that would undo what came after it is refused; it can be given again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lifecycle.announcing import announce
from lifecycle.answers import Sender
from lifecycle.audit import AuditEvent
from lifecycle.door import ASKS_ANEW
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.moment import Moment, clock_words, is_moment, later, ms_of
from lifecycle.people.acts import Act
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.review import Decision
from lifecycle.state import Trigger

_BACK: Final = EventKind.APPROVAL_TAKEN_BACK
#: A field in `extra` of a card. It tells by person when they last took a ✅ off that card, whether
#: or not the ✅ counted.
_OFF: Final = "off_ms"
_HEARD: Final = "heard_at_ms"
#: An act that was processed sooner than this did not wait.
_WAITED_MS: Final = 1_000
#: The kinds of entries that an act on a call or on an open window must not be older than.
_CALLS: Final = frozenset(
    {
        Trigger.EXECUTE.value,
        EventKind.TOOL_DONE,
        EventKind.STAGED,
        EventKind.EXECUTE_HAPPENED,
        EventKind.CALLED_AGAIN,
        EventKind.COMMIT_CLAIMED,
        EventKind.ROLL_BACK_CLAIMED,
        EventKind.SETTLED,
        EventKind.RETRIED,
    }
)


def heard_details(moment: Moment, sender: Sender) -> dict[str, int]:
    """Return when an act was heard (ms UTC), for its entry; empty if it did not have to wait."""
    heard_ms = sender.heard_at_ms
    return {_HEARD: heard_ms} if heard_ms is not None and heard_ms < moment.now_ms else {}


def note_off(tx: Transaction, proposal_id: str, sender: Sender, now_ms: int) -> None:
    """Note on the card when a person took a ✅ off it.

    A ✅ of theirs that waits on another surface may be older than that (`not_taken_back_since`).
    """
    stands = tx.cards.get(proposal_id, sender.surface)
    if stands is not None and sender.id is not None:
        off_ms = stands.extra.get(_OFF, {})
        before_ms, said_ms = off_ms.get(sender.id), sender.said_ms(now_ms)
        last_ms = later(before_ms if is_moment(before_ms) else 0, said_ms, now_ms)
        noted = {**off_ms, sender.id: last_ms}
        tx.cards.put(replace(stands, extra={**stands.extra, _OFF: noted}))


def not_taken_back_since(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> None:
    """Raise ReviewRefused stale_card if the sender took their ✅ back after this one was heard."""
    heard_ms, person = act.sender.heard_at_ms, act.sender.id or ""
    if heard_ms is None:
        return
    back_ms = (*_off_ms(tx, proposal, person), *_back_ms(tx, proposal, person))
    if any(heard_ms < each <= moment.by_now().now_ms for each in back_ms):
        raise ReviewRefused(
            "stale_card",
            "You took your approval back after you gave this one, which was on its way; nothing "
            "was counted. To approve take the ✅ off and put it there again, press Approve again, "
            f"or type: approve {proposal.proposal_id}",
        )


def tell_of_newer(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> None:
    """Announce that a ✅ taken off, which waited, withdraws a newer approval on another surface.

    Its giver could not know there that it would.
    """
    sender, heard_ms = act.sender, act.sender.said_ms(moment.now_ms)
    if moment.now_ms - heard_ms < _WAITED_MS:
        return
    elsewhere = (e for e in _events(tx, proposal) if e.surface not in (None, sender.surface))
    since = (each for each in elsewhere if heard_ms < ms_of(each.at) <= moment.now_ms)
    newer = next((e for e in since if e.actor == sender.identity and _approves(e)), None)
    if newer is None:
        return
    words = (
        f"{sender.id} took a ✅ off {proposal.proposal_id} ({proposal.tool}) on {sender.surface}, "
        f"{clock_words(heard_ms)}, which could be worked only now. It withdrew what {sender.id} "
        f"approved on {newer.surface} since. Where that still holds, type: "
        f"approve {proposal.proposal_id}"
    )
    key = f"withdrawn:{proposal.proposal_id}:{sender.id}:{newer.at}"
    announce(tx, moment, key, words, proposal.proposal_id)


def _approves(event: AuditEvent) -> bool:
    """Return True for the entry of an approval, or of the repetition of one."""
    anew = event.kind == EventKind.IGNORED and event.reason == "already_counted"
    return anew or (
        event.kind == EventKind.REVIEWED and event.details.get("decision") == Decision.APPROVE
    )


def _off_ms(tx: Transaction, proposal: Proposal, person: str) -> list[int]:
    noted = (each.extra.get(_OFF, {}).get(person) for each in tx.cards.of(proposal.proposal_id))
    return [at_ms for at_ms in noted if is_moment(at_ms)]


def _back_ms(tx: Transaction, proposal: Proposal, person: str) -> list[int]:
    mine = (each for each in tx.reviews.of(proposal.proposal_id) if each.person == person)
    if all(each.counts for each in mine):
        return []
    back = (each for each in _events(tx, proposal) if each.kind == _BACK and each.actor is not None)
    return [_heard_ms(each) for each in back if each.actor is not None and each.actor.id == person]


def judged_anew_since(tx: Transaction, moment: Moment, proposal: Proposal, act: Act) -> bool:
    """Return True if a typed act was heard before the people were last asked anew."""
    heard_ms, found, now_ms = act.sender.heard_at_ms, None, moment.by_now().now_ms
    if act.card is not None or heard_ms is None or not proposal.anew_version:
        return False
    for event in _events(tx, proposal):
        told = event.details
        before, found = found, told.get("findings") if "rules" in told else found
        anew = event.kind in ASKS_ANEW or "approvals_void" in told or found != before
        if anew and heard_ms < ms_of(event.at) <= now_ms:
            return True
    return False


def called_since(tx: Transaction, moment: Moment, proposal: Proposal, sender: Sender) -> bool:
    """Return True if something was called or settled after this act was heard."""
    heard_ms, now_ms = sender.heard_at_ms, moment.by_now().now_ms
    if heard_ms is None:
        return False
    calls = (each for each in _events(tx, proposal) if each.kind in _CALLS)
    return any(heard_ms < ms_of(each.at) <= now_ms for each in calls)


def said_of_this_call(tx: Transaction, moment: Moment, proposal: Proposal, sender: Sender) -> None:
    """Raise ReviewRefused stale_card if the act was heard before the call it would be about."""
    if called_since(tx, moment, proposal, sender):
        raise ReviewRefused(
            "stale_card",
            f"{proposal.proposal_id} has moved on while that was on its way, so nothing was done. "
            f"Look (show {proposal.proposal_id}), and type it again where it still holds.",
        )


def _events(tx: Transaction, proposal: Proposal) -> Iterator[AuditEvent]:
    return (entry.event for entry in tx.audit.without_attempts(proposal.proposal_id))


def _heard_ms(event: AuditEvent) -> int:
    told = event.details.get(_HEARD)
    return told if is_moment(told) else ms_of(event.at)
