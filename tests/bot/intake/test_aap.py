"""The published AAP client and its Pydantic AI capability, unmodified, against our provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agentapprovalprotocol import AsyncClient, AsyncGate, Call
from agentapprovalprotocol._client import AAPError, ConflictError, CredentialRefused, NotFound

from bot.clock import SystemClock
from bot.intake.doors import served_doors
from bot.storage.opening import open_store
from lifecycle.policy import Source
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import Outcome, Proposal
from lifecycle.workflow import Workflow
from tests.bot.intake.conftest import TOKENS, Outside, agents
from tests.builders import a_policy
from tests.world import a_world

ARGUMENTS = {"amount": "12.00", "currency": "USD", "lines": [1, 2.5, None, True]}
CALL = {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": "10m"}


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Outside]:
    """The stage with the machine's own clock: the published client compares with it."""
    store = await open_store("memory:", tmp_path)
    stage = a_world(store, a_policy(agents=agents(), sources={"s": Source("s")}))
    stage.workflow = Workflow(replace(stage.workflow.world, clock=SystemClock()))
    stage.clock = stage.workflow.world.clock
    await stage.workflow.start()
    async with served_doors(stage.workflow, dict(TOKENS), "127.0.0.1", 0) as url:
        yield Outside(url, stage)
    await stage.workflow.stop(1)
    await store.close()


@pytest.fixture
async def aap(outside: Outside) -> AsyncIterator[AsyncClient]:
    client = AsyncClient(f"{outside.url}/aap", "leila-token", retry_budget=2)
    yield client
    await client._http.aclose()


def ready(tx: Transaction) -> list[Proposal]:
    return [each for each in tx.proposals.waiting(0, 9) if each.verdict and not each.opener]


async def decided(outside: Outside, person: str, *, approve: bool = True) -> str:
    world = outside.world
    async with asyncio.timeout(40):
        # The client decides when it asks: there is nothing to be woken by.
        while not (waiting := await world.store.read(ready)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await world.shows()
    decide = world.approves if approve else world.rejects
    await decide(person, waiting[0].proposal_id, "seen")
    return waiting[0].proposal_id


def a_call(**changes: Any) -> Call:
    return Call(**({"key": "run1:1", "tool": "issue-refund", "arguments": ARGUMENTS} | changes))


async def test_an_approved_call_runs_once_and_its_outcome_is_kept(outside, aap) -> None:
    gate = AsyncGate(aap)

    verdict, proposal_id = await asyncio.gather(gate.check(a_call()), decided(outside, "ana"))

    assert verdict
    assert await verdict.report("succeeded", "refund r-1")
    ended = await outside.world.proposal(proposal_id)
    assert (ended.state.value, ended.execution.receipt) == ("completed", {"note": "refund r-1"})
    again = await gate.check(a_call())
    assert (bool(again), again.status) == (False, "consumed")
    assert await verdict.report("succeeded", "refund r-1")
    assert not await verdict.report("failed")


async def test_a_denied_call_does_not_run_and_hears_why(outside, aap) -> None:
    verdict, _ = await asyncio.gather(
        AsyncGate(aap).check(a_call()), decided(outside, "ben", approve=False)
    )
    assert verdict.status == "denied"
    assert "seen" in verdict.reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tool": "nothing"}, "No tool here"),
        ({"tool": "production-deploy"}, "propose it instead"),
        ({"arguments": {"amount": "99999.00", "currency": "USD"}}, "10000"),
    ],
)
async def test_what_may_never_run_is_denied_at_once(aap, changes: Any, words: str) -> None:
    verdict = await asyncio.wait_for(AsyncGate(aap).check(a_call(**changes)), 5)
    assert verdict.status == "denied"
    assert words in verdict.reason


async def test_a_failed_call_is_looked_at_by_a_person(outside, aap) -> None:
    verdict, proposal_id = await asyncio.gather(
        AsyncGate(aap).check(a_call()), decided(outside, "ana")
    )
    await verdict.report("failed")
    found = await outside.world.proposal(proposal_id)
    assert (found.state.value, found.attention.value) == ("executing", "outcome_unknown")


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


async def test_a_call_can_be_cancelled_while_it_is_pending(aap) -> None:
    submission = {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": "10m"}
    asked = await aap.create(submission, "k1")
    assert (await aap.cancel(asked.id)).status == "cancelled"
    assert (await aap.get(asked.id, wait=5)).status == "cancelled"


async def test_only_the_agent_itself_sees_its_call(outside, aap) -> None:
    asked = await aap.create(
        {"tool": "issue-refund", "arguments": ARGUMENTS, "timeout": "10m"}, "k1"
    )
    for token, refusal in (("nour-token", NotFound), ("wrong", CredentialRefused)):
        other = AsyncClient(f"{outside.url}/aap", token)
        with pytest.raises(refusal):
            await other.get(asked.id)
        await other._http.aclose()


@pytest.mark.parametrize(
    "change",
    [{"timeout": "soon"}, {"timeout": "0s"}, {"tool": ""}, {"arguments": None}, {"approve": True}],
)
async def test_what_is_no_submission_is_400(outside, change: dict[str, Any]) -> None:
    body = {"tool": "issue-refund", "arguments": {}, "timeout": "10m"} | change
    async with outside.client() as client:
        headers = {"idempotency-key": "k"}
        answer = await client.post("/aap/v1/requests", json=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
        answer = await client.post("/aap/v1/requests", json=body)
        assert answer.json()["error"]["code"] == "missing_idempotency_key"


async def test_pydantic_ais_capability_works_as_published(outside: Outside) -> None:
    from agentapprovalprotocol.pydantic_ai import ApprovalCapability
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    called: list[str] = []

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            args = {"amount": "12.00", "currency": "USD"}
            return ModelResponse(parts=[ToolCallPart("issue-refund", args, "c1")])
        return ModelResponse(parts=[TextPart("done")])

    approvals = ApprovalCapability(f"{outside.url}/aap", "leila-token")
    agent = Agent(FunctionModel(model), capabilities=[approvals])

    @agent.tool_plain(name="issue-refund")
    def issue_refund(amount: str, currency: str) -> str:
        """Pay back what the customer is owed."""
        called.append(amount)
        return "r-1"

    result, proposal_id = await asyncio.gather(agent.run("refund"), decided(outside, "ana"))

    await approvals.gate.client._http.aclose()
    assert (result.output, called) == ("done", ["12.00"])
    assert (await outside.world.proposal(proposal_id)).state.value == "completed"


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


async def test_a_credential_in_a_call_is_kept_masked_alone(outside, aap) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    call = {**CALL, "arguments": {**ARGUMENTS, "note": f"aws_access_key_id={secret}"}}

    asked = await aap.create(call, "k1")
    again = await aap.create(call, "k1")

    assert (asked.status, again.id) == ("denied", asked.id)
    flags = await outside.world.store.read(lambda tx: tx.flags.get(f"aap:{asked.id}"))
    assert secret not in str(flags)
    with pytest.raises(ConflictError):
        await aap.create({**call, "timeout": "11m"}, "k1")


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
