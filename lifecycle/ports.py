"""The ports: what the law needs of the world. Every method is one sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

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
    "Spending",
    "Spool",
    "StoreUnavailable",
    "Tool",
    "ToolFailed",
    "Toolbox",
    "Transaction",
    "Uses",
]

T = TypeVar("T")


class StoreUnavailable(Exception):
    """The store could not commit or read; nothing of the unit has happened."""


class StoreClosed(StoreUnavailable):
    """The process ends, and the store serves nobody any more: nothing is wrong with it."""


class RowAtFault(StoreUnavailable):
    """One row stands in the way of this unit alone; the store itself is well."""


class RowUnreadable(RowAtFault):
    """One row holds what no record can be, changed by hand; everything else can be read."""


class RowChanged(RowAtFault):
    """One row is not what this unit saw of it; the store itself can be written."""


class RowRefused(RowAtFault):
    """The store refuses a row of this unit for what stands in it, and would refuse it again."""


class ProposalStore(Protocol):
    """One writer, many readers. A unit runs whole in one transaction or not at all."""

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` in a transaction and return its value once that is durable.

        Units run, and are answered, in the order in which they were handed over: which of two
        people was first is known by that alone. An exception of the unit undoes it alone and is
        raised here; StoreUnavailable where the store itself failed.
        """

    async def read(self, view: Callable[[Transaction], T]) -> T:
        """Run `view` on a consistent snapshot; it must not write."""

    async def close(self) -> None:
        """Finish what was accepted and let go of the file."""


class Clock(Protocol):
    """Time, in UTC."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, never moving backwards within a process."""

    async def sleep(self, seconds: float) -> None:
        """Wait; a fake clock returns when it is told."""


class ToolFailed(Exception):
    """The tool failed and left nothing behind."""


class ToolDoubtful(Exception):
    """Nobody knows whether the tool acted; its words are for people, as those of ToolFailed."""


@dataclass(frozen=True, slots=True)
class Call:
    """All that a tool is told; read from the stored bytes, nothing is added."""

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
    extra: Mapping[str, Any] = field(default_factory=dict)

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
    """What acts on the world.

    ToolFailed means that nothing is left behind; any other error, that nobody knows.
    """

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Act, or stage what commit will carry out; return the receipt."""

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Carry out what was staged; a tool that acted at once does nothing here."""

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Take back what `call.receipt` names; `still_stands` in the answer lists what remains."""


class Toolbox(Protocol):
    """The tools by name."""

    def tool(self, name: str) -> Tool:
        """Return the tool; KeyError where the config does not know it."""

    def real_path(self, path: str) -> str:
        """Return the real path of `path`, all links followed."""

    def describe(self, name: str) -> Mapping[str, Any]:
        """Return the defaults that the tool adds by config, for the card; no secrets."""


class Notifier(Protocol):
    """The surfaces seen from the law; no method raises for a platform's fault."""

    def nudge(self) -> None:
        """Say that cards or messages may be waiting; returns at once."""

    def surfaces(self) -> tuple[str, ...]:
        """Return the names of the configured surfaces."""

    def alert(self, words: str) -> None:
        """Say something on every surface now, without the store; returns at once."""

    async def read_cards(self, proposal_id: str) -> bool:
        """Apply decisions found on the cards; True where one surface was read or had no gap."""

    async def lost_members(self, people: Iterable[str], *, surely: bool = False) -> frozenset[str]:
        """Return who left, is banned or cannot be read; `surely`: not the last (ADR 0011)."""

    async def catch_up(self) -> int:
        """Read what the surfaces kept while nobody listened; return how many decisions it had."""

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        """Hear what stands under ❌ on every surface in a gap `but` one; False where not yet."""


class Spool(Protocol):
    """Stops that the store could not take, kept on disk until it can."""

    def keep(self, stop: Mapping[str, Any]) -> None:
        """Append one stop and force it to disk."""

    def kept(self) -> Sequence[Mapping[str, Any]]:
        """Return the stops that wait."""

    def forget(self, stops: Collection[Mapping[str, Any]]) -> None:
        """Forget these stops, which are in the store now; raises OSError, and may have or not."""
