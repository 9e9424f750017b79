"""What the HTTP door shows over a real socket: one's own and nobody else's, whole and in time."""

from __future__ import annotations

import asyncio
import json
import threading
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256

import httpx
import pytest
from jsonschema import Draft202012Validator

from lifecycle.canonical import s256
from lifecycle.checking.rule_run import Workers
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.heard import HeardStop
from lifecycle.proposal import ActorKind, Attention, Identity
from lifecycle.verdict import PASSED
from sentinel_rules import load_rules
from tests.bot.intake.conftest import Outside, submitted
from tests.builders import MAIL, PROD, a_document, a_proposal
from tests.lifecycle.laws import law
from tests.roads import adopted
from tests.stories.test_plans import an_envelope
from tests.stories.test_questions import PLAN


@pytest.mark.parametrize(
    "path",
    [
        "/v1/proposals/p1",
        "/v1/proposals/p1/document",
        "/v1/proposals/p1/explain",
        "/v1/proposals/p1/audit",
        "/v1/tasks/t1",
    ],
)
async def test_an_agent_sees_only_its_own(outside: Outside, path: str) -> None:
    async with outside.client() as leila, outside.client("nour-token") as nour:
        await submitted(leila, PROD, task_id="t1")
        await leila.delete("/v1/proposals/p1")
        absent = path.replace("/p1", "/p0").replace("/t1", "/t0")
        theirs, nobodys = await nour.get(path), await nour.get(absent)
        assert (await leila.get(path)).status_code == 200
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.json() | {"proposal_id": ""} == nobodys.json() | {"proposal_id": ""}
        assert (await nour.delete("/v1/proposals/p1")).status_code == 404
        assert (await nour.get("/v1/proposals")).json() == {"proposals": [], "next_cursor": None}


async def test_an_agent_does_not_see_what_a_person_of_the_same_name_proposed(
    leila: httpx.AsyncClient, outside: Outside
) -> None:
    """A config may have named a person so before there was the agent."""
    person = Identity(ActorKind.PERSON, "leila")
    theirs = a_proposal(a_document(PROD, proposal_id="theirs"), actor=person)
    await outside.world.store.write(lambda tx: tx.proposals.add(theirs))
    await submitted(leila, MAIL)

    listed = (await leila.get("/v1/proposals")).json()

    assert [each["proposal_id"] for each in listed["proposals"]] == ["p1"]


async def test_an_agent_sees_no_question_of_anothers(outside: Outside) -> None:
    async with outside.client() as leila, outside.client("nour-token") as nour:
        envelope = an_envelope(outside.world, [], PLAN, intent="May I refund order 17?")
        asked = (await leila.post("/v1/proposals", json=envelope)).json()
        path = f"/v1/questions/{asked['result']['question_id']}"
        theirs, nobodys = await nour.get(path), await nour.get("/v1/questions/q0")
        assert (await leila.get(path)).json()["intent"] == "May I refund order 17?"
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.json() == nobodys.json()


async def test_the_document_is_served_as_stored(leila) -> None:
    spelled = json.dumps(a_document(PROD), indent=3, ensure_ascii=True)
    answer = await leila.post("/v1/proposals", content=spelled.encode())
    served = await leila.get("/v1/proposals/p1/document")
    assert "sha256:" + sha256(served.content).hexdigest() == answer.json()["digest"]


async def test_the_r3_document_is_named_by_the_hash_of_its_bytes(leila, outside) -> None:
    await submitted(leila, PROD)
    shown = (await leila.get("/v1/proposals/p1")).json()
    served = await leila.get(shown["r3_uri"])
    assert s256(served.content) == shown["r3_s256"]
    document = served.json()
    assert set(document) == {"vocabulary", "operations", "display", "parameters"}
    for section in ("## Action", "## Details", "## Irreversible"):
        assert section in document["display"]["detail"]
    async with outside.client("nour-token") as nour:
        assert (await nour.get(shown["r3_uri"])).status_code == 404


async def test_waiting_ends_when_a_person_decides(leila, outside) -> None:
    await submitted(leila, PROD)
    await outside.world.shows()
    waiting = asyncio.create_task(leila.get("/v1/proposals/p1?wait=15"))
    await asyncio.wait([waiting], timeout=0.3)
    assert not waiting.done()
    await outside.world.rejects("ben", "p1", "not on a Monday")
    answer = await asyncio.wait_for(waiting, 3)
    assert (answer.json()["state"], answer.json()["explanation"]) == ("rejected", "not on a Monday")


async def test_waiting_ends_with_the_time_and_not_before(leila) -> None:
    await submitted(leila, PROD)
    answer = await asyncio.wait_for(leila.get("/v1/proposals/p1?wait=1"), 5)
    assert answer.json()["state"] == "sentinel_approved"
    known = await asyncio.wait_for(leila.get("/v1/proposals/p1?wait=50&seen=pending"), 5)
    assert known.json()["state"] == "sentinel_approved"


@pytest.mark.parametrize(
    "query",
    ["wait=x", "wait=-1", "wait=61", "wait=", "seen=gone", "wait=1e3", "wait=٣"],
)
async def test_a_query_that_means_nothing_is_400(leila, query: str) -> None:
    await submitted(leila, PROD)
    assert (await leila.get(f"/v1/proposals/p1?{query}")).status_code == 400


async def test_pages_are_whole_and_end(leila) -> None:
    for number in range(5):
        to = {"to": f"{number}@shop.example", "subject": "x", "body": "y"}
        answer = await submitted(leila, MAIL, proposal_id=f"m{number}", parameters=to)
        assert answer.status_code == 202
    found, cursor = [], ""
    while cursor is not None:
        page = (await leila.get(f"/v1/proposals?limit=2{cursor}")).json()
        found += [each["proposal_id"] for each in page["proposals"]]
        cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None
    assert found == ["m4", "m3", "m2", "m1", "m0"]
    assert len((await leila.get("/v1/proposals?state=completed")).json()["proposals"]) == 0
    assert len((await leila.get("/v1/proposals?tool=send-email")).json()["proposals"]) == 5
    assert (await leila.get("/v1/proposals?cursor=AAAA")).status_code == 400
    assert (await leila.get("/v1/proposals?tool=")).json()["detail"] == "tool is a name."


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ("tool=production-deploy", [["p6"], [], ["p0"]]),
        ("state=rejected", [["p4"], [], []]),
        ("state=rejected&tool=production-deploy", [[], [], []]),
        ("state=sentinel_approved&tool=production-deploy", [["p6", "p0"]]),
        ("state=completed", [[], [], []]),
        ("", [["p6", "p5"], ["p4", "p3"], ["p2", "p1"], ["p0"]]),
    ],
)
async def test_a_narrowed_list_is_whole_although_no_page_looks_through_all_the_past(
    leila, monkeypatch: pytest.MonkeyPatch, narrowed: str, found: list[list[str]]
) -> None:
    """An agent with 20,000 proposals behind it that asked for a tool took a reader 90 ms."""
    monkeypatch.setattr("bot.intake.http.looking._LOOKED_THROUGH", 3)
    await submitted(leila, PROD, proposal_id="p0")
    for number in range(1, 6):
        to = {"to": f"{number}@shop.example", "subject": "x", "body": "y"}
        await submitted(leila, MAIL, proposal_id=f"p{number}", parameters=to)
    other = {**PROD["parameters"], "version": "6"}
    await submitted(leila, PROD, proposal_id="p6", parameters=other)
    assert (await leila.delete("/v1/proposals/p4")).status_code == 200
    pages, cursor = [], ""
    while cursor is not None and len(pages) < 9:
        page = (await leila.get(f"/v1/proposals?limit=2&{narrowed}{cursor}")).json()
        pages.append([each["proposal_id"] for each in page["proposals"]])
        cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None
    assert pages == found


async def test_a_long_trail_comes_in_pages_and_whole(leila) -> None:
    await submitted(leila, PROD)
    for _ in range(101):
        await leila.post("/v1/proposals/p1/receipt", json={"outcome": "done"})
    path = "/v1/proposals/p1/audit"
    usual = (await leila.get(path)).json()
    rest = (await leila.get(f"{path}?cursor={usual['next_cursor']}")).json()
    found, cursor = [], ""
    while cursor is not None:
        page = (await leila.get(f"{path}?limit=40{cursor}")).json()
        assert 0 < len(page["entries"]) <= 40
        found += page["entries"]
        cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else None
    assert [each["seq"] for each in found] == sorted({each["seq"] for each in found})
    assert len(found) > 101
    assert (usual["entries"], rest["entries"]) == (found[:100], found[100:])
    assert rest["next_cursor"] is None
    assert (await leila.get(f"{path}?limit=101")).status_code == 400


async def test_whether_to_try_again_is_told_alike_whenever_one_looks(leila, outside) -> None:
    policy, over = outside.world.workflow.policy, threading.Event()
    hangs = law("hangs", lambda: (over.wait(60), PASSED)[1])
    rules = [*load_rules(policy.rules), hangs]
    await adopted(outside.world.workflow, policy, Sentinel(rules, limit_s=0.05, workers=Workers()))
    late = (await submitted(leila, PROD)).json()
    over.set()
    shown = (await leila.get("/v1/proposals/p1")).json()
    assert {each["code"] for each in late["errors"]} == {"rule_timeout"}
    assert (late["retry"], shown["retry"]) == ("later", "later")
    assert (await leila.get("/v1/proposals")).json()["proposals"][0]["retry"] == "later"


async def test_a_page_of_tasks_ends_at_a_task_of_ones_own(outside: Outside) -> None:
    async with outside.client() as leila, outside.client("nour-token") as nour:
        for client, actor, tasks in ((leila, "leila", ("a1", "c1")), (nour, "nour", ("b1", "b2"))):
            for task in tasks:
                document = a_document(PROD, proposal_id=f"p-{task}", actor=actor, task_id=task)
                document["parameters"] = {"version": task}
                assert (await client.post("/v1/proposals", json=document)).status_code == 202
                await client.delete(f"/v1/proposals/p-{task}")
        first = (await leila.get("/v1/tasks?limit=1")).json()
        rest = (await leila.get(f"/v1/tasks?cursor={first['next_cursor']}")).json()

    found = [[each["task_id"] for each in page["tasks"]] for page in (first, rest)]
    assert (found, rest["next_cursor"]) == ([["a1"], ["c1"]], None)
    assert b64decode(first["next_cursor"] + "==") == b"0:a1"


async def test_the_house_is_described(leila) -> None:
    tools = (await leila.get("/v1/tools")).json()
    assert tools["advisory"] is True
    assert {each["name"] for each in tools["tools"]} >= {"search", "issue-refund"}
    policy = (await leila.get("/v1/policy")).json()
    assert policy["policyDigest"].startswith("pol1_")
    assert policy["normalizerId"] == "signoff.jcs.v1"
    assert (await leila.get("/v1/schema")).json()["title"] == "Proposal"
    explained = (await submitted(leila, PROD), await leila.get("/v1/proposals/p1/explain"))[1]
    assert len(explained.json()["verdict"]["results"]) == 9
    trail = (await leila.get("/v1/proposals/p1/audit")).json()["entries"]
    assert trail[0]["kind"] == "submitted"


async def test_the_list_of_tools_says_what_a_mail_asks_for(
    leila: httpx.AsyncClient, outside: Outside
) -> None:
    """It said null, and whoever called the text `message` had a mail without one."""
    own = {"properties": {"subject": {"$ref": "#/$defs/line"}}, "$defs": {"line": {"maxLength": 9}}}
    tools = dict(outside.world.workflow.policy.tools)
    tools["short-mail"] = replace(tools["send-email"], name="short-mail", parameters=own)
    await outside.world.adopts(tools=tools)

    listed = (await leila.get("/v1/tools")).json()["tools"]
    shapes = {each["name"]: each["parameters"] for each in listed}

    mail = {"to": "pat@partner.example", "subject": "Ten signs."}
    for shape in (shapes["send-email"], shapes["short-mail"]):
        assert not Draft202012Validator(shape).is_valid(mail | {"to": []})
    assert Draft202012Validator(shapes["send-email"]).is_valid(mail)
    assert not Draft202012Validator(shapes["short-mail"]).is_valid(mail)
    assert shapes["production-deploy"] is None


async def test_a_store_that_cannot_be_written_is_no_health(outside: Outside) -> None:
    async with outside.client(None) as stranger:
        outside.world.workflow.world.troubles.unwritten.failed(0, "disk full")
        answer = await stranger.get("/healthz")
        assert (answer.status_code, answer.json()["detail"]) == (
            503,
            "The store cannot be written.",
        )


async def test_all_is_told_as_frozen_while_a_freeze_waits_for_its_row(outside: Outside) -> None:
    outside.world.workflow.world.heard.add(HeardStop("spool:slack:Ev1", "slack", 0))
    async with outside.client(None) as stranger:
        assert (await stranger.get("/healthz")).json() == {"status": "ok", "frozen": True}


async def test_strangers_learn_health_and_numbers_only(outside: Outside) -> None:
    async with outside.client() as leila, outside.client(None) as stranger:
        await submitted(leila, PROD)
        await leila.post("/v1/proposals", content=b"{")
        assert (await stranger.get("/healthz")).json() == {"status": "ok", "frozen": False}
        numbers = (await stranger.get("/metrics")).text
        assert 'signoff_proposals{state="sentinel_approved",tier="CONFIRM"} 1.0' in numbers
        assert 'signoff_refused_documents_total{code="malformed_json"} 1.0' in numbers
        for path in ("/v1/tools", "/v1/policy", "/v1/schema", "/v1/tasks", "/v1/proposals"):
            assert (await stranger.get(path)).status_code == 401


async def test_numbers_follow_a_life(leila, outside) -> None:
    await submitted(leila, PROD)
    await leila.get("/metrics")
    await outside.world.shows()
    await outside.world.approves("ana", "p1")
    body = MAIL["parameters"] | {"body": "final warning"}
    await submitted(leila, MAIL, proposal_id="p2", parameters=body)
    numbers = (await leila.get("/metrics")).text
    assert 'signoff_proposals{state="sentinel_approved",tier="CONFIRM"} 0.0' in numbers
    assert 'signoff_proposals{state="completed",tier="CONFIRM"} 1.0' in numbers
    assert 'signoff_decisions_total{reason="tool_succeeded",state="completed"} 1.0' in numbers
    assert (
        'signoff_findings_total{code="prohibited_phrase",rule="prohibited_content"} 1.0' in numbers
    )
    assert Attention.OVERDUE.value in numbers
