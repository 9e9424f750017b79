"""While the freeze stands, neither execute nor commit is called and no window closes.

The freeze is a flag in the store. Freeze and thaw are units here; `stands_still` is asked before
anything is executed, committed or closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from lifecycle.announcing import announce
from lifecycle.answers import Reply, Sender
from lifecycle.door import record
from lifecycle.errors import ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.heard import HEARD, forget
from lifecycle.moment import Moment, is_moment, later, rfc3339
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, ActorKind, Proposal
from lifecycle.text.folding import seen
from lifecycle.text.masking import harmless, plain_words, recorded_words

FLAG: Final = "freeze"
#: The word for what a proposal waits for while the freeze stands.
FROZEN: Final = "frozen"
#: When the freeze in force was heard, which may be before it could be written.
_HEARD: Final = "heard_ms"
#: What is told of a freeze if somebody wrote over its flag.
_UNREAD: Final[Mapping[str, Any]] = {
    "reason": "what was kept of it cannot be read: somebody changed the database",
    "by": "nobody known",
    "at_ms": 0,
}


def frozen(tx: Transaction) -> Mapping[str, Any] | None:
    """Return `{reason, by, at_ms}` of the freeze in force, None if there is none."""
    value = tx.flags.get(FLAG)
    if not value:
        return None
    told = isinstance(value, Mapping) and is_moment(value.get("at_ms"))
    return value if told else _UNREAD


def stands_still(
    tx: Transaction, moment: Moment, proposal: Proposal, *, early: bool = False
) -> str | None:
    """Return why this proposal may not be executed, committed or closed now; None if it may.

    `early`: it would end before its time, by somebody's ✅.
    """
    if proposal.proposal_id in moment.held:
        return "a stop that is being written"
    begun = proposal.execution is not None and not early
    if moment.heard.hold(tx, moment.now_ms, proposal.proposal_id, begun=begun):
        return HEARD
    if moment.ending:
        return "the next start of Signoff"
    return None if frozen(tx) is None else FROZEN


def freezer(moment: Moment, sender: Sender) -> Sender:
    """Return who freezes: the sender, or whoever has the account by now if only they may freeze."""
    heir = sender.as_heir()
    by_heir = heir is not None and not _operates(moment, sender) and _operates(moment, heir)
    return heir if heir is not None and by_heir else sender


def check_freeze(moment: Moment, sender: Sender, reason: str) -> None:
    """Raise ReviewRefused if the sender may not freeze, or gives no reason."""
    _operator(moment, sender)
    if not seen(reason):  # signs that nobody sees say nothing
        raise ReviewRefused("reason_required", "Say why: freeze <reason>.")


def freeze(
    tx: Transaction,
    moment: Moment,
    sender: Sender,
    reason: str,
    *,
    given_at_ms: int | None = None,
) -> Reply:
    """Put the freeze in force; intake, reject and roll back go on working.

    The record keeps the reason as it was typed, without credentials; announced words are made
    harmless to read. `given_at_ms` is when it was said, if it had to wait (ms UTC). Raises
    ReviewRefused.
    """
    check_freeze(moment, sender, reason)
    reason = recorded_words(reason)
    heard = (each for each in (given_at_ms, sender.heard_at_ms) if each is not None)
    told = {"reason": reason, "by": sender.id, "at_ms": moment.now_ms}
    heard_ms = later(frozen_since_ms(tx), next(heard, moment.now_ms), moment.now_ms)
    tx.flags.put(FLAG, {**told, _HEARD: heard_ms})
    when = {} if given_at_ms is None else {"given_at": rfc3339(given_at_ms)}
    details = {"why": reason, **when}
    record(tx, moment, EventKind.FROZEN, sender.identity, sender=sender, details=details)
    words = f"Frozen by {sender.id}: {harmless(reason)}. Nothing executes or commits until thaw."
    # Two that waited for the store may be put in force within one millisecond.
    announce(tx, moment, f"freeze:{moment.now_ms}:{sender.event_id or ''}", words)
    return Reply(words)


def freeze_restored(tx: Transaction, moment: Moment, copy: str) -> None:
    """Freeze a copy that is brought back: what is open in it may have been done since."""
    reason = f"restored from {copy}: what was done since the copy is not known to it"
    tx.flags.put(FLAG, {"reason": reason, "by": SENTINEL.id, "at_ms": moment.now_ms})
    record(tx, moment, EventKind.FROZEN, SENTINEL, details={"why": reason, "copy": True})
    words = f"Frozen: {harmless(reason)}. Look before thaw."
    announce(tx, moment, f"freeze:{moment.now_ms}", words)


def thaw(tx: Transaction, moment: Moment, sender: Sender) -> Reply:
    """Lift the freeze; what is due goes on, checked again, oldest first. Raises ReviewRefused.

    A freeze that was heard long ago and could not be processed is let go of as well.
    """
    _operator(moment, sender)
    if not sender.is_known_to(moment.policy):
        _no_operator()
    _given_after_it(tx, moment, sender)
    let_go = _let_go(tx, moment, sender)
    if frozen(tx) is None:
        return Reply(f"Nothing is frozen.{let_go}")
    tx.flags.put(FLAG, None)
    record(tx, moment, EventKind.THAWED, sender.identity, sender=sender)
    words = f"Thawed by {sender.id}: what is due goes on, checked again."
    announce(tx, moment, f"thaw:{moment.now_ms}", words)
    return Reply(words + let_go)


def frozen_since_ms(tx: Transaction) -> int:
    """Return when the freeze in force was heard, ms UTC; 0 if there is none."""
    told = frozen(tx) or {}
    heard_ms, at_ms = told.get(_HEARD), told.get("at_ms")
    since_ms = heard_ms if is_moment(heard_ms) else at_ms
    return since_ms if is_moment(since_ms) else 0


def _given_after_it(tx: Transaction, moment: Moment, sender: Sender) -> None:
    """Raise ReviewRefused if somebody froze while this thaw was on its way."""
    heard_ms = sender.heard_at_ms
    if heard_ms is not None and heard_ms < frozen_since_ms(tx) <= moment.by_now().now_ms:
        raise ReviewRefused(
            "stale_card",
            "A freeze came while that thaw was on its way, so nothing was done. Look (status), "
            "and type thaw again where it still holds.",
        )


def _let_go(tx: Transaction, moment: Moment, sender: Sender) -> str:
    """Let go of freezes that nobody could process; return the words for that, or an empty text."""
    keys = [each.key for each in moment.heard.overdue(sender.said_ms(moment.now_ms))]
    if not keys:
        return ""
    details = {"stops": [*map(plain_words, keys)]}  # anything may have been written there
    record(tx, moment, EventKind.STOP_LET_GO, sender.identity, sender=sender, details=details)
    forget(tx, keys)
    return " A freeze that was heard and that nobody could carry out is let go of."


def _operator(moment: Moment, sender: Sender) -> None:
    if not _operates(moment, sender):
        _no_operator()


def _operates(moment: Moment, sender: Sender) -> bool:
    by_person = sender.kind is ActorKind.PERSON
    return by_person and sender.id in moment.policy.group("operators")


def _no_operator() -> NoReturn:
    raise ReviewRefused("not_an_operator", "Only people of the group operators may do that.")
