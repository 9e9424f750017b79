"""Cases A05 and A11 where a tool answers: what it says twice or at length is no smaller for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bot.tools.command import CommandTool
from bot.tools.leftovers import Leftovers
from bot.tools.receipts import LARGEST_RECEIPT, receipt_in
from tests.builders import PROD
from tests.stage import in_memory
from tests.world import World

STAGING = PROD | {
    "tool": "staging-deploy",
    "target": PROD["target"] | {"domain": "staging.shop.example"},
    "risk_envelope": {
        "allowed_side_effects": ["deploy"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    },
}
LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("data", "receipt"),
    [
        (b'{"a": ' + b"[" * 100_000, None),
        (b'{"a": "' + b"x" * LARGEST_RECEIPT + b'"}', None),
        (b"[1]", None),
        (b'{"a": 1}', {"a": 1}),
        (b" \n", {}),
        (b'{"a": 1, "b": 2, "a": [3]}', {"a": [1, [3]], "b": 2}),
        (b'{"x": {"a": null, "a": null}}', {"x": {"a": [None, None]}}),
        (b'{"a": -9007199254740993}', {"a": -9007199254740993}),
        (f'{{"a": {LONG}, "b": 1}}'.encode(), {"a": LONG, "b": 1}),
    ],
    ids=["deep", "large", "a list", "one", "none", "twice", "within", "64 bits", "long"],
)
def test_a_receipt_is_a_json_object_and_all_that_it_says(data: bytes, receipt: Any) -> None:
    assert receipt_in(data) == receipt


async def deploys(world: World, folder: Path, *, execute: str, roll_back: str = "{}") -> str:
    """Let ana approve a deployment whose program prints these receipts; return its id."""
    for name, receipt in (("execute", execute), ("roll_back", roll_back)):
        (folder / name).write_text(receipt)
    verbs = {verb: ["cat", verb] for verb in ("execute", "roll_back")}
    program: Any = CommandTool(verbs, folder, os.environ, Leftovers(None))
    world.toolbox.tools["staging-deploy"] = program
    proposal_id = (await world.submits(STAGING)).proposal_id or ""
    await world.approves("ana", proposal_id)
    return proposal_id


@pytest.mark.parametrize(
    "receipt",
    [
        '{"affected_records": 70000, "affected_records": 1}',
        '{"affected_records": 1, "affected_records": 70000}',
        f'{{"affected_records": {LONG}}}',
        f'{{"affected_records": 2, "row_id": {LONG}}}',
        '{"effects": ["payment"], "effects": ["deploy"]}',
    ],
    ids=["the larger first", "the larger last", "very many", "beside a long id", "effects"],
)
async def test_A05_A11_more_than_the_envelope_allows_is_rolled_back_however_it_is_told(
    tmp_path: Path, receipt: str
) -> None:
    async with in_memory(tmp_path) as world:
        proposal_id = await deploys(world, tmp_path, execute=receipt)

        ended = await world.proposal(proposal_id)
        assert (ended.state, ended.reason) == ("rolled_back", "rolled_back_by_sentinel")


async def test_A05_what_still_stands_is_not_taken_for_nothing_because_it_is_told_twice(
    tmp_path: Path,
) -> None:
    told = '{"still_stands": ["host b"], "still_stands": []}'
    async with in_memory(tmp_path) as world:
        proposal_id = await deploys(world, tmp_path, execute="{}", roll_back=told)
        assert (await world.proposal(proposal_id)).state == "executing"

        await world.rejects("ana", proposal_id)

        left = await world.proposal(proposal_id)
        assert (left.state, left.attention) == ("executing", "rollback_incomplete")


async def test_A05_what_is_told_once_and_within_the_envelope_waits_for_its_window(
    tmp_path: Path,
) -> None:
    told = '{"affected_records": 1, "effects": ["deploy"]}'
    async with in_memory(tmp_path) as world:
        proposal_id = await deploys(world, tmp_path, execute=told)

        assert (await world.proposal(proposal_id)).state == "executing"
