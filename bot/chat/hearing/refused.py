"""Judges what an emoji on a card says after one was refused there: each is refused, and audited,
once while it stands.

- `refused_emoji.py` keeps them; `noting.py` writes of emoji that are heard, `catching_up.py` of
  those that are found, and of ✅ that stand beside an approval and change nothing (`beside.py`).
- `says_anew` and `counted_for_another` here read it, and `hanging.py`, `beside.py` and
  `given_since.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from bot.chat.hearing.event_ids import given_by, on_card
from bot.chat.hearing.known import Known, stops
from bot.chat.hearing.refused_emoji import (
    Key,
    all_refused,
    is_refused,
    note_refused,
    put_refused,
    refusal_of,
)
from bot.chat.hearing.seen_gone import approves, is_gone, off_by_next_ms
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.standing_in import known_before, still_in
from bot.chat.hearing.unjudged import (
    given_ms,
    note_judged,
    note_off,
    note_unjudged,
    unjudged_off,
    waits_for,
    was_anothers,
)
from lifecycle.answers import Reply, Sender
from lifecycle.hands import user_of
from lifecycle.policy import Policy
from lifecycle.ports import RowRefused, RowUnreadable, StoreUnavailable, Transaction
from lifecycle.records import Card
from lifecycle.review import Review


def written(reply: Reply) -> Reply:
    """Return the answer to a ✅ that was taken off. Raises StoreUnavailable if that could not be
    written: the approval would go on counting, and nobody says a second time that the ✅ is gone.

    Raises RowUnreadable or RowRefused if the store is well except for this proposal's rows: nothing
    else may wait for those.
    """
    match reply.code:
        case "digest_mismatch":
            raise RowUnreadable(reply.words)
        case "audit_unavailable":
            raise StoreUnavailable(reply.words) if reply.passing else RowRefused(reply.words)
        case _:
            return reply


def heard_already(
    tx: Transaction, policy: Policy, card: Card, sender: Sender, signal: Signal, given_ms: int
) -> bool:
    """Return whether an emoji given at `given_ms` was found on its card since, and judged: a
    platform may tell of it late, and it is one act all the same.

    A ❌ whose sender may stop the proposal by now is judged anew; a ✅ has counted for whoever had
    the account, or waits to count for them.
    """
    proposal = tx.proposals.get(card.proposal_id)
    if proposal is None:
        return False
    refused = refusal_of(card, (sender.account, signal))
    stands_refused = refused.stands and refused.at_ms >= given_ms
    found = _found_since(tx, card, given_ms)
    if signal is Signal.APPROVE:
        here, given = card.message_ids[-1], (each for each in found if approves(each))
        gave = any(r.person == sender.id or gave_by(sender, here, r) for r in given)
        return gave or stands_refused or was_anothers(card, sender, given_ms)
    stopped = any(r.person == sender.id and not approves(r) for r in found)
    return stopped or (stands_refused and not stops(policy, proposal, sender))


def _found_since(tx: Transaction, card: Card, since_ms: int) -> list[Review]:
    """Return the reviews that count and were found in the message in which the card stands at or
    after `since_ms` (ms UTC)."""
    mark = on_card(card.message_ids[-1])
    return [
        each
        for each in tx.reviews.of(card.proposal_id)
        if each.counts and each.found_late and each.at_ms >= since_ms
        if (each.event_id or "").startswith(mark)
    ]


def for_good(reply: Reply) -> bool:
    """Return whether an emoji was refused by this reply, and not only for a moment."""
    return not reply.done and not reply.passing and reply.code != "duplicate_event"


def says_anew(sender: Sender, known: Known) -> bool:
    """Return whether a ✅ that stands says anything that the law has not heard.

    A ✅ that counts does so only if the quorum is there but somebody could not be confirmed when it
    was counted, and not if it was refused since to its giver, who has left. One that was refused
    there, void, or taken back elsewhere says nothing until it was seen gone from this card: what
    merely still stands is no new decision, not even days later. One that could not be judged yet
    does so for its giver, whoever it was refused to meanwhile.
    """
    mine = [r for r in known.reviews if r.person == sender.id and approves(r)]
    if any(review.counts for review in mine):
        return known.short and not _refused_since(sender, known, mine)
    given = not mine or _gave_anew(sender, known, mine)
    refused = is_refused(known.card, (sender.account, Signal.APPROVE))
    return given and (not refused or waits_for(known.card, sender))


def _refused_since(sender: Sender, known: Known, mine: Sequence[Review]) -> bool:
    """Return whether the ✅ here that gave an approval which counts was refused to its giver since.
    One that stands beside such an approval is noted as refused, too, and gave none."""
    refused = refusal_of(known.card, (sender.account, Signal.APPROVE))
    here = known.card.message_ids[-1]
    gave = any(review.counts and gave_by(sender, here, review) for review in mine)
    return gave and refused.stands and refused.to == sender.id


def _gave_anew(sender: Sender, known: Known, mine: Sequence[Review]) -> bool:
    """Return whether a ✅ of somebody whose approvals are void is another than gave one of them: it
    was seen gone from this card; or another of theirs was, and this one gave no approval; or it
    waits to be judged, and was heard after they had taken their approval back."""
    here, waits_ms = known.card.message_ids[-1], given_ms(known.card, sender)
    back_ms = known.back_ms.get(sender.id or "")
    gave = any(gave_by(sender, here, each) for each in mine)
    gone = is_gone(known.seen_gone, sender.id, sender.account)
    waits = waits_ms is not None and back_ms is not None and waits_ms > back_ms
    return gone or waits or (sender.id in known.seen_gone and not gave)


def counted_for_another(sender: Sender, known: Known) -> bool:
    """Return whether the ✅ of this account on this card has counted for another owner of the
    account, or waits to count for them: its present owner has then given none there that was heard.

    If one was refused for that and seen gone since, a ✅ that is found there now was given anew.
    """
    if sender.id is None:  # it may be theirs whom the platform does not vouch for just now
        return False
    if waits_for(known.card, sender):
        return False  # it was heard, or found, as theirs, and could not be judged then
    since_ms = _seen_gone_ms(known.card, sender.account)
    if was_anothers(known.card, sender, since_ms):
        return True
    since_ms = max(since_ms, off_by_next_ms(known.card, sender.account))
    user, here = user_of(sender.account), known.card.message_ids[-1]
    others = (r for r in known.reviews if approves(r) and r.person != sender.id)
    then = (each for each in others if known.last_given_ms(each) >= since_ms)
    stand = (each for each in then if user not in known.seen_gone.get(each.person, frozenset()))
    return any(gave_by(sender, here, each) for each in stand)


def counted_again(known: Known, approving: Collection[Sender]) -> set[Key]:
    """Return which ✅ stand again for whom they counted, after they were seen gone as those of
    another owner of the account: whoever owns it later gave none of them."""
    message_id = known.card.message_ids[-1]
    counting = [review for review in known.reviews if review.counts and approves(review)]
    theirs = [each for each in approving if _seen_gone_ms(known.card, each.account)]
    return {
        (sender.account, Signal.APPROVE)
        for sender in theirs
        if any(r.person == sender.id and gave_by(sender, message_id, r) for r in counting)
    }


def note_counted(tx: Transaction, card: Card, keys: Collection[Key]) -> None:
    """Note that these ✅ stand again for whom they counted: that they were gone says nothing."""
    stands = still_in(tx, card)
    if stands is not None and keys:
        noted = all_refused(stands)
        again = {key: replace(noted[key], at_ms=0) for key in keys if key in noted}
        put_refused(tx, stands, noted | again)


def gave_by(sender: Sender, message_id: str, review: Review) -> bool:
    """Return whether a review was given by an emoji of this account on this message, whoever had
    the account then; a config may name another team of it by now."""
    account = given_by(message_id, review.event_id)
    return account is not None and user_of(account) == user_of(sender.account)


def _seen_gone_ms(card: Card, account: str) -> int:
    """Return when the ✅ of an account was last refused that was seen gone since; 0 if there is
    none, or if it stood again for whom it had counted."""
    refused = refusal_of(card, (account, Signal.APPROVE))
    return 0 if refused.stands else refused.at_ms


def refused_since(card: Card, account: str, since_ms: int) -> bool:
    """Return whether a ✅ of this account was refused in the message in which the card stands at or
    after `since_ms`, even if it was seen gone after that."""
    return any(
        signal is Signal.APPROVE and each.at_ms >= since_ms and user_of(who) == user_of(account)
        for (who, signal), each in all_refused(card).items()
    )


def leaves_a_note(reply: Reply) -> bool:
    """Return whether an emoji that was found was refused, for good or as it cannot be judged."""
    return for_good(reply) or (not reply.done and reply.passing)


def note_answer(
    tx: Transaction, card: Card, sender: Sender, signal: Signal, reply: Reply, now_ms: int
) -> None:
    """Note that an emoji was refused. A ✅ that could not be judged stays this sender's; one that
    is judged waits no more."""
    if for_good(reply):
        if signal is Signal.APPROVE:
            note_judged(tx, card, sender)
        note_refused(tx, card, sender, signal, now_ms)
    elif signal is Signal.APPROVE:
        note_unjudged(tx, card, sender, now_ms)


def gone_from(card: Card, standing: Collection[Key], asked_ms: int | None, now_ms: int) -> set[Key]:
    """Return which emoji that were refused, or not judged, are not among those `standing`; one that
    was heard after the card was asked for is not known to be gone."""
    refused = {
        key
        for key, each in all_refused(card).items()
        if each.stands and known_before(each.at_ms, asked_ms, now_ms)
    }
    there = [account for account, signal in standing if signal is Signal.APPROVE]
    off = {(each, Signal.APPROVE) for each in unjudged_off(card, there, asked_ms, now_ms)}
    return (refused | off) - set(standing)


def note_gone(tx: Transaction, card: Card, keys: Collection[Key]) -> None:
    """Note that emoji were seen gone: if one had been refused, or not judged, the next one that is
    found there is a new act."""
    note_off(tx, card, [account for account, signal in keys if signal is Signal.APPROVE])
    stands = still_in(tx, card)
    noted = all_refused(stands) if stands is not None else {}
    gone = {key: noted[key].seen_gone() for key in keys if key in noted and noted[key].stands}
    if stands is not None and gone:
        put_refused(tx, stands, noted | gone)


def refused_to(card: Card) -> Sequence[tuple[str, str | None, int]]:
    """Return of each ✅ that was refused, and not seen gone since, its account, to whom it was
    refused (None if nobody noted that), and when (ms UTC)."""
    return [
        (account, each.to, each.at_ms)
        for (account, signal), each in all_refused(card).items()
        if each.stands and signal is Signal.APPROVE
    ]
