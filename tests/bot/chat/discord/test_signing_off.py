"""People sign off on Discord: emoji, buttons, replies, and everything that is none of these."""

from __future__ import annotations

import json

import pytest

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.builders import MAIL, PROD
from tests.fakes.discord_server.state import CHANNEL, FOREIGN_CHANNEL, FOREIGN_GUILD, OTHER_CHANNEL
from tests.fakes.discord_stage import (
    ANA,
    BEN,
    CAL,
    CROSS,
    DEE,
    LEILA,
    OLGA,
    TICK,
    DiscordStage,
    until,
)
from tests.stories.test_plans import HINTS, an_envelope

DUAL = {"approval_class": "dual"}


async def test_a_tick_opens_the_window_and_a_cross_within_it_rolls_back(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes()
    card = await stage.card(proposal_id)
    await until(lambda: card.who(TICK) == ["900"] and card.who(CROSS) == ["900"], "both seeds")

    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "executing")
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rolled_back")

    await until(lambda: "900" not in card.who(TICK) + card.who(CROSS), "the seeds are taken off")
    card = await stage.card(proposal_id)
    assert card.data["components"] == []
    assert "rolled_back_by_person" in str(card.data["embeds"])


async def test_a_window_that_nobody_opposed_closes_by_time(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes()
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "executing")
    await stage.passes(minutes=15, seconds=1)
    done = await stage.reaches(proposal_id, "completed")
    assert done.reason == "window_closed_unopposed"
    assert stage.tool("send-email").verbs() == ["execute", "commit"]


async def test_two_people_are_two_and_a_tick_taken_back_is_none(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "a review")
    stage.server.unreacts(ANA, card, TICK)
    await until(lambda: stage.audit("approval_taken_back"), "taken back")
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")


async def test_who_may_not_review_is_told_once_and_the_reaction_is_taken_off(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    for emoji in (TICK, CROSS):
        stage.server.reacts(CAL, card, emoji)
    await stage.ignored("not_a_reviewer", 2)
    await until(lambda: CAL not in card.who(TICK) + card.who(CROSS), "taken off")
    await stage.quiet()
    assert len([text for text in stage.server.said() if text.startswith("cal:")]) == 1
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"


async def test_the_owner_of_an_agent_stops_it_and_never_approves_it(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    stage.server.reacts(OLGA, card, TICK)
    await stage.ignored("not_a_reviewer")
    stage.server.reacts(OLGA, card, CROSS)
    assert (await stage.reaches(proposal_id, "rejected")).reason == "rejected_by_person"


async def test_an_agent_bot_never_approves_its_own(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    stage.server.reacts(LEILA, await stage.card(proposal_id), TICK)
    await stage.ignored("own_proposal")


@pytest.mark.parametrize(
    "emoji", ["✔️", "☑", "👍", "❎", "✖", "✅:123456", "white_check_mark:99", "x:5"]
)
async def test_other_emoji_mean_nothing(stage: DiscordStage, emoji: str) -> None:
    proposal_id = await stage.proposes(PROD)
    stage.server.reacts(ANA, await stage.card(proposal_id), emoji)
    await stage.quiet()
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"


@pytest.mark.parametrize("emoji", ["✅", "✅\ufe0f"])
async def test_a_variation_selector_changes_no_meaning(stage: DiscordStage, emoji: str) -> None:
    proposal_id = await stage.proposes(PROD)
    stage.server.reacts(ANA, await stage.card(proposal_id), emoji)
    await stage.reaches(proposal_id, "completed")


async def test_a_super_reaction_counts_and_once(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK, burst=True)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "a review")
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    assert [review.counts for review in await stage.reviews(proposal_id)] == [True]


async def test_cleared_reactions_change_no_review_and_the_seeds_come_back(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    await until(lambda: card.who(CROSS) == ["900"], "seeds")
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "a review")
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == ["900"] and card.who(CROSS) == ["900"], "put back")
    stage.server.clears(card, TICK)
    await until(lambda: card.who(TICK) == ["900"], "put back")
    assert [review.counts for review in await stage.reviews(proposal_id)] == [True]
    assert len(await stage.audit("card_cleared")) == 2


async def test_a_deleted_card_is_posted_again_and_the_old_review_stands(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    first = await stage.card(proposal_id)
    stage.server.reacts(ANA, first, TICK)
    await until(lambda: stage.reviews(proposal_id), "a review")
    stage.server.deletes(first)

    async def again() -> bool:
        return (await stage.card(proposal_id)).id != first.id

    await until(again, "posted again")
    stage.server.reacts(BEN, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "completed")
    assert stage.server.called("POST", "messages$")[-1].json["allowed_mentions"]["parse"] == []


async def test_reactions_elsewhere_are_audited_and_do_nothing(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    stage.server.state.join("900", guild=FOREIGN_GUILD)
    for channel in (OTHER_CHANNEL, FOREIGN_CHANNEL):
        copy = stage.server.says("900", "a copy", channel=channel, embeds=card.data["embeds"])
        stage.server.reacts(ANA, copy, TICK)
    await stage.ignored("wrong_place", 2)
    await until(
        lambda: [
            m
            for m in stage.server.state.messages["701"].values()
            if m.data["content"] == "ana: Decisions count in the configured channel alone."
        ],
        "the note about it",
    )
    stage.server.reacts(BEN, copy, TICK, message_author_id=None)
    await stage.ignored("wrong_place", 3)
    await stage.quiet()
    assert not [said for said in stage.server.said() if said.startswith("ben:")], "whose is it?"
    help_message = stage.server.says("900", "help")
    stage.server.reacts(ANA, help_message, TICK)
    await stage.ignored("unknown_proposal")
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"


async def test_a_reply_to_the_card_gives_the_reason_behind_a_cross(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes()
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    stage.server.says(ANA, "Discount not approved", reply_to=card.id)
    await until(lambda: stage.audit("reason_given"), "the reason")
    assert (await stage.proposal(proposal_id)).explanation == "Discount not approved"
    await until(
        lambda: [a for a in stage.answers() if a["state"] == "rejected"], "its agent is told"
    )


async def test_a_thread_under_the_card_takes_the_reason_as_well(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes()
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    thread = stage.server.opens_thread(card)
    stage.server.says(ANA, "Wrong customer", channel=thread)
    await until(lambda: stage.audit("reason_given"), "the reason")
    assert (await stage.proposal(proposal_id)).explanation == "Wrong customer"


async def test_the_first_reply_of_a_reviewer_under_a_question_is_its_answer(
    stage: DiscordStage,
) -> None:
    plan = {"proposalKind": "refinementPlan", "candidateRefs": HINTS}
    envelope = an_envelope(stage, [], plan, intent="May I refund order 17?")
    leila = Sender("terminal", ActorKind.AGENT, "leila", account="leila")
    answer = await stage.workflow.submit(json.dumps(envelope).encode(), leila)
    asked, standing = str(answer.result["question_id"]), stage.server.state.messages[CHANNEL]
    asks_it = await until(
        lambda: next((m for m in standing.values() if asked in m.data["content"]), None),
        "the question",
    )

    stage.server.says(CAL, "I wonder", reply_to=asks_it.id)
    stage.server.says(BEN, "Yes, but only once.", reply_to=asks_it.id)
    (entry,) = await until(lambda: stage.audit("question_answered"), "the answer")

    assert entry["actor"] == {"kind": "person", "id": "ben"}
    assert entry["details"]["answer"] == "Yes, but only once."


async def test_buttons_work_and_reject_asks_why(stage: DiscordStage) -> None:
    first, second = (
        await stage.proposes(),
        await stage.proposes(parameters={**MAIL["parameters"], "body": "2"}),
    )
    pressed = stage.server.clicks(ANA, await stage.card(first), "signoff:approve")
    await stage.reaches(first, "executing")
    await until(lambda: "Approved by ana" in pressed.text, "answered")

    card = await stage.card(second)
    asked = stage.server.clicks(ANA, card, "signoff:reject")
    form = await until(lambda: asked.callback, "a form")
    assert form["type"] == 9
    stage.server.submits(ANA, form["data"]["custom_id"], card, text="Not this customer")
    done = await stage.reaches(second, "rejected")
    assert done.explanation == "Not this customer"


async def test_buttons_of_a_card_from_before_a_restart_work(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await stage.restarts()
    stage.server.clicks(BEN, card, "signoff:approve")
    await stage.reaches(proposal_id, "completed")


async def test_a_button_is_the_same_law_as_the_emoji(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    pressed = stage.server.clicks(CAL, await stage.card(proposal_id), "signoff:approve")
    await stage.ignored("not_a_reviewer")
    await until(lambda: "approvers" in pressed.text, "told")
    assert pressed.acknowledged_after_s is not None
    assert pressed.acknowledged_after_s < 3


async def test_who_has_left_the_server_does_not_count(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    stage.server.reacts(DEE, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "a review")
    del stage.server.state.members["700"][DEE]
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"
    stage.server.reacts(BEN, card, TICK)
    await stage.reaches(proposal_id, "completed")
