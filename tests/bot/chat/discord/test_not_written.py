"""Words that Discord writes in somebody's name, as of a thread's new name, are nobody's words."""

from __future__ import annotations

import json

import pytest

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.builders import PROD
from tests.fakes.discord_server.state import CHANNEL
from tests.fakes.discord_stage import ANA, BEN, CROSS, LEILA, DiscordStage, until
from tests.stories.test_plans import HINTS, an_envelope

RENAMED, THREAD_BEGUN, STAGE_TOPIC, NOT_KNOWN_YET = 4, 18, 31, 99


async def test_the_new_name_of_a_cards_thread_is_no_reason(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    thread = stage.server.opens_thread(card)
    stage.server.reacts(ANA, card, CROSS)
    await stage.reaches(proposal_id, "rejected")

    stage.server.says(ANA, "deployments of may", channel=thread, type=RENAMED)
    stage.server.says(ANA, "Not on a Friday", channel=thread)
    await until(lambda: stage.audit("reason_given"), "the reason")

    assert (await stage.proposal(proposal_id)).explanation == "Not on a Friday"


async def test_the_new_name_of_a_questions_thread_is_no_answer(stage: DiscordStage) -> None:
    plan = {"proposalKind": "refinementPlan", "candidateRefs": HINTS}
    envelope = an_envelope(stage, [], plan, intent="May I refund order 17?")
    leila = Sender("terminal", ActorKind.AGENT, "leila", account="leila")
    answer = await stage.workflow.submit(json.dumps(envelope).encode(), leila)
    asked, standing = str(answer.result["question_id"]), stage.server.state.messages[CHANNEL]
    asks_it = await until(
        lambda: next((m for m in standing.values() if asked in m.data["content"]), None),
        "the question",
    )
    thread = stage.server.opens_thread(asks_it)

    stage.server.says(ANA, "yes, refunds", channel=thread, type=RENAMED)
    stage.server.says(BEN, "No.", channel=thread)
    (entry,) = await until(lambda: stage.audit("question_answered"), "the answer")

    assert entry["details"]["answer"] == "No."


@pytest.mark.parametrize("kind", [RENAMED, THREAD_BEGUN, STAGE_TOPIC, NOT_KNOWN_YET])
async def test_a_name_that_reads_like_a_command_is_none(stage: DiscordStage, kind: int) -> None:
    proposal_id = await stage.proposes(PROD)

    stage.server.says(ANA, f"!approve {proposal_id}", type=kind)
    await stage.quiet()

    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert await stage.reviews(proposal_id) == []


async def test_a_forward_does_not_pass_for_a_message_that_came_empty(stage: DiscordStage) -> None:
    card = await stage.card(await stage.proposes(PROD))
    forward = {"type": 1, "message_id": card.id, "channel_id": CHANNEL}

    stage.server.says(LEILA, "", message_reference=forward)
    await stage.quiet()

    assert "Message Content Intent" not in str(stage.surface.health())


async def test_buttons_alone_do_not_pass_for_a_message_that_came_empty(
    stage: DiscordStage,
) -> None:
    await stage.proposes(PROD)
    link = {"type": 2, "style": 5, "label": "more", "url": "https://shop.example"}

    stage.server.says(LEILA, "", components=[{"type": 1, "components": [link]}])
    await stage.quiet()

    assert "Message Content Intent" not in str(stage.surface.health())
