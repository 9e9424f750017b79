"""Case I11 for buttons: what is pressed on a card that no row knows yet counts once one does.

A reaction stays on its card and is found there; a button leaves no trace on it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lifecycle.ports import StoreUnavailable
from tests.bot.chat.discord.standing import DUAL, counting
from tests.bot.chat.discord.test_old_renderings import goes_elsewhere
from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, DiscordStage, until
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack

DEPLOY = "production-deploy"
ENDS = pytest.mark.parametrize("end", ["completed", "rejected"])
CALLS = {"completed": ["execute"], "rejected": []}


def pressed_on_discord(stage: DiscordStage, card: Message, end: str) -> Any:
    """Let ana press Approve, or send the form behind Reject."""
    if end == "completed":
        return stage.server.clicks(ANA, card, "signoff:approve")
    return stage.server.submits(ANA, f"signoff:reason:{card.id}", card, reason="wrong version")


def presses_at_its_post(stage: DiscordStage, end: str) -> list[Any]:
    """Let ana press on the first card as soon as it stands; return where that interaction goes."""
    pressed = list[Any]()

    def press(message: Message) -> None:
        embeds = message.data["embeds"]
        if embeds and "PROPOSAL" in str(embeds[0].get("title")) and not pressed:
            pressed.append(pressed_on_discord(stage, message, end))

    stage.server.messages.before_answer = press
    return pressed


@ENDS
async def test_I11_a_button_pressed_before_the_post_has_answered_counts_on_discord(
    discord_stage: DiscordStage, end: str
) -> None:
    server = discord_stage.server
    server.messages.after_answer_s = 0.3
    pressed = presses_at_its_post(discord_stage, end)
    proposal_id = discord_stage.sends(PROD)

    await discord_stage.reaches(proposal_id, end)
    assert len(server.cards()) == 1
    assert discord_stage.tool(DEPLOY).verbs() == CALLS[end]
    assert await discord_stage.audit("ignored") == []
    (interaction,) = pressed
    await until(lambda: "by ana" in interaction.text, "ana is told")


async def presses_on_slack(slack: OnSlack, card: Any, end: str) -> None:
    """Let ana press Approve, or Reject and send the form behind it."""
    if end == "completed":
        await slack.server.presses("UANA", card, "signoff_approve")
        return
    await slack.server.presses("UANA", card, "signoff_reject")
    (view,) = await eventually(lambda: slack.server.workspace.views, "the form")
    await slack.server.submits("UANA", view, {"reason_text": "wrong version"})


@ENDS
async def test_I11_a_button_counts_on_slack_although_the_answer_to_the_post_is_lost(
    end: str,
) -> None:
    async with on_slack() as slack:
        slack.server.fails("chat.postMessage", "lost_answer", holding="unverified")
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        card = await eventually(lambda: next(iter(slack.cards("p1")), None), "a card")

        await presses_on_slack(slack, card, end)

        async def ended() -> bool:
            slack.world.clock.advance(1)
            slack.hearing.alive()
            slack.broadcast.nudge()
            await slack.world.workflow.open_ready()
            return (await slack.world.proposal("p1")).state.value == end

        await eventually_async(ended, end)
        assert len(slack.cards("p1")) == 1
        assert slack.world.tool(DEPLOY).verbs() == CALLS[end]
        assert await slack.codes() == []


@ENDS
async def test_I11_a_button_counts_on_slack_while_the_cards_file_is_still_being_attached(
    end: str,
) -> None:
    async with on_slack() as slack:
        slack.server.hold("files.getUploadURLExternal")
        parameters = {"version": "v42", "notes": "Nothing else changes. " * 500}
        document = slack.document(PROD, proposal_id="p1", parameters=parameters)
        await slack.server.proposes("ULEILA", document)
        (card,) = await eventually(lambda: slack.cards("p1"), "the card")
        await presses_on_slack(slack, card, end)
        await asyncio.sleep(0)
        slack.server.release("files.getUploadURLExternal")
        await slack.stands("p1", end)
        assert slack.world.tool(DEPLOY).verbs() == CALLS[end]
        assert await slack.codes() == []


async def test_I11_a_button_of_a_card_that_nobody_knows_is_answered_at_once_beside_one_refused(
    discord_stage: DiscordStage,
) -> None:
    """Nothing is waited for that Discord refused: it does not stand."""
    known = await discord_stage.proposes(PROD)
    card = await discord_stage.card(known)
    answer = next(
        message
        for message in discord_stage.server.state.messages["701"].values()
        if message.data["author"]["id"] == "900" and message.id != card.id
    )
    discord_stage.server.fails(
        "POST", "/channels/701/messages$", says="PROPOSAL", status=403, code=50013, times=None
    )
    discord_stage.sends(PROD, parameters={"version": "v43"})
    await until(lambda: "card_undelivered" in "".join(discord_stage.server.said()), "refused")

    pressed = discord_stage.server.clicks(ANA, answer, "signoff:approve")

    await until(lambda: "not known here" in pressed.text, "told", seconds=5)


async def test_I11_an_approval_on_a_card_that_was_judged_anew_before_it_is_written_counts_not(
    discord_stage: DiscordStage,
) -> None:
    """By then the card shows more than it did under the button."""
    stage = discord_stage
    stage.server.messages.after_answer_s = 2.5
    pressed = presses_at_its_post(stage, "completed")
    proposal_id = stage.sends(PROD, **DUAL)
    await until(lambda: pressed, "pressed")
    stage.server.messages.after_answer_s = 0
    await stage.card(proposal_id)
    await goes_elsewhere(stage)
    await stage.card(proposal_id)

    async def told() -> str:
        stage.clock.advance(1)
        return str(pressed[0].text)

    assert "It was judged anew" in await until(told, "ana is told")
    assert await counting(stage, proposal_id) == []


@ENDS
async def test_I11_a_button_on_a_card_that_cannot_be_written_down_is_not_lost_without_a_word(
    discord_stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """The store fails while the card is posted. A rejection counts as soon as it is back."""
    stage, takes = discord_stage, discord_stage.store.write
    pressed, worked = presses_at_its_post(stage, end), list[object]()
    waits = stage.surface.listening.inbox._waits  # type: ignore[union-attr]

    async def fails_from_then(unit: Any) -> Any:
        if pressed and not worked and not told:
            raise StoreUnavailable("database is locked")
        return await takes(unit)

    def in_vain(event_id: str, error: BaseException) -> None:
        worked.append(error)
        waits(event_id, error)

    told = list[str]()
    monkeypatch.setattr(stage.store, "write", fails_from_then)
    monkeypatch.setattr(stage.surface.listening.inbox, "_waits", in_vain)  # type: ignore[union-attr]
    proposal_id = stage.sends(PROD)
    await until(lambda: pressed, "pressed")

    async def answered() -> str:
        stage.clock.advance(1)
        return str(pressed[0].text)

    said = await until(answered, "ana is told")
    told.append(said)
    if end == "completed":
        assert "nothing was done" in said
        assert stage.tool(DEPLOY).calls == []
        return
    assert "is rejected by ana" in said
    assert (await stage.proposal(proposal_id)).state.value == "rejected"


async def test_I11_who_approves_what_is_no_card_is_told_however_long_another_is_in_doubt(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    card = await stage.card(await stage.proposes(PROD))
    messages = stage.server.state.messages["701"].values()
    answer = next(m for m in messages if m.data["author"]["id"] == "900" and m.id != card.id)
    doubt = stage.server.fails(
        "POST", "/channels/701/messages$", says="PROPOSAL", status=500, times=None
    )
    stage.sends(PROD, parameters={"version": "v43"})
    await until(lambda: doubt.seen > 1, "in doubt")
    pressed = stage.server.clicks(ANA, answer, "signoff:approve")

    async def told() -> str:
        stage.clock.advance(5)
        stage.surface.hearing.alive()
        stage.broadcast.nudge()
        return pressed.text

    assert "not known here" in await until(told, "told")
    again = stage.server.clicks(ANA, answer, "signoff:approve")
    await until(lambda: "not known here" in again.text, "told at once", seconds=5)
