"""Answers `status`: surfaces, policy, freeze, what needs attention (design section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.chat.cards.neutral import neutral
from bot.chat.cards.spans import moment_words
from bot.chat.commands.replies import CommandReply, Table
from bot.views import count_pending
from lifecycle.clockwork.clocks import clock_moved
from lifecycle.freezing import frozen
from lifecycle.policy import Policy
from lifecycle.ports import RowUnreadable, StoreUnavailable, Transaction

_MOST: Final = 20
_WAITS: Final = "A freeze waits to be put in force; nothing executes, commits or closes meanwhile"


def status_reply(
    tx: Transaction,
    policy: Policy,
    now_ms: int,
    health: Sequence[str] = (),
    *,
    freeze_waits: bool = False,
) -> CommandReply:
    """Return how the bot stands; this is a view.

    `health` are the surfaces' own lines. `freeze_waits` says that a freeze was given and is not in
    force yet.
    """
    seq, head = tx.audit.head()
    blocks: list[str | Table] = [
        f"Signoff at {moment_words(now_ms)}",
        *health,
        f"Policy {policy.digest or 'of a config that no bot can start with'}",
        _freeze_words(tx, freeze_waits),
        f"{count_pending(tx, now_ms)} pending, {tx.proposals.count_executing()} executing",
        f"Audit: {seq} entries, head {head}",
    ]
    if moved := clock_moved(tx, now_ms):
        blocks.append(moved)
    if policy.solo_operator:
        blocks.append("solo_operator is on: owners may approve what their agents propose")
    blocks.append(_attention(tx))
    return CommandReply(tuple(blocks))


def unread_reply(
    error: StoreUnavailable, policy: Policy, now_ms: int, health: Sequence[str] = ()
) -> CommandReply:
    """Return what can be told if the store cannot be read, for then people ask most of all."""
    return CommandReply(
        (
            f"Signoff at {moment_words(now_ms)}",
            *health,
            f"Policy {policy.digest or 'of a config that no bot can start with'}",
            f"What waits, is frozen or needs a person cannot be read now. {error}",
        ),
        code="digest_mismatch" if isinstance(error, RowUnreadable) else "audit_unavailable",
    )


def _freeze_words(tx: Transaction, waits: bool) -> str:
    freeze = frozen(tx)
    if freeze is None:
        return _WAITS if waits else "Not frozen"
    why = neutral(str(freeze.get("reason", ""))).text
    return f"FROZEN by {freeze.get('by')} since {moment_words(int(freeze['at_ms']))}: {why}"


def _attention(tx: Transaction) -> str | Table:
    found = tx.proposals.with_attention(_MOST + 1)
    if not found:
        return "Nothing needs a person's attention"
    rows = tuple(
        (each.proposal_id, str(each.attention), neutral(each.attention_why or "—").text)
        for each in found[:_MOST]
    )
    more = f" (the {_MOST} oldest; there are more)" if len(found) > _MOST else ""
    return Table(f"Needs a person{more}", ("id", "attention", "why"), rows, remedies=True)
