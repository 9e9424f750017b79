"""The published AAP client and its Pydantic AI capability, unmodified, against our provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agentapprovalprotocol import AsyncClient, AsyncGate, Call
from agentapprovalprotocol._client import CredentialRefused, NotFound

from tests.bot.intake.conftest import Outside
from tests.bot.intake.published import ARGUMENTS, decided, in_real_time, published_client


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Outside]:
    """The stage in real time, in place of the one with a fake clock."""
    async with in_real_time(tmp_path) as stage:
        yield stage


@pytest.fixture
async def aap(outside: Outside) -> AsyncIterator[AsyncClient]:
    async with published_client(outside) as client:
        yield client


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
        ({"reasoning": "soon"}, "Say in agent_reasoning, in 15 characters or more"),
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
