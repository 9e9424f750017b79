"""What the door really sends, operation by operation, is what its OpenAPI document says it does."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from bot.intake.http.openapi import openapi
from bot.intake.http.operations import Operation
from bot.intake.http.table import OPERATIONS
from tests.bot.intake.conftest import Outside, submitted
from tests.builders import MAIL, NOW_MS, PROD, REFUND, a_document
from tests.stories.test_plans import an_envelope
from tests.stories.test_questions import PLAN

#: Problem documents may carry more members (RFC 9457), and documents are described elsewhere.
OPEN = {"Problem", "Document", "AnyObject"}
SECRET = {"version": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}
PACKET = {"evidence_id": "e1", "source": "crm-sensor", "observed_at_ms": NOW_MS, "payload": {}}
SEARCH = {
    "tool": "search",
    "action_type": "read",
    "parameters": {"q": "invoice"},
    "justification": None,
}
OTHER = {"amount": "7.00", "currency": "USD"}
UNREADABLE = (b"{", b"[]", b"{}", b'{"a":1,"a":2}', b"x" * 1_100_000, b'{"outcome":"x"}')


def strictly(schema: Any) -> Any:
    """Return a schema that knows no other field than those that it names."""
    if not isinstance(schema, dict):
        return [strictly(each) for each in schema] if isinstance(schema, list) else schema
    closed = {"additionalProperties": False} if "properties" in schema else {}
    return {key: strictly(value) for key, value in schema.items()} | closed


class Judge:
    """Holds each answer to the document; `seen` are operations and statuses."""

    def __init__(self, url: str) -> None:
        self._document = openapi(OPERATIONS, url, "0")
        schemas = self._document["components"]["schemas"]
        self._components = {
            "schemas": {
                name: schema if name in OPEN else strictly(schema)
                for name, schema in schemas.items()
            }
        }
        self.seen: set[tuple[str, int]] = set()

    async def __call__(self, answer: httpx.Response) -> None:
        await answer.aread()
        operation = asked(answer.request)
        self.seen.add((operation.name, answer.status_code))
        responses = self._document["paths"][operation.path][operation.method.lower()]["responses"]
        assert str(answer.status_code) in responses, (operation.name, answer.text)
        described = responses[str(answer.status_code)]
        assert all(name in answer.headers for name in described.get("headers", ()))
        ((media_type, content),) = described["content"].items()
        assert answer.headers["content-type"].startswith(media_type)
        if media_type != "text/plain":
            schema = content["schema"] | {"components": self._components}
            Draft202012Validator(schema).validate(answer.json())


def asked(sent: httpx.Request) -> Operation:
    """Return the operation that a message is about."""
    for operation in OPERATIONS:
        path = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(operation.path))
        if operation.method == sent.method and re.fullmatch(path, sent.url.path):
            return operation
    raise LookupError(sent.url.path)


@dataclass
class Agents:
    """Who speaks to the door; every answer is judged."""

    outside: Outside
    judge: Judge
    leila: httpx.AsyncClient
    nour: httpx.AsyncClient
    sensor: httpx.AsyncClient
    nobody: httpx.AsyncClient

    @property
    def all(self) -> tuple[httpx.AsyncClient, ...]:
        return self.leila, self.nour, self.sensor, self.nobody


@pytest.fixture
async def agents(outside: Outside) -> AsyncIterator[Agents]:
    judge = Judge(outside.url)
    tokens = ("leila-token", "nour-token", "sensor-token", None)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(outside.client(each)) for each in tokens]
        for client in clients:
            client.event_hooks["response"].append(judge)
        yield Agents(outside, judge, *clients)


async def test_every_answer_to_a_document_is_described(agents: Agents) -> None:
    leila, seen = agents.leila, agents.judge.seen
    for path in ("/v1/proposals:check", "/v1/proposals"):
        await leila.post(path, json=a_document(PROD, proposal_id="open", task_id="t1"))
        await leila.post(path, json=a_document(PROD, proposal_id="open", task_id="t1"))
        await leila.post(path, json=a_document(PROD, proposal_id="open"))
        await leila.post(path, json=a_document(MAIL, proposal_id="ended", **SEARCH))
        await leila.post(path, json=a_document(PROD, proposal_id="secret", parameters=SECRET))
        await leila.post(path, json=a_document(REFUND, proposal_id="why", justification=None))
        await leila.post(path, json=a_document(PROD, proposal_id="late", ts_ms=1))
        await agents.nour.post(path, json=a_document(PROD, proposal_id="nour", actor="leila"))
    for number in range(3):
        await submitted(leila, PROD, proposal_id=f"n{number}", parameters={"version": f"{number}"})

    statuses = {status for name, status in seen if name == "submit"}
    assert statuses >= {200, 201, 202, 409, 422, 429}
    assert ("check", 200) in seen


async def test_every_answer_to_a_look_is_described(agents: Agents) -> None:
    leila = agents.leila
    envelope = an_envelope(agents.outside.world, [], PLAN, intent="May I?")
    asked_id = (await leila.post("/v1/proposals", json=envelope)).json()["result"]["question_id"]
    ben = agents.outside.world.sender("ben")
    await submitted(leila, PROD, task_id="t1")
    await agents.outside.world.rejects("ben", "p1", "no")
    r3_uri = (await leila.get("/v1/proposals/p1")).json()["r3_uri"]
    one = "/v1/proposals/p1"
    paths = [one, f"{one}/document", f"{one}/explain", f"{one}/audit", "/v1/tasks/t1", r3_uri]
    paths += ["/v1/proposals", "/v1/tasks", "/v1/whoami", "/v1/tools", "/v1/policy", "/v1/schema"]
    paths += ["/healthz", "/metrics", f"/v1/questions/{asked_id}"]
    for path in paths:
        for client in agents.all:
            await client.get(path)
        assert (await leila.get(path)).status_code == 200
    for path in ("/v1/proposals", "/v1/tasks", f"{one}/audit"):
        await leila.get(f"{path}?limit=0")
        await leila.get(f"{path}?cursor=x")
        assert len(next(iter((await leila.get(f"{path}?limit=1")).json().values()))) == 1
    await agents.outside.world.workflow.answer_question(asked_id, ben, "Yes")
    await leila.get(f"/v1/questions/{asked_id}")


async def test_every_answer_about_a_permit_is_described(agents: Agents) -> None:
    leila, world = agents.leila, agents.outside.world
    for number, base in enumerate((REFUND, a_document(REFUND, parameters=OTHER))):
        await submitted(leila, base, proposal_id=f"r{number}")
        await world.shows()
        await world.approves("ana", f"r{number}")
    permits = [(await leila.get(f"/v1/proposals/r{n}")).json()["permit"] for n in range(2)]
    call = {"permit": permits[0], "parameters": REFUND["parameters"]}
    other = {"permit": permits[1], "parameters": OTHER}
    told = {"outcome": "done", "receipt": {"refund": "r-1"}}
    for path, body in (
        ("r0/receipt", told), ("r0/redeem", call | {"permit": "x"}), ("r0/redeem", other),
        ("r0/redeem", call | {"parameters": {}}), ("r0/redeem", call), ("r0/redeem", call),
        ("r0/receipt", told), ("r0/receipt", told), ("r0/receipt", {"outcome": "failed"}),
    ):  # fmt: skip
        await leila.post(f"/v1/proposals/{path}", json=body)
    await leila.get("/v1/proposals/r0")
    await world.workflow.freeze("drill", world.sender("ana"))
    await leila.post("/v1/proposals/r1/redeem", json=other)
    world.clock.advance(4000)
    await leila.post("/v1/proposals/r1/redeem", json=other)
    await agents.nobody.get("/healthz")

    statuses = {status for name, status in agents.judge.seen if name == "redeem"}
    assert statuses >= {200, 403, 409, 410, 422, 503}
    assert ("report", 200) in agents.judge.seen


async def test_every_answer_to_a_withdrawal_and_to_evidence_is_described(agents: Agents) -> None:
    await submitted(agents.leila, PROD)
    for client in (agents.sensor, agents.nour, agents.nobody, agents.leila, agents.leila):
        await client.delete("/v1/proposals/p1")
    for client in agents.all:
        for changes in ({}, {"payload": {"a": 1}}, {"source": "another"}, {"evidence_id": ".."}):
            await client.post("/v1/evidence", json=PACKET | changes)

    for name, statuses in (
        ("withdraw", {200, 401, 403, 404, 409}),
        ("evidence", {201, 401, 403, 422}),
    ):
        assert {status for each, status in agents.judge.seen if each == name} >= statuses


async def test_every_answer_to_what_cannot_be_read_is_described(agents: Agents) -> None:
    await submitted(agents.leila, PROD)
    for operation in OPERATIONS:
        path = operation.path.replace("{proposal_id}", "p1")
        for client in agents.all if operation.body else ():
            for body in UNREADABLE:
                await client.request(operation.method, path, content=body)
            packed = {"content-encoding": "gzip"}
            await client.request(operation.method, path, content=b"x", headers=packed)

    assert {status for _, status in agents.judge.seen} >= {400, 413, 415, 422}
