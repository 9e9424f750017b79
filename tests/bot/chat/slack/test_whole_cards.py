"""A card on Slack is approved whole: cut, only with the bot's own file, and posted by the bot."""

from __future__ import annotations

import pytest

from bot.storage.memory import MemoryStore
from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, mention
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack, shown

#: Five notes that just fit a card; whoever adds a word has it cut.
ROOMY = PROD["parameters"] | {f"note{each}": f"word{each} " * 250 for each in range(5)}
CUT = PROD["parameters"] | {"note": "secretly evil " * 400}


def attached(slack: OnSlack, card: Message) -> list[str]:
    """Return the whole texts that the bot itself put into the thread of a card."""
    workspace = slack.server.workspace
    ours = [m for m in workspace.replies("C0OPS", card.ts) if m.user == workspace.bot_user]
    return [workspace.files[each["id"]].body.decode() for m in ours for each in m.files]


async def forged(slack: OnSlack) -> Message:
    """Let leila put files under the names of the bot's own before the bot has looked for them."""
    slack.server.hold("conversations.replies")
    document = slack.document(PROD, proposal_id="p1", parameters=CUT)
    await slack.server.proposes("ULEILA", document)
    await eventually(lambda: slack.server.waiting("conversations.replies"), "looking for its file")
    (card,) = slack.cards("p1")
    files = [slack.server.a_file(f"p1-v{each}.txt", b"all harmless") for each in range(1, 12)]
    await slack.server.says("ULEILA", "here", thread_ts=card.ts, files=files)
    slack.server.release("conversations.replies")
    return await slack.card("p1")


async def test_a_card_that_an_edit_has_cut_carries_its_file() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, parameters=ROOMY, **DUAL)
        assert "full text attached" not in shown(card)
        await slack.server.says("UANA", mention(slack, "approve p1 " + "because " * 240))
        await eventually(lambda: "full text attached" in shown(card), "cut")
        await eventually(lambda: attached(slack, card), "its file")
        await eventually_async(slack.nothing_stale, "written down")
        assert "because " * 239 in attached(slack, card)[-1]
        assert (await slack.card_row("p1")).full


async def test_a_card_that_an_edit_has_cut_is_not_approved_without_its_file() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, parameters=ROOMY, **DUAL)
        slack.server.fails("files.getUploadURLExternal", error="missing_scope", times=None)
        await slack.server.says("UANA", mention(slack, "approve p1 " + "because " * 240))
        await eventually(lambda: "full text attached" in shown(card), "cut")
        await slack.settles()
        await eventually_async(slack.nothing_stale, "written down")
        await slack.server.reacts("UBEN", card.ts)
        await all_done(slack)
        assert await slack.codes("p1") == ["not_fully_shown"]
        assert slack.world.tool(DEPLOY).calls == []


async def failed_once(slack: OnSlack) -> Message:
    """Let a card be posted whose file Slack does not take for the moment."""
    slack.server.fails("files.getUploadURLExternal", "status", times=None)
    card = await slack.proposes(PROD, parameters=CUT)
    await eventually_async(slack.nothing_stale, "written down")
    assert not (await slack.card_row("p1")).full
    return card


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_file_that_could_not_be_attached_for_the_moment_is_attached_soon(
    restarted: bool,
) -> None:
    async with on_slack() as slack:
        card = await failed_once(slack)
        if restarted:
            await slack.closes()
        slack.server.faults.clear()
        if restarted:
            await slack.restarts()

        async def whole() -> bool:
            return (await slack.card_row("p1")).full

        await eventually_async(whole, "its file")
        assert len(attached(slack, card)) == 1
        await slack.settles()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")


async def test_a_file_is_put_under_no_card_whose_proposal_has_ended() -> None:
    async with on_slack() as slack:
        card = await failed_once(slack)
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.stands("p1", "rejected")
        slack.server.faults.clear()
        desk = slack.surface.desk
        assert desk is not None
        await eventually(lambda: not desk.files.waiting, "let go of")


async def test_a_file_that_somebody_else_put_there_does_not_make_a_card_whole() -> None:
    async with on_slack() as slack:
        slack.server.fails("files.getUploadURLExternal", error="missing_scope", times=None)
        card = await forged(slack)
        assert not (await slack.card_row("p1")).full
        await slack.server.reacts("UANA", card.ts)
        await all_done(slack)
        assert await slack.codes("p1") == ["not_fully_shown"]
        assert slack.world.tool(DEPLOY).calls == []


async def test_the_bot_puts_its_own_file_beside_one_of_that_name() -> None:
    async with on_slack() as slack:
        card = await forged(slack)
        (whole,) = attached(slack, card)
        assert CUT["note"].strip() in whole
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")


async def test_a_message_of_somebody_else_never_counts_as_posted_by_the_bot() -> None:
    """Whoever writes the bot's key into a message of theirs could keep the bot from speaking."""
    async with on_slack() as slack:
        desk = slack.surface.desk
        assert desk is not None
        message, _ = await slack.server.says("ULEILA", "hello")
        message.metadata = {"event_type": "signoff", "event_payload": {"key": "said:1"}}
        own_ts = await desk.rest.post("said:2", "the bot's word")
        desk.rest.doubt({"said:1", "said:2"})

        assert await desk.rest.posted_before("said:1") is None
        assert await desk.rest.posted_before("said:2") == own_ts


async def test_N06_cards_whose_rows_are_gone_are_one_note_and_an_answer_is_no_card(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        answer = next(m for m in slack.server.workspace.messages if "```" in m.text)
        await slack.closes()
        slack.world.workflow.world.store = MemoryStore()
        await slack.restarts()
        for message in (answer, card):
            await slack.server.reacts("UANA", message.ts)
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.settles()
        (told,) = [hint for hint in slack.hints() if "not known here" in hint]
        assert "pending" in told
        assert f"message {card.ts}, which is no card" in caplog.text


async def test_nothing_of_a_card_is_folded_away_behind_see_more() -> None:
    """Slack may show a long section in part unless it is told not to."""
    async with on_slack() as slack:
        document = slack.document(PROD, proposal_id="p1", parameters=ROOMY)
        await slack.server.proposes("ULEILA", document)
        card = await slack.card("p1")
        sections = [block for block in card.blocks if block["type"] == "section"]
        assert len(sections) > 5
        assert all(block.get("expand") is True for block in sections)
