"""Words to an agent's `callback_url`: kept in the outbox until they have arrived."""

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
    """Keep a word for a proposer where the proposal came from; `key` makes it once."""
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
    """Keep a word for an agent that has a `callback_url`; for anyone else there is nothing to do.

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
