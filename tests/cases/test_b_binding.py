"""Cases B: an approval is spent once, on the very bytes that were approved."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.canonical import canonical_bytes
from lifecycle.proposal import Proposal
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, REFUND
from tests.fakes.tools import waiting_for
from tests.world import World

DEPLOY = "production-deploy"


async def the_permit(world: World, proposal_id: str) -> str:
    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    found = [m for m in messages if m.key == f"permit:{proposal_id}"]
    return str(found[0].body["permit"])


async def test_B07_an_approval_that_was_spent_runs_nothing_again(roomy: World) -> None:
    sent_at = roomy.clock.now_ms()
    await roomy.submits(PROD, proposal_id="p1")
    await roomy.approves("ana", "p1")

    await roomy.submits(PROD, proposal_id="p1", ts_ms=sent_at)
    await roomy.workflow.gatekeeper.open("p1")
    await roomy.workflow.open_ready()
    reply = await roomy.approves("ben", "p1")
    await roomy.restarts()

    assert roomy.tool(DEPLOY).verbs() == ["execute"]
    assert reply.code == "already_decided"


async def test_B07_two_workers_right_after_the_approval_are_one_call(roomy: World) -> None:
    gate = asyncio.Event()
    roomy.tool(DEPLOY).on["execute"] = waiting_for(gate)
    await roomy.submits(PROD, proposal_id="p1")
    await asyncio.gather(
        roomy.workflow.approve("p1", roomy.sender("ana")),
        roomy.workflow.gatekeeper.open("p1"),
        roomy.workflow.gatekeeper.open("p1"),
        roomy.workflow.open_ready(),
    )
    gate.set()
    await roomy.workflow.idle()

    assert roomy.tool(DEPLOY).verbs() == ["execute"]


async def test_B07_a_permit_is_redeemed_once_by_the_first_of_two_workers(roomy: World) -> None:
    await roomy.submits(REFUND, proposal_id="p1")
    await roomy.approves("ana", "p1")
    permit, leila = await the_permit(roomy, "p1"), roomy.sender("leila")

    redeemed = await asyncio.gather(
        *(roomy.workflow.redeem(permit, REFUND["parameters"], leila) for _ in range(5))
    )
    codes = [reply.code for reply in redeemed]
    assert sorted(codes, key=str) == [None, *["permit_already_consumed"] * 4]


@pytest.mark.parametrize("outcome", ["done", "failed"])
async def test_B07_asking_again_is_already_consumed_whatever_the_state(
    roomy: World, outcome: str
) -> None:
    await roomy.submits(REFUND, proposal_id="p1")
    await roomy.approves("ana", "p1")
    permit, leila = await the_permit(roomy, "p1"), roomy.sender("leila")
    await roomy.workflow.redeem(permit, REFUND["parameters"], leila)
    await roomy.workflow.report("p1", leila, outcome, {})

    again = await roomy.workflow.redeem(permit, REFUND["parameters"], leila)
    assert again.code == "permit_already_consumed"
    assert (await roomy.proposal("p1")).state.terminal


def changed(folder: Path, **columns: Any) -> None:
    """Change a row of the database as somebody with access to the file would."""
    with closing(sqlite3.connect(folder / "signoff.db")) as db, db:
        for column, value in columns.items():
            db.execute(f"UPDATE proposals SET {column} = ? WHERE proposal_id = 'p1'", (value,))


def bytes_with(proposal: Proposal, **changes: Any) -> bytes:
    document = proposal.read().model_dump(mode="json", exclude_unset=True)
    return canonical_bytes(document | changes)


def forged(proposal: Proposal, way: str) -> dict[str, Any]:
    """Return columns that somebody could write so that another thing would run."""
    other = bytes_with(proposal, parameters={"version": "v666"})
    match way:
        case "parameters":
            return {"document": other}
        case "target":
            target = PROD["target"] | {"domain": "db.shop.example"}
            return {"document": bytes_with(proposal, target=target)}
        case "tool":
            return {"tool": "delete-data"}
        case "tool in both":
            return {"tool": "delete-data", "document": bytes_with(proposal, tool="delete-data")}
        case "actor":
            return {"actor": "nour"}
        case "permitted bytes":
            r3 = proposal.r3_document.replace(b"v42", b"v66")
            return {"r3_document": r3}
        case _:
            return {"document": b"{}"}


WAYS = ["parameters", "target", "tool", "tool in both", "actor", "permitted bytes", "no document"]


@pytest.mark.parametrize("way", WAYS)
async def test_B08_a_row_changed_after_an_approval_never_runs_and_people_are_told(
    filed: World, tmp_path: Path, way: str
) -> None:
    await filed.submits(PROD, proposal_id="p1", approval_class="dual")
    await filed.approves("ana", "p1")
    changed(tmp_path, **forged(await filed.proposal("p1"), way))

    await filed.approves("ben", "p1")

    ended = await filed.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "digest_mismatch")
    assert [tool.calls for tool in filed.toolbox.tools.values() if tool.calls] == []
    told = await filed.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert any("Somebody changed the database" in m.body.get("text", "") for m in told)


@pytest.mark.parametrize("column", ["document", "r3_document"])
async def test_B08_bytes_that_an_sql_function_turned_into_text_never_run(
    filed: World, tmp_path: Path, column: str
) -> None:
    await filed.submits(PROD, proposal_id="p1")
    stored: bytes = getattr(await filed.proposal("p1"), column)
    changed(tmp_path, **{column: stored.decode().replace("v42", "v66")})

    await filed.approves("ana", "p1")

    assert (await filed.proposal("p1")).reason == "digest_mismatch"
    assert filed.tool(DEPLOY).calls == []


async def test_B08_a_changed_copy_in_memory_has_no_effect(filed: World) -> None:
    await filed.submits(PROD, proposal_id="p1", approval_class="dual")
    await filed.approves("ana", "p1")
    copy = (await filed.proposal("p1")).read()
    copy.parameters["version"] = "v666"

    await filed.approves("ben", "p1")
    assert [call.parameters for call in filed.tool(DEPLOY).calls] == [{"version": "v42"}]


@pytest.mark.parametrize("way", ["parameters", "permitted bytes"])
async def test_B08_a_row_changed_while_the_agent_holds_its_permit_ends_the_proposal(
    filed: World, tmp_path: Path, way: str
) -> None:
    await filed.submits(REFUND, proposal_id="p1")
    await filed.approves("ana", "p1")
    permit, more = await the_permit(filed, "p1"), REFUND["parameters"] | {"amount": "999.00"}
    proposal = await filed.proposal("p1")
    columns = {
        "parameters": {"document": bytes_with(proposal, parameters=more)},
        "permitted bytes": {"r3_document": proposal.r3_document.replace(b"120.00", b"999.00")},
    }
    changed(tmp_path, **columns[way])

    for presented in (more, REFUND["parameters"]):
        reply = await filed.workflow.redeem(permit, presented, filed.sender("leila"))
        assert not reply.done

    ended = await filed.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "digest_mismatch")


@pytest.mark.parametrize("early", [False, True])
async def test_B08_a_mail_changed_within_its_window_is_not_sent(
    filed: World, tmp_path: Path, early: bool
) -> None:
    await filed.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await filed.submits(MAIL, proposal_id="p1")
    other = MAIL["parameters"] | {"to": "sam@partner.example"}
    changed(tmp_path, document=bytes_with(await filed.proposal("p1"), parameters=other))

    if early:
        await filed.approves("ana", "p1")
    await filed.passes(minutes=15)

    ended = await filed.proposal("p1")
    assert filed.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "digest_mismatch")


async def idempotent(world: World) -> None:
    tools = dict(world.workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], idempotent=True)
    await world.adopts(tools=tools)


async def cut_off(world: World) -> None:
    for task in list(world.workflow.world.background.tasks):
        task.cancel()
    await asyncio.gather(*world.workflow.world.background.tasks, return_exceptions=True)


async def test_B08_a_row_changed_while_we_were_away_is_not_run_again(
    filed: World, tmp_path: Path
) -> None:
    await idempotent(filed)
    filed.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event())
    await filed.submits(PROD, proposal_id="p1")
    await filed.workflow.approve("p1", filed.sender("ana"))
    await asyncio.sleep(0.01)
    await cut_off(filed)
    other = bytes_with(await filed.proposal("p1"), parameters={"version": "v666"})
    changed(tmp_path, document=other)
    filed.tool(DEPLOY).on.clear()

    await filed.restarts()
    reply = await filed.workflow.retry("p1", filed.sender("ana"))
    await filed.workflow.idle()

    assert {call.parameters["version"] for call in filed.tool(DEPLOY).calls} == {"v42"}
    assert reply.code == "digest_mismatch"
    assert (await filed.proposal("p1")).attention == "outcome_unknown"
    told = await filed.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert any("not called again. Somebody changed" in m.body.get("text", "") for m in told)


@pytest.mark.parametrize("base", [MAIL, PROD], ids=["MAIL", "PROD"])
async def test_B10_what_is_called_is_what_was_approved_and_nothing_is_added(
    world: World, base: dict[str, Any]
) -> None:
    await world.submits(base, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=15)

    approved = await world.proposal("p1")
    calls = world.tool(base["tool"]).calls
    assert calls
    for call in calls:
        assert call.parameters == base["parameters"]
        assert call.target == base["target"]
        assert call.digest == approved.digest


async def test_B10_a_default_that_appears_after_the_approval_asks_again(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1", approval_class="dual")
    await world.approves("ana", "p1")
    tools = dict(world.workflow.policy.tools)
    tools["send-email"] = replace(tools["send-email"], settings={"cc": ["all@shop.example"]})
    await world.adopts(tools=tools)

    await world.approves("ben", "p1")

    assert world.tool("send-email").calls == []
    await world.approves("ana", "p1")
    assert world.tool("send-email").verbs() == ["execute"]


@pytest.mark.parametrize(
    "change",
    [
        *("tier = 'AUTO'", "rest = json_set(rest, '$.quorum', 0)"),
        *("rest = json_set(rest, '$.quorum_needs_people', json('false'))", "deadline_ms = 2e12"),
    ],
)
async def test_B08_a_row_that_asks_for_less_than_the_policy_ends(
    filed: World, tmp_path: Path, change: str
) -> None:
    proposal_id = (await filed.submits(PROD, approval_class="dual")).proposal_id or ""
    with closing(sqlite3.connect(tmp_path / "signoff.db")) as database, database:
        database.execute(f"UPDATE proposals SET {change}")

    for who in ("ana", "ben"):
        await filed.approves(who, proposal_id)

    assert filed.tool("production-deploy").calls == []
    assert (await filed.proposal(proposal_id)).reason == "digest_mismatch"
