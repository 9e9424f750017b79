"""Count for Prometheus from the audit trail: what it tells is what is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bot.surfaces_kept import deaf_names
from lifecycle.event_kinds import EventKind
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.workflow import Workflow

_PAGE: Final = 500
#: Pages read before an answer, which takes some seconds at most; the rest is read in a task.
_PAGES_AT_ONCE: Final = 100
_MOST_ATTENTION: Final = 1000
_ENDS: Final = frozenset({State.COMPLETED, State.ROLLED_BACK, State.REJECTED})
_BUCKETS_S: Final = (0.01, 0.1, 1, 10, 60, 300, 900, 3600, 14_400, 86_400)


class Metrics:
    """Reads the trail on from where it stopped, whenever the numbers are asked for.

    After a start the trail is read from its beginning, a minute or two for a million proposals.
    Numbers of proposals that need a person come with the first answer, those of the trail once all
    of it is counted.
    """

    def __init__(self, workflow: Workflow) -> None:
        """Count nothing yet."""
        self._workflow = workflow
        self._after = 0
        self._open: dict[str, tuple[str, str, float]] = {}
        self._lock = asyncio.Lock()
        self._past: asyncio.Task[None] | None = None
        self._told, self._present = CollectorRegistry(), CollectorRegistry()
        self._build_told(self._told)
        self._build_present(self._present)

    def _build_told(self, registry: CollectorRegistry) -> None:
        self._states = Gauge(
            "signoff_proposals", "Proposals by state and tier", ["state", "tier"], registry=registry
        )
        self._decisions = Counter(
            "signoff_decisions", "Ends by state and reason", ["state", "reason"], registry=registry
        )
        self._time = Histogram(
            "signoff_decision_seconds",
            "Seconds from submission to the end",
            ["tier"],
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._findings = Counter(
            "signoff_findings",
            "Findings of Sentinel by rule and code",
            ["rule", "code"],
            registry=registry,
        )
        self._refused = Counter(
            "signoff_refused_documents", "Documents refused at intake", ["code"], registry=registry
        )

    def _build_present(self, registry: CollectorRegistry) -> None:
        self._attention = Gauge(
            "signoff_attention", "Proposals that need a person", ["attention"], registry=registry
        )
        self._overdue = Gauge(
            "signoff_overdue_windows", "Windows whose closing is late", registry=registry
        )
        self._surfaces = Gauge(
            "signoff_surface", "1 for each configured surface", ["surface"], registry=registry
        )
        self._deaf = Gauge(
            "signoff_deaf_surface",
            "1 for a surface that hears nothing",
            ["surface"],
            registry=registry,
        )

    async def text(self) -> bytes:
        """Return the numbers in the text format; raises StoreUnavailable."""
        whole = await self._counted()
        await self._look()
        told = generate_latest(self._told) if whole else b""
        return told + generate_latest(self._present)

    async def _counted(self) -> bool:
        """Read on; return True if all of the trail is counted."""
        async with self._lock:
            if self._past is not None and not self._past.done():
                return False
            if self._past is not None:
                past, self._past = self._past, None
                past.result()  # raises here what it met
            for _ in range(_PAGES_AT_ONCE):
                if not await self._read_page():
                    return True
            self._past = asyncio.create_task(self._read_past())
            return False

    async def _read_past(self) -> None:
        """Read the rest in a task, which nobody waits for."""
        with suppress(StoreUnavailable):  # the next request reads on
            while not self._workflow.world.ending and await self._read_page():
                pass

    async def _read_page(self) -> bool:
        """Count the next page; return False if nothing comes after it."""
        page = await self._page()
        for entry in page:
            self._count(entry)
            self._after = int(entry["seq"])
        return len(page) == _PAGE

    async def _page(self) -> Sequence[Mapping[str, Any]]:
        after = self._after
        return await self._workflow.world.store.read(lambda tx: tx.audit.exported(after, _PAGE))

    async def _look(self) -> None:
        world = self._workflow.world
        now_ms = world.clock.now_ms()
        troubled = await world.store.read(lambda tx: tx.proposals.with_attention(_MOST_ATTENTION))
        for each in Attention:
            count = sum(proposal.attention is each for proposal in troubled)
            self._attention.labels(each.value).set(count)
        late = await world.store.read(lambda tx: tx.proposals.due_to_close(now_ms, _MOST_ATTENTION))
        self._overdue.set(len(late))
        deaf = await world.store.read(deaf_names)
        for surface in world.notifier.surfaces():
            self._surfaces.labels(surface).set(1)
            self._deaf.labels(surface).set(surface in deaf)

    def _count(self, entry: Mapping[str, Any]) -> None:
        details = entry.get("details") or {}
        for rule, findings in (details.get("rules") or {}).items():
            for finding in findings:
                self._findings.labels(rule, finding["code"]).inc()
        if entry["kind"] == EventKind.REFUSED:
            self._refused.labels(entry["reason"]).inc()
        if entry.get("to") is not None and entry.get("proposal_id") is not None:
            self._move(entry, details)

    def _move(self, entry: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        proposal_id, at_s = str(entry["proposal_id"]), _seconds(entry["at"])
        state, tier, since_s = self._open.pop(proposal_id, ("", "", at_s))
        if state:
            self._states.labels(state, tier).dec()
        tier, target = str(details.get("tier") or tier), str(entry["to"])
        self._states.labels(target, tier).inc()
        if target in _ENDS:
            self._decisions.labels(target, str(entry.get("reason"))).inc()
            self._time.labels(tier).observe(max(0.0, at_s - since_s))
        else:
            self._open[proposal_id] = (target, tier, since_s)


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
