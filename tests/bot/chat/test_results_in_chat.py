"""What a tool answered is read in the chat, without a file, as long as a message can hold it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.chat.discord.render import document_message
from bot.chat.slack.answers import document_said
from tests.fakes.tools import answering
from tests.stage import in_memory
from tests.stories.unrecorded import SEARCH
from tests.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A bot whose tools answer what a test says."""
    async with in_memory(tmp_path) as staged:
        yield staged


async def found(world: World, rows: int) -> dict[str, Any]:
    """Return the answer to a search that found so many rows."""
    url = "https://shop.example/terms/"
    listed = [{"id": row, "title": "Terms of sale", "url": f"{url}{row}"} for row in range(rows)]
    world.tool("search").on["execute"] = answering({"rows": listed})
    return (await world.submits(SEARCH, proposal_id=f"s{rows}")).as_json()


def read(text: str) -> dict[str, Any]:
    """Return the object in a fence."""
    document: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return document


@pytest.mark.parametrize(("said", "rows"), [("discord", 12), ("slack", 50)])
async def test_a_result_that_fits_a_message_once_is_not_put_into_a_file_for_being_told_twice(
    world: World, said: str, rows: int
) -> None:
    answer = await found(world, rows)
    assert answer["execution"]["receipt"] == answer["result"]

    told = document_message(answer) if said == "discord" else document_said(answer, "answer")

    assert told.attachment is None
    assert read(told.text)["result"] == answer["result"]
    assert read(told.text)["execution"].items() < answer["execution"].items()


@pytest.mark.parametrize("said", ["discord", "slack"])
async def test_an_answer_that_fits_is_told_whole_and_so_is_a_file(world: World, said: str) -> None:
    for small, answer in ((True, await found(world, 2)), (False, await large(world))):
        told = document_message(answer) if said == "discord" else document_said(answer, "answer")
        whole = told.text if small else told.attachment and told.attachment.text
        assert read(whole or "") == answer


async def large(world: World) -> dict[str, Any]:
    """Return an answer that no message holds."""
    answer = await found(world, 50)
    return answer | {"explanation": "so much was found " * 700}


async def test_a_receipt_that_is_not_the_result_again_is_never_left_out(world: World) -> None:
    answer = await found(world, 12)
    answer["execution"]["receipt"] = answer["result"] | {"handle": "sha256:" + "0" * 64}

    told = document_message(answer)

    assert told.attachment is not None
    assert read(told.attachment.text) == answer
