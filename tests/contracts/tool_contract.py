"""What every tool owes the law, whatever its kind; a test module a kind says how one is made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pytest

from lifecycle.calls.calling import CallResult, call_tool
from lifecycle.ports import Call, Tool
from lifecycle.proposal import Outcome


class Bench(Protocol):
    """A tool that works, and the world it changes."""

    tool: Tool
    parameters: Mapping[str, Any]
    #: Parameters with which execute must fail, having done nothing.
    failing: Mapping[str, Any]

    def acts(self) -> int:
        """How often the tool has changed the world for good."""

    def staged(self) -> int:
        """How much lies ready, or can still be taken back."""


@dataclass(frozen=True)
class Kind:
    """What a kind of tool can do."""

    reversible: bool
    deferred: bool
    idempotent: bool


def call(bench: Bench, verb: str, receipt: Mapping[str, Any] | None = None, **change: Any) -> Call:
    """Return the call of a verb as the law makes it."""
    made = Call(
        verb=verb,
        proposal_id="p1",
        digest="sha256:aa",
        idempotency_key=f"p1:{verb}:1",
        tool="the-tool",
        target={"resource_type": "x", "resource_id": "y", "domain": "z", "constraints": {}},
        parameters=bench.parameters,
        receipt=receipt,
        permit="body.k1.signature",
        limit_s=20,
    )
    return replace(made, **change)


async def done(bench: Bench, verb: str, receipt: Mapping[str, Any] | None = None) -> CallResult:
    """Call a verb that must succeed."""
    result = await call_tool(bench.tool, call(bench, verb, receipt))
    assert result.outcome is Outcome.DONE, result.explanation
    return result


class ToolContract:
    """Inherit, set `kind`, and give a fixture `bench`."""

    kind: Kind

    async def test_execute_and_commit_act_exactly_once(self, bench):
        executed = await done(bench, "execute")
        assert bench.acts() == (0 if self.kind.deferred else 1)

        await done(bench, "commit", executed.receipt)

        assert bench.acts() == 1

    async def test_roll_back_leaves_nothing(self, bench):
        executed = await done(bench, "execute")
        result = await call_tool(bench.tool, call(bench, "roll_back", executed.receipt))

        if not self.kind.reversible:
            assert result.outcome is Outcome.FAILED
            return
        assert (result.outcome, result.still_stands) == (Outcome.DONE, ())
        assert (bench.acts(), bench.staged()) == (0, 0)

    async def test_a_second_roll_back_finds_nothing_to_do(self, bench):
        if not self.kind.reversible:
            pytest.skip("this kind takes nothing back")
        executed = await done(bench, "execute")
        await done(bench, "roll_back", executed.receipt)

        again = await done(bench, "roll_back", executed.receipt)

        assert again.still_stands == ()

    async def test_the_same_key_again_acts_once(self, bench):
        if not self.kind.idempotent:
            pytest.skip("this kind does not recognise a repeat by itself")
        first = await done(bench, "execute")
        second = await done(bench, "execute")
        assert first.receipt == second.receipt

        await done(bench, "commit", first.receipt)
        await done(bench, "commit", first.receipt)

        assert bench.acts() == 1

    async def test_a_failure_leaves_nothing(self, bench):
        result = await call_tool(bench.tool, call(bench, "execute", parameters=bench.failing))

        assert result.outcome is Outcome.FAILED
        assert (bench.acts(), bench.staged()) == (0, 0)

    async def test_the_call_is_not_changed(self, bench):
        asked = call(bench, "execute")
        before = asked.as_json()

        await call_tool(bench.tool, asked)

        assert asked.as_json() == before

    async def test_calls_do_not_stand_in_each_others_way(self, bench):
        calls = [
            call(bench, "execute", proposal_id=f"p{n}", idempotency_key=f"p{n}:execute:1")
            for n in range(5)
        ]

        results = await asyncio.gather(*(call_tool(bench.tool, one) for one in calls))

        assert {result.outcome for result in results} == {Outcome.DONE}
