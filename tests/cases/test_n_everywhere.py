"""Cases N03, N05 and N06 word by word, on each surface."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import Policy
from tests.builders import MAIL, PROD, a_policy
from tests.places import SURFACES, AtDiscord, AtSlack, Place, at, proposes

everywhere = pytest.mark.parametrize("surface", SURFACES)

INSIDE = re.compile(r"Traceback|Error\b|Exception|0x[0-9a-f]{6}|\.py\b|sqlite|lifecycle\.")


async def reacts(place: Place, who: str, proposal_id: str, emoji: str) -> None:
    """React to a card; in the terminal, where nobody can, type the same."""
    match place:
        case AtDiscord():
            accounts = {"ana": "1001", "ben": "1002", "cal": "1003", "nour": "912"}
            card = await place.stage.card(proposal_id)
            place.stage.server.reacts(accounts[who], card, emoji)
        case AtSlack():
            name = {"✅": "white_check_mark", "❌": "x"}[emoji]
            (card,) = place.slack.cards(proposal_id)
            await place.slack.server.reacts(f"U{who.upper()}", card.ts, name)
        case _:
            word = {"✅": "approve", "❌": "reject"}[emoji]
            await place.says(who, f"{word} {proposal_id}{' no' * (word == 'reject')}")
    await place.settles()


async def rows_of(place: Place) -> list[Mapping[str, Any]]:
    rows = await place.workflow.world.store.read(lambda tx: tx.audit.exported(0, 999))
    return [row for row in rows if row["proposal_id"] is not None]


async def passes(place: Place, *, minutes: int) -> None:
    """Let time pass in which the lines go on answering pings and the jobs do their work."""
    broadcast: Any = place.workflow.world.notifier
    for _ in range(minutes * 3):
        place.clock.advance(20)
        if isinstance(place, AtSlack):
            place.slack.hearing.alive()
        await broadcast.catch_up()
        await place.workflow.close_due()
    await place.settles()


def everybody() -> Policy:
    """Return the policy of the legend, in which cal and nour have an account on every surface."""
    policy = a_policy()
    cal = replace(policy.people["cal"], terminal=True)
    nour = policy.agents["nour"]
    nour = replace(nour, terminal=True, accounts={**nour.accounts, "slack": "T1/UNOUR"})
    people, agents = {**policy.people, "cal": cal}, {**policy.agents, "nour": nour}
    return replace(policy, people=people, agents=agents)


# -- N05 ----------------------------------------------------------------------------------


@everywhere
async def test_N05_two_lives_and_two_vain_attempts_stand_in_the_trail_with_all_that_is_asked_later(
    surface: str,
) -> None:
    async with at(surface, everybody()) as place:
        await proposes(place, MAIL, proposal_id="mail")
        await proposes(place, PROD, proposal_id="prod")
        await reacts(place, "cal", "mail", "✅")
        await reacts(place, "nour", "prod", "✅")
        await reacts(place, "ana", "mail", "✅")
        await reacts(place, "ben", "prod", "✅")
        await passes(place, minutes=16)
        rows = await rows_of(place)
        moves = [(r["proposal_id"], r["from"], r["to"], r["actor"]["id"]) for r in rows if r["to"]]
        assert moves == [
            ("mail", None, "pending", "leila"),
            ("mail", "pending", "sentinel_approved", "sentinel"),
            ("prod", None, "pending", "leila"),
            ("prod", "pending", "sentinel_approved", "sentinel"),
            ("mail", "sentinel_approved", "executing", "ana"),
            ("prod", "sentinel_approved", "executing", "ben"),
            ("prod", "executing", "completed", "production-deploy"),
            ("mail", "executing", "completed", "clock"),
        ]
        vain = [(r["proposal_id"], r["actor"]["id"], r["reason"]) for r in rows if is_vain(r)]
        assert vain == [("mail", "cal", "not_a_reviewer"), ("prod", "nour", "not_a_reviewer")]
        digests = {row["proposal_id"]: row["digest"] for row in rows}
        for row in rows:
            assert row["digest"] == digests[row["proposal_id"]]
            assert row["policy_digest"] == place.workflow.policy.digest
            assert row["at"].startswith("2026-03-02T12:")
        acts = [row for row in rows if row["kind"] in ("submitted", "reviewed", "ignored")]
        assert {row["surface"] for row in acts} == {surface}
        if surface != "terminal":  # what is typed there is no event with an id
            assert len({row["event_id"] for row in acts} - {None}) == len(acts) == 6


def is_vain(row: Mapping[str, Any]) -> bool:
    return bool(row["kind"] == "ignored")


# -- N06 ----------------------------------------------------------------------------------


@everywhere
async def test_N06_late_repeated_and_misspelt_acts_are_answered_with_what_is_known_and_to_do(
    surface: str,
) -> None:
    async with at(surface) as place:
        await proposes(place, PROD, proposal_id="p1")
        await place.says("ana", "approve nope")
        assert "No proposal has the id 'nope'" in words_of(place)
        assert "pending" in words_of(place)
        for _ in range(2):
            await place.says("ana", "approve p1")
        assert words_of(place).count("Already decided: completed (tool_succeeded)") == 1
        for emoji in ("✅", "❌"):
            await reacts(place, "ben", "p1", emoji)
        assert words_of(place).count("Already decided: completed (tool_succeeded)") >= 2
        assert INSIDE.findall(words_of(place)) == []
        rows = await place.workflow.world.store.read(lambda tx: tx.audit.exported(0, 999))
        vain = [row for row in rows if is_vain(row)]
        assert [(row["actor"]["id"], row["reason"]) for row in vain] == [
            ("ana", "unknown_proposal"),
            ("ana", "already_decided"),
            ("ben", "already_decided"),
            ("ben", "window_closed"),
        ]
        digest = next(row["digest"] for row in rows if row["kind"] == "submitted")
        assert [row["digest"] for row in vain] == [None, *[digest] * 3]
        assert {row["surface"] for row in vain} == {surface}
        if surface != "terminal":
            assert len({row["event_id"] for row in vain} - {None}) == 4


def words_of(place: Place) -> str:
    return place.all_of_ours().replace("\\\\", "").replace("\\", "")
