"""A reason of which nobody sees a word is none: the ❌ counts, and its reason is still awaited."""

from __future__ import annotations

from tests.builders import UNSEEN
from tests.fakes.discord_stage import ANA, CROSS, DiscordStage, until

REASON = "Discount not approved"


async def only_reason(stage: DiscordStage) -> str:
    await stage.quiet()
    (given,) = await stage.audit("reason_given")
    return str(given["details"]["why"])


async def test_a_reply_of_which_nobody_sees_a_word_leaves_the_reason_awaited(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes()
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    for words in (*UNSEEN, REASON):
        stage.server.says(ANA, words, reply_to=card.id)
        await stage.quiet()
    assert await only_reason(stage) == REASON


async def test_a_form_in_which_nobody_sees_a_word_stops_and_leaves_the_reason_awaited(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes()
    card = await stage.card(proposal_id)
    asked = stage.server.clicks(ANA, card, "signoff:reject")
    form = await until(lambda: asked.callback, "a form")
    stage.server.submits(ANA, form["data"]["custom_id"], card, text=UNSEEN[0])
    done = await stage.reaches(proposal_id, "rejected")
    assert done.explanation == "Rejected by ana."

    stage.server.says(ANA, REASON, reply_to=card.id)
    assert await only_reason(stage) == REASON
