"""Half a request holds nothing of the door for long."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.bot.intake.conftest import Outside


async def connected(outside: Outside) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(outside.url.rpartition(":")[2]))


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: "])
async def test_whoever_takes_too_long_over_a_head_is_hung_up_on(
    outside: Outside, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._HEAD_S", 0.1)
    reader, writer = await connected(outside)
    writer.write(begun)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_the_second_head_of_a_connection_is_awaited_no_longer(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._HEAD_S", 0.1)
    reader, writer = await connected(outside)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.write(b"GET /healthz HTTP/1.1\r\nHo")
    await asyncio.wait_for(reader.read(), 5)
    writer.close()


async def test_whoever_waits_for_an_answer_may_wait(
    leila: httpx.AsyncClient, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.intake.http.protocol._HEAD_S", 0.1)
    await outside.world.submits(proposal_id="p1")

    answer = await leila.get("/v1/proposals/p1?wait_s=1")

    assert answer.status_code == 200
