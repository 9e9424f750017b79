"""AAP: one call is one proposal, one use and one report, whatever the door or the failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agentapprovalprotocol import AsyncClient
from agentapprovalprotocol._client import AAPError, ConflictError

from bot.intake.aap import denials
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Outcome
from lifecycle.state import State
from tests.bot.intake.conftest import Outside
from tests.bot.intake.held_write import held_write
from tests.bot.intake.published import ARGUMENTS, CALL, decided, in_real_time, published_client


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Outside]:
    """The stage in real time, in place of the one with a fake clock."""
    async with in_real_time(tmp_path) as stage:
        yield stage


@pytest.fixture
async def aap(outside: Outside) -> AsyncIterator[AsyncClient]:
    async with published_client(outside) as client:
        yield client


async def test_a_key_stands_for_one_call(aap) -> None:
    submission = {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": "10m"}
    one = await aap.create(submission, "k1")
    assert (await aap.create(submission, "k1")).id == one.id
    with pytest.raises(ConflictError) as caught:
        await aap.create(submission | {"timeout": "11m"}, "k1")
    assert caught.value.code == "idempotency_conflict"
    assert one.arguments == ARGUMENTS
    assert (one.deadline_at - one.created_at).total_seconds() == 600


async def test_a_use_has_one_key(outside, aap) -> None:
    submission = {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": "10m"}
    asked = await aap.create(submission, "k1")
    twin = await aap.create(submission, "k2")
    with pytest.raises(ConflictError) as early:
        await aap.consume(asked.id, "u1")
    assert early.value.code == "not_approved"
    await decided(outside, "ana")
    uses = await asyncio.gather(
        *(aap.consume(asked.id, f"u{number}") for number in range(5)), return_exceptions=True
    )
    assert sum(not isinstance(use, Exception) for use in uses) == 1
    used = next(number for number, use in enumerate(uses) if not isinstance(use, Exception))
    assert (await aap.consume(asked.id, f"u{used}")).consumption is not None
    with pytest.raises(ConflictError) as late:
        await aap.consume(twin.id, "u9")
    assert late.value.code == "already_consumed"
    trail = await outside.world.trail(asked.id)
    assert trail.count("execute") == 1


async def through_http(outside: Outside, proposal_id: str) -> int:
    """Redeem the permit at the HTTP door; return the status."""
    async with outside.client() as client:
        seen = (await client.get(f"/v1/proposals/{proposal_id}")).json()
        body = {"permit": seen["permit"], "parameters": ARGUMENTS}
        return (await client.post(f"/v1/proposals/{proposal_id}/redeem", json=body)).status_code


async def test_an_approval_used_at_another_door_is_used(outside, aap) -> None:
    asked = await aap.create(CALL, "k1")
    proposal_id = await decided(outside, "ana")
    assert await through_http(outside, proposal_id) == 200

    with pytest.raises(ConflictError) as refused:
        await aap.consume(asked.id, "u1")

    assert refused.value.code == "already_consumed"


async def test_doors_that_race_for_one_approval_begin_it_once(outside, aap) -> None:
    asked = await aap.create(CALL, "k1")
    proposal_id = await decided(outside, "ana")

    async def through_aap() -> int:
        try:
            await aap.consume(asked.id, "u1")
        except ConflictError:
            return 409
        return 200

    both = await asyncio.gather(through_aap(), through_http(outside, proposal_id))

    assert sorted(both) == [200, 409]


async def test_only_the_call_that_used_the_approval_reports_on_it(outside, aap) -> None:
    used = await aap.create(CALL, "k1")
    other = await aap.create({**CALL, "agent_reasoning": "another run of the same"}, "k2")
    proposal_id = await decided(outside, "ana")
    await aap.consume(used.id, "u1")

    with pytest.raises(ConflictError):
        await aap.report_outcome(other.id, "succeeded", "never begun")
    await aap.report_outcome(used.id, "succeeded", "paid")

    proposal = await outside.world.proposal(proposal_id)
    assert proposal.execution is not None
    assert proposal.execution.receipt == {"note": "paid"}


async def test_an_outcome_that_could_not_be_written_is_told_again(
    outside, aap, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await aap.create(CALL, "k1")
    proposal_id = await decided(outside, "ana")
    await aap.consume(asked.id, "u1")

    async def full(_unit: Any) -> Any:
        raise StoreUnavailable("disk full")

    with monkeypatch.context() as ill:
        ill.setattr(outside.world.store, "write", full)
        with pytest.raises(AAPError):
            await aap.report_outcome(asked.id, "succeeded", "paid")
    await aap.report_outcome(asked.id, "succeeded", "paid")

    proposal = await outside.world.proposal(proposal_id)
    assert proposal.execution is not None
    assert proposal.execution.outcome is Outcome.DONE


@pytest.mark.parametrize("tool", ["issue-refund", "no-such-tool"])
async def test_a_credential_in_a_call_is_kept_masked_alone(outside, aap, tool) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    noted = {**ARGUMENTS, "note": f"aws_access_key_id={secret}"}
    call = {**CALL, "tool": tool, "arguments": noted}

    asked = await aap.create(call, "k1")
    again = await aap.create(call, "k1")

    assert (asked.status, again.id) == ("denied", asked.id)
    kept = await outside.world.store.read(lambda tx: denials.kept(tx, "leila", asked.id))
    assert kept is not None
    assert kept["submission"]["tool"] == tool
    assert secret not in str(kept)
    with pytest.raises(ConflictError):
        await aap.create({**call, "timeout": "11m"}, "k1")


async def test_a_credential_in_the_context_of_a_call_is_neither_kept_nor_told(outside, aap) -> None:
    """The context is no part of the proposal, so no rule refuses it."""
    secret = "AKIAIOSFODNN7EXAMPLE"
    about = {"framework": "langchain", "call_id": "call_9fKz8QhX2aB7"}
    call = {**CALL, "context": {**about, "env": {"AWS_ACCESS_KEY_ID": secret}}}

    asked = await aap.create(call, "k1")
    again = await aap.create(call, "k1")

    assert (asked.status, again.id) == ("pending", asked.id)
    told = await aap.get(asked.id)
    kept = await outside.world.store.read(lambda tx: tx.flags.get(f"aap:{asked.id}"))
    assert kept["submission"]["context"].items() >= about.items()
    assert secret not in f"{told} {asked} {kept}"
    with pytest.raises(ConflictError):
        await aap.create({**call, "context": {}}, "k1")


async def test_true_is_not_one_in_a_call(aap) -> None:
    await aap.create({**CALL, "arguments": {"amount": "12.00", "currency": "USD", "x": 1}}, "k1")

    with pytest.raises(ConflictError):
        await aap.create(
            {**CALL, "arguments": {"amount": "12.00", "currency": "USD", "x": True}}, "k1"
        )


async def test_a_call_asked_about_many_times_at_once_is_one_proposal(outside, aap) -> None:
    asked = await asyncio.gather(*(aap.create(CALL, "k1") for _ in range(6)))

    assert {each.status for each in asked} == {"pending"}
    await decided(outside, "ana")
    assert (await aap.get(asked[0].id)).status == "approved"


async def test_a_call_whose_proposal_was_not_noted_finds_it_again(
    outside, aap, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> Any:
        raise StoreUnavailable("disk full")

    with monkeypatch.context() as death:
        death.setattr("bot.intake.aap.asking.keep", dies)
        with pytest.raises(AAPError):
            await aap.create(CALL, "k1")

    asked = await aap.create(CALL, "k1")

    assert asked.status == "pending"
    assert await decided(outside, "ana") == asked.id


@pytest.mark.parametrize("outcome", ["done", "failed"])
async def test_what_is_over_does_not_begin_once_more_under_its_own_key(
    outside, aap, outcome: str
) -> None:
    """A repeat may have been on its way while people were told that it was not done."""
    asked = await aap.create(CALL, "k1")
    proposal_id = await decided(outside, "ana")
    await aap.consume(asked.id, "u1")
    assert (await aap.consume(asked.id, "u1")).consumption is not None
    async with outside.client() as client:
        told = await client.post(
            f"/v1/proposals/{proposal_id}/receipt", json={"outcome": outcome, "receipt": {}}
        )
        assert told.status_code == 200

    with pytest.raises(ConflictError) as late:
        await aap.consume(asked.id, "u1")

    assert late.value.code == "already_consumed"


async def test_what_a_person_must_settle_does_not_begin_any_more_under_its_own_key(
    outside, aap
) -> None:
    asked = await aap.create(CALL, "k1")
    proposal_id = await decided(outside, "ana")
    await aap.consume(asked.id, "u1")
    await aap.report_outcome(asked.id, "failed", "no answer")
    execution = (await outside.world.proposal(proposal_id)).execution
    assert execution is not None
    assert execution.outcome is Outcome.UNKNOWN

    with pytest.raises(ConflictError):
        await aap.consume(asked.id, "u1")


async def test_nothing_begins_for_an_adapter_that_has_hung_up(
    outside, aap, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await aap.create(CALL, "k1")
    proposal_id = await decided(outside, "ana")
    with held_write(outside.world.store, monkeypatch) as write:
        async with outside.client() as other:
            use = {"idempotency-key": "u1"}
            leaving = asyncio.create_task(
                other.post(f"/aap/v1/requests/{asked.id}/consume", headers=use)
            )
            await write.asked.wait()
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        assert (await aap.get(asked.id)).status == "approved"
        write.free.set()
        await write.ended.wait()

    assert (await outside.world.proposal(proposal_id)).state is State.SENTINEL_APPROVED
    assert (await aap.consume(asked.id, "u1")).consumption is not None
