"""The ports are interfaces through which the law reaches the store, the tools and the surfaces.

The bot implements them; `lifecycle` knows nothing of the platforms and the database behind them.
The books of a transaction stand in `books` and `proposal_book`, and are imported from here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from lifecycle.books import (
    AuditTrail,
    Backlog,
    Cards,
    EvidenceBook,
    Flags,
    Outbox,
    Permits,
    Reviews,
    Spending,
    Transaction,
    Uses,
)
from lifecycle.proposal_book import Proposals
from lifecycle.review import Absent

__all__ = [
    "AuditTrail",
    "Backlog",
    "Call",
    "Cards",
    "Clock",
    "EvidenceBook",
    "Flags",
    "Notifier",
    "Outbox",
    "Permits",
    "ProposalStore",
    "Proposals",
    "Reviews",
    "RowAtFault",
    "RowChanged",
    "RowRefused",
    "RowUnreadable",
    "Spending",
    "Spool",
    "StoreClosed",
    "StoreUnavailable",
    "Tool",
    "ToolDoubtful",
    "ToolFailed",
    "Toolbox",
    "Transaction",
    "Uses",
]

T = TypeVar("T")


class StoreUnavailable(Exception):
    """The store could not commit or read; nothing of the unit has happened."""


class StoreClosed(StoreUnavailable):
    """The process ends and the store serves nobody any more; nothing is wrong with the store."""


class RowAtFault(StoreUnavailable):
    """One row makes this unit alone fail; the store itself is well."""


class RowUnreadable(RowAtFault):
    """One row was changed by hand into what no record can be; everything else can be read."""


class RowChanged(RowAtFault):
    """One row is not as this unit saw it; the store itself can be written."""


class RowRefused(RowAtFault):
    """The store refuses a row of this unit because of its content, and would refuse it again."""


class ProposalStore(Protocol):
    """The database behind all books: one writer, many readers.

    A unit is a function that is given the books; it runs whole in one transaction or not at all. A
    view is a function that only reads.
    """

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` in a transaction and return its value once that is durable.

        `unit` runs on the writer's thread (with the memory store: on the event loop). It must not
        await or touch asyncio objects; what it reads of live objects such as `World` may change
        under it. The store runs it once; it runs again only if its caller says so, as
        `Units.write_until_taken` does. If the caller is cancelled, the unit may still be written.

        Units run, and are answered, in the order in which they were handed over: that order alone
        tells which of two people was first. If the unit raises, it alone is undone, and the
        exception is raised here. StoreUnavailable means that the store itself failed and nothing of
        the unit remains.
        """

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run `view` on a consistent snapshot and return its value; it must not write.

        It runs on a reader's thread (with the memory store: on the event loop), and the same holds
        for it as for a unit. Raises StoreUnavailable if the store cannot be read, or the view
        writes.
        """

    async def close(self) -> None:
        """Finish what was accepted and let go of the file; then every call raises StoreClosed."""


class Clock(Protocol):
    """The time, in UTC, and waiting; tests replace it by a clock that they move."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, never moving backwards within a process."""

    async def sleep(self, seconds: float) -> None:
        """Wait; a fake clock returns when it is told."""


class ToolFailed(Exception):
    """The tool failed and left nothing behind; people read its words."""


class ToolDoubtful(Exception):
    """Nobody knows whether the tool acted; people read its words, like those of ToolFailed."""


@dataclass(frozen=True, slots=True)
class Call:
    """All that a tool is told about one call. It is read from the stored bytes; nothing is added.

    `limit_s` is how many seconds the call may take; `permit` is the token that it is made under.
    """

    verb: str
    proposal_id: str
    digest: str
    idempotency_key: str
    tool: str
    target: Mapping[str, Any]
    parameters: Mapping[str, Any]
    receipt: Mapping[str, Any] | None
    permit: str
    limit_s: float

    def as_json(self) -> dict[str, Any]:
        """Return the object that webhook and command tools are sent."""
        return {
            "verb": self.verb,
            "proposal_id": self.proposal_id,
            "digest": self.digest,
            "idempotency_key": self.idempotency_key,
            "tool": self.tool,
            "target": dict(self.target),
            "parameters": dict(self.parameters),
            "receipt": dict(self.receipt) if self.receipt is not None else None,
        }


class Tool(Protocol):
    """What acts on the world, by one method for each verb.

    ToolFailed means that nothing is left behind; after any other error nobody knows what was done.
    """

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Act, or stage what commit will carry out; return the receipt."""

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Carry out what was staged; a tool that acted at once does nothing here."""

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Take back what `call.receipt` names; `still_stands` in the answer lists what remains."""


@runtime_checkable
class HandedSecrets(Protocol):
    """A tool to which its config hands secrets, which it may repeat to nobody."""

    def secrets_handed(self) -> tuple[str, ...]:
        """Return them; they are masked in what people and agents read of its answers."""


class Toolbox(Protocol):
    """The tools by name."""

    def tool(self, name: str) -> Tool:
        """Return the tool of this name; KeyError if the config does not know it."""

    def real_path(self, path: str) -> str:
        """Return the real path of `path`, all links followed."""

    def describe(self, name: str) -> Mapping[str, Any]:
        """Return the defaults that the tool adds by config, for the card; no secrets."""


class Notifier(Protocol):
    """The surfaces as the law sees them; no method raises because a platform fails."""

    def nudge(self) -> None:
        """Tell the surfaces that cards or messages may be waiting for them; returns at once."""

    def surfaces(self) -> tuple[str, ...]:
        """Return the names of the configured surfaces."""

    def alert(self, words: str) -> None:
        """Say these words on every surface now, without the store; returns at once."""

    async def read_cards(self, proposal_id: str) -> bool:
        """Read the proposal's cards on all surfaces and apply the decisions found there.

        Returns True if at least one surface was read, or has missed nothing.
        """

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[Absent]:
        """Return which of these people are a member on no surface: they left, are banned, or cannot
        be read; and of which surfaces their account is none. Whoever has an account on none is not
        among them.

        With `only_certain` those whose membership merely cannot be read are left out (ADR 0011).
        """

    async def catch_up(self) -> int:
        """Read what platforms kept while nobody listened; return how many decisions that were."""

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        """Hear every ❌ on the proposal's cards on surfaces that may have missed one, `but` one
        surface.

        Returns False if one of them cannot be heard yet, so that the caller must wait.
        """


class Spool(Protocol):
    """Stops that the store could not take: kept on disk until it can (design section 10)."""

    def keep(self, stop: Mapping[str, Any]) -> None:
        """Append one stop and force it to disk; raises OSError, and then nothing of it is kept."""

    def keep_all(self, stops: Sequence[Mapping[str, Any]]) -> None:
        """Append these stops as one; raises OSError, and then none of them is kept."""

    def kept(self) -> Sequence[Mapping[str, Any]]:
        """Return the stops that wait, oldest first; raises OSError."""

    def forget(self, stops: Collection[Mapping[str, Any]]) -> None:
        """Forget these stops, which are in the store now; raises OSError, and may have or not."""
