"""Define the door, with which every operation of the HTTP door works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request

from bot.intake.http.auth import Strangers, Tokens
from bot.intake.http.marks import mark_of
from bot.intake.http.metrics import Metrics
from bot.intake.http.places import Places
from bot.intake.http.turns import Turns
from bot.intake.http.waiting import Heard, Waiting
from lifecycle.answers import Sender
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore, Transaction
from lifecycle.proposal import ActorKind, Proposal
from lifecycle.workflow import Workflow

T = TypeVar("T")


@dataclass(slots=True)
class Door:
    """The workflow behind the door, the tokens of those who may speak, and those who wait."""

    workflow: Workflow
    tokens: Tokens
    waiting: Waiting
    metrics: Metrics
    strangers: Strangers = field(default_factory=Strangers)
    turns: Turns = field(default_factory=Turns)
    places: Places = field(default_factory=Places)

    @classmethod
    def to(cls, workflow: Workflow, environment: Mapping[str, str]) -> Door:
        """Build a door to `workflow`; from now on its notifier wakes those who wait."""
        world = workflow.world
        waiting = Waiting(world.store, mark_of(world.clock.now_ms))
        world.notifier = Heard(world.notifier, waiting.heard)
        tokens = Tokens(lambda: workflow.policy, environment)
        return cls(workflow, tokens, waiting, Metrics(workflow))

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.workflow.policy

    @property
    def store(self) -> ProposalStore:
        """The store, for reading."""
        return self.workflow.world.store

    @property
    def public_url(self) -> str:
        """The address under which agents reach the door."""
        return self.workflow.world.public_url.rstrip("/")

    def sender(self, incoming: Request) -> Sender | None:
        """Return the sender, None if unknown or if the message has two Authorization headers.

        A proxy before us may have judged by one of them, and we would by the other.
        """
        given = incoming.headers.getlist("authorization")
        return self.tokens.sender(given[0]) if len(given) == 1 else None

    def speaks(self, incoming: Request, sender: Sender) -> bool:
        """Return True if this is still `sender`; a reload may have removed them."""
        return self.sender(incoming) == sender

    def ends(self) -> bool:
        """Return True if the bot ends, and this door with it."""
        return self.waiting.closed

    async def turned_away(self, sender: Sender | None) -> None:
        """Write down that somebody who is no agent wanted to propose; strangers share an entry (ADR
        0014)."""
        written = sender or self.strangers.came(self.now_ms())
        if written is not None:
            await self.workflow.submit(b"", written)

    def now_ms(self) -> int:
        """Return the time of the bot's clock."""
        return self.workflow.world.clock.now_ms()


def own(tx: Transaction, proposal_id: str, sender: Sender) -> Proposal | None:
    """Return the sender's own proposal with this id; None also for somebody else's."""
    found = tx.proposals.get(proposal_id)
    return found if found is not None and found.actor == sender.identity else None


def is_agent(sender: Sender) -> bool:
    """Return True if an agent speaks; a source sees no proposals."""
    return sender.kind is ActorKind.AGENT
