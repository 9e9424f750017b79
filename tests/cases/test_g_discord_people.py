"""Cases G on Discord: who may decide there."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_server.state import APPROVERS_ROLE, GUILD
from tests.fakes.discord_stage import (
    ANA,
    BEN,
    CAL,
    CROSS,
    LEILA,
    NOUR,
    TICK,
    DiscordStage,
    until,
)

DUAL = {"approval_class": "dual"}
#: A role that is named as the reviewers' is, and is another; no other number holds it by chance.
ALIKE = "730259183746501928"


async def told(stage: DiscordStage, person: str) -> str:
    """Wait for the one note to a person."""
    to = f"{person}:"
    (note,) = await until(
        lambda: [text for text in stage.server.said() if text.startswith(to)], "a note"
    )
    return note


async def test_G01_the_proposer_may_not_review_own_proposal(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(PROD, bot=ANA)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, card, TICK)
    await discord_stage.ignored("own_proposal")
    assert "Nobody approves a proposal of their own" in await told(discord_stage, "ana")
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    discord_stage.server.reacts(BEN, card, TICK)
    await discord_stage.reaches(proposal_id, "completed")
    assert [review.person for review in await discord_stage.reviews(proposal_id)] == ["ben"]


async def test_G01_the_owner_of_an_agent_may_not_approve_what_it_proposes(
    discord_unstarted: DiscordStage,
) -> None:
    stage, agents = discord_unstarted, discord_unstarted.policy.agents
    owned = {**agents, "leila": replace(agents["leila"], owner="ana")}
    stage.policy = replace(stage.policy, agents=owned)
    await stage.begins()
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("owner_of_agent")
    assert "The owner of an agent may stop its proposals" in await told(stage, "ana")
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"
    stage.server.reacts(BEN, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert [review.person for review in await stage.reviews(proposal_id)] == ["ben"]


async def test_G02_an_agent_cannot_answer_for_itself(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    discord_stage.server.reacts(LEILA, await discord_stage.card(proposal_id), TICK)
    await discord_stage.ignored("own_proposal")
    discord_stage.server.says(LEILA, f"!approve {proposal_id}")
    await discord_stage.ignored("own_proposal", 2)
    forged = json.dumps({"approve": proposal_id, "approver": "1001"})
    discord_stage.server.says(LEILA, f"!propose {forged}")
    await until(
        lambda: [a for a in discord_stage.answers() if a["reason"] == "unknown_kind"], "refused"
    )
    rows = await discord_stage.audit("ignored", "own_proposal")
    rows += await discord_stage.audit("refused", "unknown_kind")
    assert [row["actor"]["id"] for row in rows] == ["leila"] * 3
    assert [row["details"]["account"] for row in rows] == [LEILA] * 3
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert await discord_stage.reviews(proposal_id) == []


async def test_G03_who_is_no_reviewer_changes_nothing_and_is_told_once(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(CAL, card, TICK)
    await discord_stage.ignored("not_a_reviewer")
    discord_stage.server.reacts(CAL, card, CROSS)
    await discord_stage.ignored("not_a_reviewer", 2)
    await discord_stage.quiet()
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert len([t for t in discord_stage.server.said() if t.startswith("cal:")]) == 1


async def test_G04_every_way_to_decide_is_the_same_law(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(CAL, card, TICK)
    await discord_stage.ignored("not_a_reviewer")
    printed = re.search(r"`(!approve \S+)[^`]*`", str(card.data["embeds"]))
    assert printed is not None
    discord_stage.server.says(CAL, printed[1])
    by_emoji, by_word = await discord_stage.ignored("not_a_reviewer", 2)
    assert by_emoji["actor"] == by_word["actor"] == {"kind": "person", "id": "cal"}
    assert by_emoji["proposal_id"] == by_word["proposal_id"] == proposal_id
    assert await discord_stage.reviews(proposal_id) == []
    discord_stage.server.says(ANA, printed[1])
    await discord_stage.reaches(proposal_id, "completed")
    assert [review.person for review in await discord_stage.reviews(proposal_id)] == ["ana"]


async def test_G04_whatever_a_card_tells_people_to_type_works_as_it_is_printed(
    discord_stage: DiscordStage,
) -> None:
    mail, deploy = await discord_stage.proposes(), await discord_stage.proposes(PROD)
    for proposal_id, word, state in (
        (mail, "approve", "executing"),
        (mail, "roll-back", "rolled_back"),
        (deploy, "reject", "rejected"),
    ):
        await discord_stage.quiet()
        card = await discord_stage.card(proposal_id)
        (printed,) = re.findall(rf"`(!{word} [^`]+)`", str(card.data["embeds"]))
        discord_stage.server.says(ANA, printed)
        await discord_stage.reaches(proposal_id, state)


async def test_G06_names_are_not_identities(discord_unstarted: DiscordStage) -> None:
    stage, state = discord_unstarted, discord_unstarted.server.state
    state.roles[ALIKE] = state.roles[APPROVERS_ROLE] | {"id": ALIKE}
    members = state.members[GUILD]
    members[CAL]["nick"] = "ana (ops)"
    members[CAL]["roles"] = [ALIKE]
    members[CAL]["user"] |= {"username": "ana", "global_name": "Ana"}
    members[ANA]["user"] |= {"username": "x", "global_name": "x"}
    await stage.begins()
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    assert APPROVERS_ROLE in str(card.data["content"])
    stage.server.reacts(CAL, card, TICK)
    (row,) = await stage.ignored("not_a_reviewer")
    assert row["actor"]["id"] == "cal"
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert ALIKE not in str([call.json for call in stage.server.calls])


async def test_G08_one_person_acting_twice_is_one(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(PROD, **DUAL)
    first = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, first, TICK)
    await until(lambda: discord_stage.reviews(proposal_id), "counted")
    discord_stage.server.unreacts(ANA, first, TICK)
    await until(lambda: discord_stage.audit("approval_taken_back"), "taken back")
    discord_stage.server.reacts(ANA, first, TICK)

    async def twice() -> bool:
        return len(await discord_stage.reviews(proposal_id)) == 2

    await until(twice, "counted again")
    discord_stage.server.deletes(first)

    async def again() -> bool:
        return (await discord_stage.card(proposal_id)).id != first.id

    await until(again, "posted again")
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), TICK)
    await discord_stage.ignored("already_counted")
    await discord_stage.quiet()
    counting = [each for each in await discord_stage.reviews(proposal_id) if each.counts]
    assert [review.person for review in counting] == ["ana"]
    again_shown = str((await discord_stage.card(proposal_id)).data["embeds"])
    assert "approved by 1 of 2 (ana)" in again_shown
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert discord_stage.tool("production-deploy").calls == []


async def test_G10_distinct_and_eligible_are_two_tests(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(PROD, **DUAL)
    card = await discord_stage.card(proposal_id)
    await until(lambda: card.who(TICK) == ["900"], "our own seed")
    for account in (ANA, CAL, NOUR):
        discord_stage.server.reacts(account, card, TICK)
    await discord_stage.ignored("not_a_reviewer", 2)
    await discord_stage.quiet()
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"


async def test_G12_the_sender_is_who_the_platform_says(discord_stage: DiscordStage) -> None:
    for number, actor in enumerate(("nour", "human-overseer")):
        document = a_document(MAIL, proposal_id=f"p{number}", actor=actor)
        discord_stage.server.says(LEILA, f"!propose {json.dumps(document)}")
    answers = await until(
        lambda: found if len(found := discord_stage.answers()) == 2 else None, "answers"
    )
    assert [answer["reason"] for answer in answers] == ["actor_mismatch", "actor_mismatch"]
    rows = await discord_stage.audit("refused")
    assert [row["actor"]["id"] for row in rows] == ["leila", "leila"]
    assert [row["details"]["account"] for row in rows] == [LEILA, LEILA]
    store = discord_stage.store
    assert await store.read(lambda tx: tx.proposals.ids_after("", 10)) == []
    assert await store.read(lambda tx: tx.uses.since("nour", MAIL["tool"], 0)) == []
