"""The HTTP door on a real socket, over the whole law and a store in memory."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.intake.doors import served_doors
from bot.storage.opening import open_store
from lifecycle.policy import Agent, Source
from tests.bot.intake.receiver import Receiver
from tests.builders import MAIL, a_document, a_policy, the_agents
from tests.fakes.listening import accepting
from tests.world import World, a_world

TOKENS = {"T_LEILA": "leila-token", "T_NOUR": "nour-token", "T_SENSOR": "sensor-token"}

#: Making one takes a moment, and no test speaks TLS.
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass
class Outside:
    """What an agent sees of the bot: an address; and the stage behind it."""

    url: str
    world: World

    def client(self, token: str | None = "leila-token") -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=20, verify=PLAIN)


def agents() -> dict[str, Agent]:
    known = the_agents()
    return {
        "leila": replace(known["leila"], token_env="T_LEILA", open_limit=50),
        "nour": replace(known["nour"], token_env="T_NOUR"),
    }


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await open_store("memory:", tmp_path)
    policy = a_policy(
        agents=agents(), sources={"crm-sensor": Source("crm-sensor", token_env="T_SENSOR")}
    )
    stage = a_world(store, policy)
    await stage.workflow.start()
    yield stage
    await stage.workflow.shut_down(1)
    await store.close()


@pytest.fixture
async def outside(world: World) -> AsyncIterator[Outside]:
    async with served_doors(world.workflow, dict(TOKENS), "127.0.0.1", 0) as url:
        world.workflow.world.public_url = url
        yield Outside(url, world)


@pytest.fixture
async def leila(outside: Outside) -> AsyncIterator[httpx.AsyncClient]:
    async with outside.client() as client:
        yield client


def code_of(answer: httpx.Response) -> Any:
    body = answer.json()
    return answer.status_code, body.get("reason")


async def submitted(client: httpx.AsyncClient, base: Any = MAIL, **changes: Any) -> httpx.Response:
    return await client.post("/v1/proposals", json=a_document(base, **changes))


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    async with accepting(found.meet) as port:
        found.url = f"http://127.0.0.1:{port}/ends"
        yield found
