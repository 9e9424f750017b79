"""Define an act of a person on a proposal, what it led to, and what all kinds of acts share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from lifecycle.announcing import announce
from lifecycle.answers import CardPlace, Reply, Sender
from lifecycle.calls.claiming import Claim
from lifecycle.copied import whether_run
from lifecycle.door import record
from lifecycle.errors import ProposalNotFound, ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.expiry import expire, undecided
from lifecycle.moment import Moment, clock_words, rfc3339
from lifecycle.ports import Transaction
from lifecycle.posted_cards import CARD
from lifecycle.proposal import Proposal
from lifecycle.records import Card
from lifecycle.review import Absent, Decision, Review
from lifecycle.state import State
from lifecycle.text.folding import seen
from lifecycle.text.masking import harmless, mask_text, plain_words, recorded_words


@dataclass(frozen=True, slots=True)
class Act:
    """Somebody's act on one proposal.

    - `card`: the message it was done on, None for a command
    - `found_late`: it was found on a card afterwards, not delivered as an event
    - `lost`: the people, and accounts of theirs, whose membership could not be confirmed
    - `unsure`: the sender is among the lost, though nobody said that they have left
    - `given_at_ms`: when a stop was given that waited in the spool, None for an act judged at once
    - `heard_at_ms`: when the bot received a stop, which may be well before it can be processed
    - `seen_version`: the version of the proposal when a command came that has to wait until its
      platform says who gave it
    - `bare`: it was given on a card, without words, and waited in the spool
    """

    proposal_id: str
    sender: Sender
    reason: str = ""
    card: CardPlace | None = None
    found_late: bool = False
    lost: Collection[Absent] = ()
    unsure: bool = False
    given_at_ms: int | None = None
    heard_at_ms: int | None = None
    seen_version: int | None = None
    bare: bool = False

    def __post_init__(self) -> None:
        """Bring what was typed into a form that every record can hold. A reason of which nobody
        sees a word is none."""
        reason = recorded_words(self.reason)
        object.__setattr__(self, "proposal_id", plain_words(self.proposal_id))
        object.__setattr__(self, "reason", reason if seen(reason) else "")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What an act led to: the reply, the proposal as it now stands, and the call to make next."""

    reply: Reply
    proposal: Proposal
    claim: Claim | None = None

    @classmethod
    def of(
        cls, proposal: Proposal, words: str, *, code: str | None = None, claim: Claim | None = None
    ) -> Reviewed:
        """Return a reply with these words, for the proposal as it now stands."""
        reply = Reply(words, code, proposal.proposal_id, proposal.state.value)
        return cls(reply, proposal, claim)


def refuse_repeated(tx: Transaction, moment: Moment, sender: Sender) -> None:
    """Note that this event was processed. Raises ReviewRefused duplicate_event if it was before."""
    if sender.event_id is not None and not tx.flags.first_time(
        sender.surface, sender.event_id, moment.now_ms
    ):
        raise ReviewRefused("duplicate_event", "This was heard before.")


def found(tx: Transaction, moment: Moment, act: Act, *, any_card: bool = False) -> Proposal:
    """Return the proposal an act is about, after the checks that every act must pass.

    If its deadline is over, it is expired first. `any_card`: the act may be done on a card that
    another has replaced; a stop may if it was heard before that. Raises ReviewRefused
    duplicate_event, stale_card or, while a stop given in time may still decide over the deadline,
    already_decided; ProposalNotFound.
    """
    refuse_repeated(tx, moment, act.sender)
    proposal = looked_up(tx, act, any_card=any_card)
    if in_time(moment, act, proposal):
        return proposal
    if undecided(tx, moment, proposal):  # `passing`: this act may be that very stop
        raise ReviewRefused("already_decided", late_words(tx, proposal), passing=True)
    return expire(tx, moment, proposal)


def looked_up(tx: Transaction, act: Act, *, any_card: bool = False) -> Proposal:
    """Return the proposal an act is about. Raises ReviewRefused stale_card, ProposalNotFound."""
    proposal = tx.proposals.get(act.proposal_id)
    if proposal is None:
        named = mask_text(act.proposal_id[:64])
        raise ProposalNotFound(f"No proposal has the id {named!r}; see: pending")
    if act.card is not None:
        _check_card(tx, act, act.card, any_card=any_card)
    return proposal


def in_time(moment: Moment, act: Act, proposal: Proposal) -> bool:
    """Return True if an act came before the deadline; for a stop, when it was given or heard."""
    known = (each for each in (act.given_at_ms, act.heard_at_ms) if each is not None)
    return not proposal.expired(min(moment.now_ms, next(known, moment.now_ms)))


def as_given(moment: Moment, act: Act, proposal: Proposal) -> Act:
    """Return the act with `given_at_ms` set if the deadline passed while this stop waited.

    Then its review bears the time at which it was heard, like one from the spool.
    """
    if act.given_at_ms is not None or not proposal.expired(moment.now_ms):
        return act
    return replace(act, given_at_ms=act.heard_at_ms)


def late_words(tx: Transaction, proposal: Proposal) -> str:
    """Return words for an act after the deadline, while an earlier stop may still decide; with what
    helps, once that stop waits for too long."""
    when = clock_words(proposal.deadline_ms)
    words = f"The deadline of {proposal.proposal_id} was {when}. {whether_run(tx, proposal)}"
    return f"{words} {harmless(proposal.attention_why)}".strip()


def ignored(
    tx: Transaction, moment: Moment, act: Act, proposal: Proposal, code: str, words: str
) -> Reviewed:
    """Answer an act that has no effect, and write its one audit entry.

    It does not raise, so that what the unit wrote before (an expiry) is kept.
    """
    record(
        tx,
        moment,
        EventKind.IGNORED,
        act.sender.identity,
        proposal=proposal,
        sender=act.sender,
        reason=code,
        details={
            "account": plain_words(act.sender.account),
            "why": act.reason,
            "found_late": act.found_late,
        },
    )
    return Reviewed.of(proposal, words, code=code)


def note_ignored(tx: Transaction, moment: Moment, act: Act, code: str) -> None:
    """Write the one audit entry of an attempt without effect, once for an event."""
    sender = act.sender
    if sender.event_id is not None and not tx.flags.first_time(
        sender.surface, sender.event_id, moment.now_ms
    ):
        return
    record(
        tx,
        moment,
        EventKind.IGNORED,
        sender.identity,
        proposal=tx.proposals.get(act.proposal_id),
        sender=sender,
        reason=code,
        details={
            "account": plain_words(sender.account),
            "proposal_id": recorded_words(act.proposal_id, 64, cut=""),
            "found_late": act.found_late,
        },
    )


def closed_over(proposal: Proposal) -> bool:
    """Return True if its window has closed and nothing can be taken back any more."""
    windowed = proposal.execution is not None and proposal.execution.windowed
    return windowed and proposal.state is State.COMPLETED


def tell_of_a_late_stop(tx: Transaction, moment: Moment, act: Act, proposal: Proposal) -> None:
    """Announce a ❌ found on a card after the window was closed."""
    proposal_id, sender = proposal.proposal_id, act.sender
    person = sender.identity or sender.account
    words = (
        f"{proposal_id} ({proposal.tool}) was closed, and a ❌ by {person} was found on "
        f"{sender.surface} after that: it stands. Look, and take back by hand what must not."
    )
    key = f"found_late:{proposal_id}:{sender.surface}:{sender.account}"
    announce(tx, moment, key, words, proposal_id)


def decided(tx: Transaction, moment: Moment, act: Act, proposal: Proposal) -> Reviewed:
    """Answer an act on a proposal that is decided already; it has no effect."""
    return ignored(tx, moment, act, proposal, "already_decided", decided_words(proposal))


def given_details(act: Act) -> dict[str, Any]:
    """Return what the entry of a stop tells beside its words: on which card it was given, and when.

    The time is told only of a stop that waited.
    """
    when = {} if act.given_at_ms is None else {"given_at": rfc3339(act.given_at_ms)}
    return when | _on_card(act)


def _on_card(act: Act) -> dict[str, Any]:
    return {} if act.card is None else {CARD: act.card.message_id}


def review_details(act: Act, decision: Decision) -> dict[str, Any]:
    """Return what the entry of a review tells."""
    told = {"decision": decision.value, "why": act.reason, "found_late": act.found_late}
    return told | _on_card(act)


def _check_card(tx: Transaction, act: Act, place: CardPlace, *, any_card: bool) -> None:
    card: Card | None = tx.cards.get(act.proposal_id, place.surface)
    known = card.message_ids if card is not None else ()
    former = any_card or (card is not None and _heard_before_it(act, card))
    if place.message_id not in (known if former else known[-1:]):
        raise ReviewRefused(
            "stale_card", "This card is an old one; decide on the current card of the proposal."
        )


def _heard_before_it(act: Act, card: Card) -> bool:
    """Return True for a stop that was heard before the message was posted in which the card stands
    now: it was given where people were to decide then, and must not be lost with that message."""
    if act.heard_at_ms is None or card.posted_at_ms is None:
        return False
    return act.sender.said_ms(act.heard_at_ms) < card.posted_at_ms


def shown_version(tx: Transaction, act: Act) -> int | None:
    """Return the version that the card of an act surely showed when the act was given.

    None for a command. 0 if that is not known: nobody knows when a signal that was found on a card
    was given, unless the finder says so in `shown_version`.
    """
    place = act.card
    if place is None:
        return None
    if place.shown_version is not None:
        return place.shown_version
    card: Card | None = tx.cards.get(act.proposal_id, place.surface)
    return card.shown_version if card is not None and not act.found_late else 0


def review_of(
    proposal: Proposal, moment: Moment, act: Act, person: str, decision: Decision
) -> Review:
    """Return the review to store for an act."""
    return Review(
        proposal_id=proposal.proposal_id,
        person=person,
        decision=decision,
        reason=act.reason,
        at_ms=moment.now_ms if act.given_at_ms is None else act.given_at_ms,
        surface=act.sender.surface,
        event_id=act.sender.event_id,
        found_late=act.found_late,
    )


def decided_words(proposal: Proposal) -> str:
    """Return who decided what and when, and what a person must look at, if anything."""
    if not proposal.terminal:
        opener = f", opened by {proposal.opener}" if proposal.opener else ""
        words = f"{proposal.proposal_id} is {proposal.state} already{opener}; nothing was changed."
        return f"{words} {harmless(proposal.attention_why)}".strip()
    when = clock_words(proposal.decided_at_ms or proposal.created_at_ms)
    words = (
        f"Already decided: {proposal.state} ({proposal.reason}) by {proposal.decided_by}, {when}."
    )
    return f"{words} {harmless(proposal.explanation)}".strip()
