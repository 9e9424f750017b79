"""Puts messages to proposers, and to the `callback_url` of an agent, into the outbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.moment import Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import Message

#: The surface under which the outbox keeps them.
SURFACE: Final = "callback"


def tell(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    key: str,
    kind: str,
    body: Mapping[str, Any],
    *,
    not_before_ms: int = 0,
) -> None:
    """Keep a message for the proposer on the surface of the proposal; `key` makes it once."""
    tx.outbox.add(
        Message(
            key=key,
            surface=proposal.surface,
            recipient=proposal.actor.id,
            kind=kind,
            body=body,
            created_at_ms=moment.now_ms,
            proposal_id=proposal.proposal_id,
            not_before_ms=not_before_ms,
        )
    )


def call_back(
    tx: Transaction,
    moment: Moment,
    recipient: str,
    key: str,
    kind: str,
    body: Mapping[str, Any],
    proposal_id: str | None = None,
) -> None:
    """Keep a message for an agent that has a `callback_url`; do nothing for anyone else.

    `key` makes it once.
    """
    agent = moment.policy.agents.get(recipient)
    if agent is None or agent.callback_url is None:
        return
    tx.outbox.add(
        Message(
            key=f"{SURFACE}:{key}",
            surface=SURFACE,
            recipient=recipient,
            kind=kind,
            body=body,
            created_at_ms=moment.now_ms,
            proposal_id=proposal_id,
        )
    )
