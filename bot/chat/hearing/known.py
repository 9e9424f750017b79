"""Reads what the law has heard of one proposal, so that a card that is read is compared with it.

It keeps in a card's `extra`, with the row for good: `cleared_ms`, when the card was cleared of
emoji; `unseeded`, which message lacked the bot's own ✅; `given_ms`, when people whose approval
counted gave a ✅ once more; `posted_version` and `shown_since`, what its message can show and since
when; `in_doubt`, that its post is not found yet. Readings, `moderated.py` and `showing/` write them
by the functions here; `known_of`, `shown_at`, `may_stand` and `on_its_way` read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bot.chat.hearing.seen_gone import (
    GONE_AT,
    approves,
    gone_by,
    is_gone,
    last_words,
    taken_back_ms,
    with_gone,
)
from bot.chat.hearing.standing_in import OFF_BY_NEXT, still_in
from lifecycle.answers import Sender
from lifecycle.counting import approvals
from lifecycle.people.acts import closed_over
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Proposal
from lifecycle.quorum import may_stop
from lifecycle.records import Card
from lifecycle.review import Review
from lifecycle.state import State

_CLEARED: Final = "cleared_ms"
#: The message of a card that lacked the bot's own ✅ when it was last read.
_UNSEEDED: Final = "unseeded"
_GIVEN: Final = "given_ms"
_POSTED_AT: Final = "posted_version"
_SHOWN_SINCE: Final = "shown_since"
#: For a card that may stand although no row says where: until when the platform is left alone.
_IN_DOUBT: Final = "in_doubt"
#: For this many renderings of a message it is remembered since when each was shown.
_MOST_RENDERINGS: Final = 8
#: By person: when the approval was given of which they were last told that it is void (`void.py`).
TOLD: Final = "told_ms"
#: The version that a card shows if its message was emptied: less than anybody decides on.
HIDDEN: Final = -1


@dataclass(frozen=True, slots=True)
class Known:
    """A proposal that has not ended, with its reviews and the row of its card. Times in ms UTC.

    - `seen_gone`: whose ✅ was seen taken off this very card after they last gave it, with the
      accounts of those ✅
    - `back_ms`: when people took their approval back, wherever that was
    - `cleared_ms`: when somebody cleared the card of emoji
    - `given_ms`: when people whose approval counted already gave their ✅ once more
    - `told_ms`: when the approval was given of which people were last told that it is void
    - `gone_version`: what the card showed when somebody's ✅ was last seen off it
    - `posted_version`: the first version that its message can have shown
    - `short`: the quorum is there but was not when it was counted, for somebody's membership was
      unknown then
    - `unseeded`: the bot's own ✅ lacked already when the card was last read
    """

    proposal: Proposal
    reviews: Sequence[Review]
    card: Card
    seen_gone: Mapping[str, frozenset[str]] = field(default_factory=dict)
    back_ms: Mapping[str, int] = field(default_factory=dict)
    cleared_ms: int = 0
    given_ms: Mapping[str, int] = field(default_factory=dict)
    told_ms: Mapping[str, int] = field(default_factory=dict)
    gone_version: Mapping[str, int] = field(default_factory=dict)
    posted_version: int = 0
    short: bool = False
    unseeded: bool = False

    def last_given_ms(self, review: Review) -> int:
        """Return when the ✅ of an approval was given, or was last noted as given once more."""
        return max(review.at_ms, self.given_ms.get(review.person, 0))

    def shown_to(self, person: str) -> int:
        """Return the least that the card showed when somebody gave a ✅ that stands there."""
        if self.card.shown_version == HIDDEN:
            return HIDDEN
        return max(self.posted_version, self.gone_version.get(person, 0))


def known_of(tx: Transaction, policy: Policy, card: Card) -> Known | None:
    """Return what is known of a card's proposal; None if nothing on the card matters any more."""
    proposal = tx.proposals.get(card.proposal_id)
    stands = tx.cards.get(card.proposal_id, card.surface)
    if proposal is None or proposal.terminal or stands is None or not card.message_ids:
        return None
    reviews = tx.reviews.of(card.proposal_id)
    gone, back_ms = dict[str, frozenset[str]](), dict[str, int]()
    if not all(review.counts for review in reviews):
        words = last_words(tx, card)
        gone, back_ms = gone_by(words, card, stands, reviews), taken_back_ms(words)
    waits = proposal.state is State.SENTINEL_APPROVED and proposal.opener is None
    short = waits and len(approvals(reviews, policy, proposal)) >= max(1, proposal.quorum)
    extra = stands.extra
    return Known(
        proposal,
        reviews,
        stands,
        gone,
        back_ms,
        cleared_ms=int(extra.get(_CLEARED, 0)),
        given_ms=extra.get(_GIVEN, {}),
        told_ms=extra.get(TOLD, {}),
        gone_version=extra.get(GONE_AT, {}),
        posted_version=int(extra.get(_POSTED_AT, 0)),
        short=short,
        unseeded=extra.get(_UNSEEDED) == card.message_ids[-1],
    )


def closed_of(tx: Transaction, card: Card) -> Proposal | None:
    """Return the proposal of this card if its window has closed unopposed, else None."""
    proposal = tx.proposals.get(card.proposal_id)
    stands = tx.cards.get(card.proposal_id, card.surface)
    if proposal is None or stands is None or not stands.message_ids:
        return None
    return proposal if closed_over(proposal) else None


def note_cleared(tx: Transaction, card: Card, now_ms: int) -> None:
    """Note that the emoji of a card were cleared: what was approved on it stands without them."""
    stands = still_in(tx, card)
    if stands is not None:
        tx.cards.put(replace(stands, extra={**stands.extra, _CLEARED: now_ms}))


def note_seeded(tx: Transaction, card: Card, *, seeded: bool) -> None:
    """Note whether the bot's own ✅ stands on a card that was read: if it lacked before already,
    its absence does not say that somebody cleared the card."""
    stands = still_in(tx, card)
    if stands is not None:
        extra = {name: value for name, value in stands.extra.items() if name != _UNSEEDED}
        lacks = {} if seeded else {_UNSEEDED: card.message_ids[-1]}
        tx.cards.put(replace(stands, extra=extra | lacks))


def note_changed(
    tx: Transaction,
    card: Card,
    person: str,
    now_ms: int,
    shown: int,
    *,
    added: bool,
    account: str,
) -> None:
    """Note that a ✅ which changed no review was given, or taken off; the card showed `shown` then.

    A ✅ given matters if the card was cleared before, or the next owner of an account took one off.
    A ✅ taken off matters if its giver's approval is void, or if it may have been refused because
    the card did not show what was decided on.
    """
    stands = still_in(tx, card)
    mine = [r for r in tx.reviews.of(card.proposal_id) if r.person == person and approves(r)]
    if stands is None:
        return
    if added and mine and not stands.extra.keys().isdisjoint({_CLEARED, OFF_BY_NEXT}):
        given = {**stands.extra.get(_GIVEN, {}), person: now_ms}
        tx.cards.put(replace(stands, extra={**stands.extra, _GIVEN: given}))
    elif not added and (not mine[-1].counts if mine else _was_judged_anew(tx, card)):
        tx.cards.put(with_gone(stands, person, account, len(mine), now_ms, shown))


def _was_judged_anew(tx: Transaction, card: Card) -> bool:
    proposal = tx.proposals.get(card.proposal_id)
    return proposal is not None and proposal.anew_version > 0


def posted_at(card: Card, version: int) -> Card:
    """Return the card with the version about to be posted: its message shows nothing older."""
    extra = {name: value for name, value in card.extra.items() if name != _IN_DOUBT}
    return replace(card, extra={**extra, _POSTED_AT: version})


def not_posted(card: Card, *, for_certain: bool, not_before_ms: int) -> Card:
    """Return the card after its post failed, `for_certain` or not. If it may stand once, it may
    stand until it is found. `not_before_ms` is the platform's own word on when to come back (ms
    UTC), 0 for none."""
    if card.delivered or (for_certain and _IN_DOUBT not in card.extra):
        return card
    return replace(card, extra={**card.extra, _IN_DOUBT: not_before_ms})


def may_stand(card: Card, now_ms: int) -> bool:
    """Return whether it may stand although no row says where, and the platform may be asked now."""
    not_before_ms = card.extra.get(_IN_DOUBT)
    return not card.delivered and not_before_ms is not None and not_before_ms <= now_ms


def on_its_way(card: Card, now_ms: int) -> bool:
    """Return whether it is being posted, or may stand already; not if the platform refused it."""
    tried = card.attempts == 0 or card.retry_at_ms <= now_ms or _IN_DOUBT in card.extra
    return bool(card.claim) and not card.delivered and tried


def in_doubt(card: Card) -> bool:
    """Return whether a post of it was begun and nobody knows whether it stands: such a card is
    looked for, even if its proposal has ended."""
    begun = bool(card.claim) and not card.delivered
    return begun and (card.attempts == 0 or _IN_DOUBT in card.extra)


def deleted_since(card: Card, fresh: Card, message_id: str) -> bool:
    """Return whether the row of a card changed while its message was edited: the message was noted
    as deleted or empty, or was shown anew after it was known to show nothing, or not all."""
    edited = message_id in card.message_ids[-1:] and fresh.message_ids == card.message_ids
    stood, stands = (card.shown_version, card.delivered), (fresh.shown_version, fresh.delivered)
    return edited and stands != stood


def shown_since(card: Card, now_ms: int) -> Card:
    """Return the card with the note that from now on its message shows `shown_version`."""
    posted, version = int(card.extra.get(_POSTED_AT, 0)), card.shown_version
    before = [e for e in card.extra.get(_SHOWN_SINCE, ()) if posted <= e[0] < version]
    since = [*before, [version, now_ms]][-_MOST_RENDERINGS:]
    return replace(card, extra={**card.extra, _SHOWN_SINCE: since})


def shown_at(card: Card, at_ms: int) -> int:
    """Return the least version that its message showed at `at_ms`, which may be long ago."""
    since = card.extra.get(_SHOWN_SINCE)
    if not since:
        return card.shown_version  # nobody noted it
    posted = int(card.extra.get(_POSTED_AT, 0))
    shown = max((version for version, since_ms in since if since_ms <= at_ms), default=posted)
    return min(card.shown_version, shown)


def stops(policy: Policy, proposal: Proposal, sender: Sender) -> bool:
    """Return whether a ❌ of the sender may stop the proposal."""
    tool = policy.tools.get(proposal.tool)
    by_person = sender.kind is ActorKind.PERSON and sender.id is not None
    if tool is None:
        return by_person  # if the tool has left the config, the law says who may
    return by_person and may_stop(policy, tool, proposal.actor, str(sender.id)) is None


def seen_off(known: Known, absent: Mapping[str, str], asked_ms: int | None) -> set[str]:
    """Return who of the `absent` (people without a ✅ on the card, with their accounts) had a void
    approval already when the card was read, and whose ✅ is not noted as gone.

    A ✅ of theirs that is found there later is a new decision. If an approval became void while the
    card was read, nobody knows whether a ✅ came before that: if its giver took it back, the time
    tells, else what the card showed then.
    """
    if asked_ms is None:
        return set()
    mine = [review for review in known.reviews if approves(review)]
    void = {review.person for review in mine} - {each.person for each in mine if each.counts}
    there = void.intersection(absent)
    off = {each for each in there if not is_gone(known.seen_gone, each, absent[each])}
    return {person for person in off if known.back_ms.get(person, 0) < asked_ms}
