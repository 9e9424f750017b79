"""What the law has heard of one proposal, as a card that is read is compared with it.

It keeps in a card's `extra`, with the row for good: `cleared_ms`, when the card was cleared;
`unseeded`, in which message the bot's own ✅ lacked; `given_ms`, when people whose approval counted
gave a ✅ once more; `posted_version` and `shown_since`, what its message can show and since when;
`in_doubt`, until its post is found. Readings, moderators (`moderated.py`) and `showing/` write them
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
#: In which message of a card the bot's own ✅ lacked when it was last read.
_UNSEEDED: Final = "unseeded"
_GIVEN: Final = "given_ms"
_POSTED_AT: Final = "posted_version"
_SHOWN_SINCE: Final = "shown_since"
#: Of a card that may stand unnoted: until when the platform wants to be left alone.
_IN_DOUBT: Final = "in_doubt"
#: Of so many renderings of a message it is remembered since when they stand.
_MOST_RENDERINGS: Final = 8
#: Which approval of people it was that they were told of last that it is void (`void.py`).
TOLD: Final = "told_ms"
#: What a card shows whose message was emptied: less than anything that is decided on.
HIDDEN: Final = -1


@dataclass(frozen=True, slots=True)
class Known:
    """A proposal that has not ended, with its reviews.

    `seen_gone` are people whose ✅ was seen taken off this very card after they last gave it, with
    the accounts whose ✅ it was, `back_ms` is when people took their approval back, wherever that
    was; `cleared_ms` is when somebody cleared the card, `given_ms` when people whose approval
    counted already gave their ✅ once more; `short` says that the quorum is there but was not when
    it was counted, somebody's membership being unknown then; `told_ms` which approval of people it
    was that they were told of last that it is void. `gone_version` is what the card
    showed when somebody's ✅ was last seen off it, `posted_version` the first that its message can
    have shown. `unseeded` says that the bot's own ✅ lacked already when the card was last read.
    `card` is its row.
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
    """Read it; None where nothing on a card changes anything any more."""
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
    """Return the proposal of this card where its window has closed unopposed, None else."""
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
    """Note whether the bot's own ✅ stands on a card that was read: where it lacked before, nobody
    cleared the card."""
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
    """Note a ✅ given that changed no review, or taken off; the card showed `shown` then.

    Given, it matters where the card was cleared before, or the ✅ was taken off by whoever had the
    account next; taken off, where an approval is void, or where a ✅ may have been refused because
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
    """Note the version that is about to be posted: its message shows nothing that came before."""
    extra = {name: value for name, value in card.extra.items() if name != _IN_DOUBT}
    return replace(card, extra={**extra, _POSTED_AT: version})


def not_posted(card: Card, *, for_certain: bool, not_before_ms: int) -> Card:
    """Note that its post failed, `for_certain` or not. What may stand once may stand until it is
    found. `not_before_ms` is the platform's own word on when to come back, 0 for none."""
    if card.delivered or (for_certain and _IN_DOUBT not in card.extra):
        return card
    return replace(card, extra={**card.extra, _IN_DOUBT: not_before_ms})


def may_stand(card: Card, now_ms: int) -> bool:
    """Say whether it may stand although no row says where, and the platform may be asked now."""
    not_before_ms = card.extra.get(_IN_DOUBT)
    return not card.delivered and not_before_ms is not None and not_before_ms <= now_ms


def on_its_way(card: Card, now_ms: int) -> bool:
    """Say whether it is being posted, or may stand already; not where the platform refused it."""
    tried = card.attempts == 0 or card.retry_at_ms <= now_ms or _IN_DOUBT in card.extra
    return bool(card.claim) and not card.delivered and tried


def in_doubt(card: Card) -> bool:
    """Say whether a post of it was begun and nobody knows whether it stands: it is looked for, also
    where what it was about has ended."""
    begun = bool(card.claim) and not card.delivered
    return begun and (card.attempts == 0 or _IN_DOUBT in card.extra)


def deleted_since(card: Card, fresh: Card, message_id: str) -> bool:
    """Say whether the message in which a card was edited was noted as deleted, or as empty,
    meanwhile; one that was edited since it was known to show nothing, or not all, too."""
    edited = message_id in card.message_ids[-1:] and fresh.message_ids == card.message_ids
    stood, stands = (card.shown_version, card.delivered), (fresh.shown_version, fresh.delivered)
    return edited and stands != stood


def shown_since(card: Card, now_ms: int) -> Card:
    """Note that from now on its message shows what the card is written down to show."""
    posted, version = int(card.extra.get(_POSTED_AT, 0)), card.shown_version
    before = [e for e in card.extra.get(_SHOWN_SINCE, ()) if posted <= e[0] < version]
    since = [*before, [version, now_ms]][-_MOST_RENDERINGS:]
    return replace(card, extra={**card.extra, _SHOWN_SINCE: since})


def shown_at(card: Card, at_ms: int) -> int:
    """Return the least that its message showed then, which may be long ago."""
    since = card.extra.get(_SHOWN_SINCE)
    if not since:
        return card.shown_version  # nobody noted it
    posted = int(card.extra.get(_POSTED_AT, 0))
    shown = max((version for version, since_ms in since if since_ms <= at_ms), default=posted)
    return min(card.shown_version, shown)


def stops(policy: Policy, proposal: Proposal, sender: Sender) -> bool:
    """Say whether a ❌ of theirs may stop it."""
    tool = policy.tools.get(proposal.tool)
    by_person = sender.kind is ActorKind.PERSON and sender.id is not None
    if tool is None:
        return by_person  # the law says who may, where the tool has left the config
    return by_person and may_stop(policy, tool, proposal.actor, str(sender.id)) is None


def seen_off(known: Known, absent: Mapping[str, str], asked_ms: int | None) -> set[str]:
    """Return whose approval was void already when the card was read, with no ✅ of theirs on it:
    they are among the `absent`, with their accounts.

    One that is found there later is a new decision. Of what became void while it was read nobody
    knows whether the ✅ came before: where somebody took it back its time says so, and else what
    the card showed then.
    """
    if asked_ms is None:
        return set()
    mine = [review for review in known.reviews if approves(review)]
    void = {review.person for review in mine} - {each.person for each in mine if each.counts}
    there = void.intersection(absent)
    off = {each for each in there if not is_gone(known.seen_gone, each, absent[each])}
    return {person for person in off if known.back_ms.get(person, 0) < asked_ms}
