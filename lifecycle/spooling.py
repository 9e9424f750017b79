"""A stop that the store cannot take: kept on disk, and the proposal held meanwhile (section 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lifecycle.acts import Act, plain_words
from lifecycle.answers import Reply, Sender
from lifecycle.ports import RowUnreadable, StoreUnavailable
from lifecycle.proposal import ActorKind
from lifecycle.world import World, log


def spool(world: World, act: Act, error: StoreUnavailable) -> Reply:
    """Keep a stop on disk and hold its proposal at once."""
    identity = act.sender.identity
    stop: dict[str, Any] = {
        "proposal_id": act.proposal_id,
        "surface": act.sender.surface,
        "kind": identity.kind.value if identity else None,
        "id": identity.id if identity else None,
        "account": plain_words(act.sender.account),
        "event_id": act.sender.event_id,
        "reason": act.reason,
        "at_ms": world.clock.now_ms(),
    }
    try:
        world.spool.keep(stop)
    except OSError:
        log.critical("a stop could be written neither to the store nor to the spool")
        world.held.add(act.proposal_id)
        world.unspooled.append(stop)
        return Reply(
            "Neither the store nor the spool can be written. The proposal is held, and your stop "
            "is carried out as soon as one of them can be: free the disk, and let the bot run "
            "until then. It is in its memory alone.",
            "audit_unavailable",
            act.proposal_id,
        )
    world.held.add(act.proposal_id)
    return Reply(_kept_words(error), None, act.proposal_id)


def spool_again(world: World) -> None:
    """Bring to the disk what neither the store nor the spool could take."""
    while world.unspooled:
        try:
            world.spool.keep(world.unspooled[0])
        except OSError:
            return
        del world.unspooled[0]


def held_words(world: World) -> str | None:
    """Say which proposals wait for somebody's stop to be carried out, None where none does."""
    if not world.held:
        return None
    return f"Held, until a stop can be carried out: {', '.join(sorted(world.held))}"


def _kept_words(error: StoreUnavailable) -> str:
    if isinstance(error, RowUnreadable):
        return (
            f"Kept: {error} The proposal stands still, and your stop is carried out as soon as the "
            "row can be read. Tell an operator: somebody changed the database."
        )
    return (
        "Kept: the store cannot be written now; nothing executes, commits or closes, and your "
        "stop is carried out as soon as it can be."
    )


def act_of(stop: Mapping[str, Any]) -> Act:
    """Return the act that was kept."""
    kind = ActorKind(stop["kind"]) if stop.get("kind") else None
    sender = Sender(
        surface=stop["surface"],
        kind=kind,
        id=stop.get("id"),
        account=stop.get("account", ""),
        event_id=stop.get("event_id"),
    )
    return Act(stop["proposal_id"], sender, stop.get("reason", ""))


def unavailable(proposal_id: str | None = None, error: StoreUnavailable | None = None) -> Reply:
    """Return the word to a person whose act could not be written."""
    if isinstance(error, RowUnreadable):
        words = f"{error} Nothing was done. Tell an operator: somebody changed the database."
        return Reply(words, "digest_mismatch", proposal_id)
    return Reply(
        "The audit trail cannot be written, so nothing was done; the proposal stands as it was. "
        "Try again, and tell an operator.",
        "audit_unavailable",
        proposal_id,
    )
