"""Keeps on disk the stops that the store cannot take, and holds their proposals (section 10)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from lifecycle.announcing import announce
from lifecycle.answers import Reply, Sender
from lifecycle.errors import GovernanceError
from lifecycle.freezing import freeze, freezer
from lifecycle.heard import HeardStop, key_of
from lifecycle.moment import Moment
from lifecycle.people import stopping
from lifecycle.people.acts import Act, Reviewed, note_ignored, refuse_repeated
from lifecycle.people.membership import heir_of
from lifecycle.ports import RowRefused, RowUnreadable, StoreUnavailable, Transaction
from lifecycle.proposal import ActorKind, Identity
from lifecycle.stops.unspooled import spool_again
from lifecycle.text.masking import harmless, mask_text, plain_words
from lifecycle.world import World

log = logging.getLogger("signoff.workflow")

_SHOWN_ID: Final = 64
REFUSED_ROW: Final = (
    "Nothing was done, and the same again will be refused again; other things can be written. "
    "Tell an operator: somebody changed the database, or this is a fault of Signoff's. The log "
    "says where."
)
#: Nobody need be told of these: the giver knows, or what they wanted has come about.
_KNOWN_ALREADY: Final = frozenset({"duplicate_event", "already_decided"})
_IN_MEMORY: Final = (
    "Neither the store nor the spool can be written. What you stopped is held, and your stop is "
    "carried out as soon as one of them can be: free the disk, or mend what stands in its way, and "
    "let the bot run until then. It is in its memory alone."
)
#: The key that marks the line of a freeze, which names no proposal.
_FREEZES: Final = "freezes"
_KEPT: Final = "spool:"
_EVERYTHING: Final = "everything (freeze)"


@dataclass(slots=True)
class Spooled:
    """The stops that wait for the store.

    `over` are stops that were carried out or refused and whose lines the spool cannot forget yet;
    they are not carried out again.
    """

    world: World
    over: list[Mapping[str, Any]] = field(default_factory=list)

    def keep(self, act: Act, error: StoreUnavailable) -> tuple[Mapping[str, Any], Reply]:
        """Hold the proposal, keep the stop on disk, else in memory; return its line and a reply."""
        stop = self.line(act)
        kept = self._put(stop)
        words = _kept_words(error) if kept else _IN_MEMORY
        return stop, Reply(words, None if kept else "audit_unavailable", act.proposal_id)

    def keep_freeze(self, act: Act, error: StoreUnavailable) -> Reply:
        """Hold everything and keep the freeze on disk, else in memory (ADR 0023)."""
        kept = self._put(self.line(act, freezes=True))
        words = _kept_words(error) if kept else _IN_MEMORY
        return Reply(words, None if kept else "audit_unavailable")

    def _put(self, stop: Mapping[str, Any]) -> bool:
        """Hold first, then write; return False if the stop is in memory alone."""
        self.hold(stop)
        try:
            self.world.spool.keep(stop)
        except OSError:
            log.critical("a stop could be written neither to the store nor to the spool")
            self.world.unspooled.append(stop)
            return False
        return True

    def hold(self, stop: Mapping[str, Any]) -> None:
        """Let nothing that this stop is about begin, commit or close until it is settled."""
        if not is_freeze(stop):
            self.world.held.add(str(stop["proposal_id"]))
            return
        now_ms = self.world.clock.now_ms()
        at_ms = min(now_ms, stop.get("at_ms") or now_ms)
        self.world.heard.add(HeardStop(_key(stop), stop["surface"], at_ms))

    def keeps_freeze(self, *, but: Collection[str]) -> bool:
        """Return whether a freeze waits for the store, without those of the keys `but`. It looks at
        what is held, and so knows even if the spool cannot be read."""
        waiting = (each.key for each in self.world.heard.freezes())
        return any(key.startswith(_KEPT) and key not in but for key in waiting)

    def forget_freezes(self, keys: Collection[str]) -> None:
        """Forget the freezes of these keys, which somebody lifted before they were in force."""
        for stop in self.waiting():
            if is_freeze(stop) and _key(stop) in keys:
                self.settled(stop)

    def line(self, act: Act, *, freezes: bool = False) -> dict[str, Any]:
        """Return the line that is kept of a stop. `heir`, who has the account by now, may be who
        gives it. By the event id the store knows what it has heard before."""
        identity, heir = act.sender.identity, heir_of(act)
        return {
            "proposal_id": act.proposal_id,
            "surface": act.sender.surface,
            "kind": identity.kind.value if identity else None,
            "id": identity.id if identity else None,
            "heir": heir.id if heir else None,
            "heir_kind": heir.kind.value if heir else None,
            "account": plain_words(act.sender.account),
            "event_id": act.sender.event_id or f"spooled:{self.world.nonce()}",
            "reason": act.reason,
            "found_late": act.found_late,
            "at_ms": act.given_at_ms,
            "bare": act.card is not None and not act.reason,
            **({_FREEZES: True} if freezes else {}),
        }

    def waiting(self) -> list[Mapping[str, Any]]:
        """Return the stops that can be carried out: on disk, oldest first, then in memory."""
        try:
            return self._all()
        except OSError:
            self.world.troubles.say_once(
                "the spool cannot be read; what it keeps holds its proposals all the same"
            )
            return [each for each in self.world.unspooled if each not in self.over]

    def _all(self) -> list[Mapping[str, Any]]:
        kept = (*self.world.spool.kept(), *self.world.unspooled)
        return [each for each in kept if each not in self.over]

    def settled(self, kept: Mapping[str, Any]) -> None:
        """Forget a stop that was carried out or refused, and end its hold."""
        with suppress(ValueError):
            self.world.unspooled.remove(kept)
        if is_freeze(kept):
            self.world.heard.drop(_key(kept))
        self.over.append(kept)
        self.tidy()

    def tidy(self) -> None:
        """Write to the spool what is in memory alone and take off it what is over, if possible.

        A stop that is over no longer holds its proposal, unless another stop of it waits.
        """
        spool_again(self.world)
        if not self.over:
            return
        try:
            still = {each["proposal_id"] for each in self._all()}
            self.world.held.difference_update({e["proposal_id"] for e in self.over} - still)
            self.world.spool.forget(self.over)
            self.over.clear()
        except OSError:
            self.world.troubles.say_once(
                "the spool cannot be written; stops that are settled still stand in it"
            )


def carry_out(moment: Moment, kept: Mapping[str, Any], tx: Transaction) -> Reviewed | None:
    """Carry out a stop that waited; return what it led to, None for a freeze. Raises what `stop`
    and `freeze` raise."""
    act = _act_of(kept)
    if is_freeze(kept):
        refuse_repeated(tx, moment, act.sender)
        freeze(tx, moment, freezer(moment, act.sender), act.reason, given_at_ms=act.given_at_ms)
        return None
    reviewed = stopping.stop(tx, moment, act)
    if reviewed.reply.code == "window_closed":
        _tell_of_no_effect(tx, moment, kept, reviewed.reply.words)
    return reviewed


def give_up(
    moment: Moment, kept: Mapping[str, Any], error: GovernanceError, tx: Transaction
) -> None:
    """Write that a stop that waited has no effect; announce it unless its giver knows."""
    note_ignored(tx, moment, _act_of(kept), error.code)
    if error.code not in _KNOWN_ALREADY:
        _tell_of_no_effect(tx, moment, kept, str(error))


def _tell_of_no_effect(tx: Transaction, moment: Moment, kept: Mapping[str, Any], why: str) -> None:
    act = _act_of(kept)
    proposal_id, sender = mask_text(act.proposal_id[:_SHOWN_ID]), act.sender
    of = _EVERYTHING if is_freeze(kept) else repr(proposal_id)
    who = sender.identity or repr(sender.account)
    words = (
        f"The stop of {of} by {who}, which was kept while nothing could be stored, has no effect: "
        f"{why}"
    )
    announce(tx, moment, f"spooled:{sender.event_id}:{proposal_id}:{act.given_at_ms}", words)


def held_words(world: World) -> str | None:
    """Say which proposals wait until somebody's stop is carried out; None if there are none."""
    return _held_words(bool(world.heard.freezes()), world.held | world.heard.ids())


def spooled_words(stops: Collection[Mapping[str, Any]]) -> str | None:
    """Say the same from the lines of a spool, for a process other than the bot, such as the CLI."""
    named = {str(stop["proposal_id"]) for stop in stops if not is_freeze(stop)}
    return _held_words(any(map(is_freeze, stops)), named)


def _held_words(freezes: bool, proposal_ids: Collection[str]) -> str | None:
    # An id is what somebody typed behind the command, whatever that was.
    shown = sorted({harmless(each)[:_SHOWN_ID] for each in proposal_ids})
    held = (*((_EVERYTHING,) if freezes else ()), *shown)
    return f"Held, until a stop can be carried out: {', '.join(held)}" if held else None


def _kept_words(error: StoreUnavailable) -> str:
    if isinstance(error, RowUnreadable):
        return (
            f"Kept: {error} What you stopped stands still, and that is carried out as soon as the "
            "row can be read. Tell an operator: somebody changed the database."
        )
    if isinstance(error, RowRefused):
        return (
            f"Kept: {error} What you stopped stands still, and that is carried out as soon as the "
            "row is taken. Tell an operator: somebody changed the database, and the log says where."
        )
    return (
        "Kept: the store cannot be written now; nothing executes, commits or closes, and your "
        "stop is carried out as soon as it can be."
    )


def is_freeze(stop: Mapping[str, Any]) -> bool:
    """Return whether this line of the spool is a freeze, and not the stop of one proposal."""
    return stop.get(_FREEZES) is True


def said_of(stop: Mapping[str, Any]) -> str:
    """Return what a line stops, for the log."""
    return "a freeze" if is_freeze(stop) else str(stop["proposal_id"])


def _key(freeze: Mapping[str, Any]) -> str:
    """Return the key under which a kept freeze holds everything; no inbox uses one that begins so.

    It is plain text, for it stands in the trail if somebody lets go of it.
    """
    return _KEPT + plain_words(key_of(freeze["surface"], freeze.get("event_id") or ""))


def _act_of(stop: Mapping[str, Any]) -> Act:
    """Return the act that was kept."""
    kind, heir = ActorKind(stop["kind"]) if stop.get("kind") else None, stop.get("heir")
    heir_kind = ActorKind(stop.get("heir_kind") or ActorKind.PERSON)
    sender = Sender(
        surface=stop["surface"],
        kind=kind,
        id=stop.get("id"),
        account=stop.get("account", ""),
        event_id=stop.get("event_id"),
        heir=Identity(heir_kind, heir) if heir else None,
    )
    return Act(
        stop["proposal_id"],
        sender,
        stop.get("reason", ""),
        found_late=stop.get("found_late", False),
        given_at_ms=stop.get("at_ms"),
        bare=stop.get("bare", False),
    )


def unavailable(proposal_id: str | None = None, error: StoreUnavailable | None = None) -> Reply:
    """Return the word to a person whose act could not be written; it is `passing` if the store
    fails, and not one row."""
    if isinstance(error, RowUnreadable):
        words = f"{error} Nothing was done. Tell an operator: somebody changed the database."
        return Reply(words, "digest_mismatch", proposal_id)
    if isinstance(error, RowRefused):
        words = f"{error} {REFUSED_ROW}"
        return Reply(words, "audit_unavailable", proposal_id)
    stands = "everything" if proposal_id is None else "the proposal"
    return Reply(
        f"The audit trail cannot be written, so nothing was done; {stands} stands as it was. "
        "Try again, and tell an operator.",
        "audit_unavailable",
        proposal_id,
        passing=True,
    )
