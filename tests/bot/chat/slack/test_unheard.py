"""What nobody heard on Slack still counts, what was withdrawn does not, and no stop is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bot.storage.memory import MemoryStore
from lifecycle.review import Review
from lifecycle.sentinel_run import Sentinel
from sentinel_rules import load_rules
from tests.builders import MAIL, PROD
from tests.fakes.slack_server.sockets import Envelope
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack, shown

DEPLOY, SEND = "production-deploy", "send-email"
DUAL = {"approval_class": "dual"}
#: Five notes that just fit a card; whoever adds a word has it cut.
ROOMY = PROD["parameters"] | {f"note{each}": f"word{each} " * 250 for each in range(5)}
CUT = PROD["parameters"] | {"note": "secretly evil " * 400}


async def reviews(slack: OnSlack) -> Sequence[Review]:
    return await slack.world.store.read(lambda tx: tx.reviews.of("p1"))


async def counting(slack: OnSlack) -> list[str]:
    return [review.person for review in await reviews(slack) if review.counts]


async def state(slack: OnSlack) -> str:
    return (await slack.world.proposal("p1")).state.value


async def all_done(slack: OnSlack) -> None:
    """Let everything that was delivered, and what it opened, come to its end."""
    await slack.settles()
    await slack.world.workflow.open_ready()
    await slack.settles()


def mention(slack: OnSlack, words: str) -> str:
    return f"<@{slack.server.workspace.bot_user}> {words}"


# -- a ❌ that nobody heard yet ---------------------------------------------------------------


async def test_a_standing_cross_that_nobody_heard_beats_the_check_mark_that_comes() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, "x", heard=False)
        await slack.server.reacts("UBEN", card.ts)
        await all_done(slack)
        await slack.stands("p1", "rejected")
        (stopped,) = await reviews(slack)
        assert (stopped.person, stopped.decision.value) == ("ana", "reject")
        assert slack.world.tool(DEPLOY).calls == []


async def test_a_standing_cross_of_somebody_who_may_not_stop_holds_up_nobody() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UCAL", card.ts, "x", heard=False)
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        assert await counting(slack) == ["ben"]
        assert await slack.codes("p1") == []
        await slack.server.reacts("UCAL", card.ts, "x")  # it is heard after all: one attempt
        await slack.settles()
        assert await slack.codes("p1") == ["not_a_reviewer"]


# -- what was withdrawn -----------------------------------------------------------------------


async def standing(slack: OnSlack, count: int) -> Message:
    """Return the newest of so many cards once it has its seeds: where edits are forbidden, each
    change is a card of its own."""
    await eventually(lambda: len(slack.cards("p1")) == count, f"{count} cards")
    return await slack.card("p1")


async def test_a_check_mark_taken_off_a_card_that_was_replaced_withdraws_the_approval() -> None:
    async with on_slack() as slack:
        first = await slack.proposes(PROD, **DUAL)
        slack.server.fails("chat.update", "error", error="edit_window_closed", times=None)
        await slack.server.reacts("UANA", first.ts)
        await standing(slack, 2)
        await slack.server.unreacts("UANA", first.ts)
        await slack.settles()
        assert await counting(slack) == []

        await slack.server.reacts("UBEN", (await standing(slack, 3)).ts)
        await all_done(slack)
        assert await counting(slack) == ["ben"]
        assert slack.world.tool(DEPLOY).calls == []
        await slack.server.reacts("UANA", (await standing(slack, 4)).ts)
        await eventually(lambda: slack.world.tool(DEPLOY).calls, "both approve by now")


# -- what a card does not show itself ---------------------------------------------------------


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


# -- a stop while nothing can be stored -------------------------------------------------------


async def in_window(slack: OnSlack) -> Message:
    card = await slack.proposes(MAIL)
    await slack.server.reacts("UANA", card.ts)
    await slack.stands("p1", "executing")
    await slack.settles()
    return card


async def acknowledged(envelope: Any) -> None:
    assert isinstance(envelope, Envelope)
    await eventually(envelope.acked.is_set, "acknowledging")


async def kept_and_carried_out(slack: OnSlack, end: str, reason: str) -> None:
    """See ben's stop held while nothing can be stored, and carried out as soon as it can be."""
    await eventually(lambda: slack.world.spool.kept(), "the stop in the spool")
    assert slack.world.workflow.world.held == {"p1"}
    slack.store_fails(False)
    await slack.world.workflow.recover()
    await slack.stands("p1", end)
    stopped = (await reviews(slack))[-1]
    assert (stopped.person, stopped.reason) == ("ben", reason)


@pytest.mark.parametrize("word", ["reject", "roll-back"])
async def test_a_slash_command_that_stops_is_kept_while_the_store_cannot_be_written(
    word: str,
) -> None:
    async with on_slack() as slack:
        await in_window(slack)
        slack.store_fails(True)
        await acknowledged(await slack.server.slash("UBEN", f"{word} p1 wrong recipient"))
        await kept_and_carried_out(slack, "rolled_back", "wrong recipient")


async def test_a_reject_button_and_its_form_are_kept_while_the_store_cannot_be_written() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        await acknowledged(await slack.server.presses("UBEN", card, "signoff_reject"))
        (form,) = await eventually(lambda: slack.server.calls_of("views.open"), "the form")
        view = form.arguments["view"] | {"id": "V1"}
        sent = await slack.server.submits("UBEN", view, {"reason_text": "wrong version"})
        await acknowledged(sent)
        await kept_and_carried_out(slack, "rejected", "wrong version")
        assert slack.world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("text", ["approve p1", "pending", "freeze breach"])
async def test_no_other_slash_command_is_acknowledged_while_the_store_cannot_be_written(
    text: str,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        other = await slack.server.slash("UBEN", text)
        pressed = await slack.server.presses("UBEN", card, "signoff_approve")
        await acknowledged(await slack.server.slash("UBEN", "reject p1 wrong version"))
        await kept_and_carried_out(slack, "rejected", "wrong version")
        assert not other.acked.is_set()
        assert not pressed.acked.is_set()
        assert slack.world.tool(DEPLOY).calls == []


# -- in the wrong channel ---------------------------------------------------------------------


async def test_who_speaks_in_the_wrong_channel_is_given_a_link_to_the_right_one() -> None:
    async with on_slack() as slack:
        await slack.server.says("UANA", mention(slack, "pending"), channel="C0ELSE")
        (told,) = await eventually(lambda: slack.server.workspace.ephemeral, "the note")
        assert (told["channel"], told["user"]) == ("C0ELSE", "UANA")
        assert told["text"].endswith(" <#C0OPS>")
        await slack.settles()
        assert await slack.codes() == ["wrong_place"]


@pytest.mark.parametrize("how", ["button", "mention", "slash"])
async def test_a_standing_cross_that_nobody_heard_beats_every_kind_of_approval(how: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, "x", heard=False)
        match how:
            case "button":
                await slack.server.presses("UBEN", card, "signoff_approve")
            case "mention":
                await slack.server.says("UBEN", mention(slack, "approve p1"))
            case _:
                await slack.server.slash("UBEN", "approve p1")
        await all_done(slack)
        assert await state(slack) == "rejected"
        assert slack.world.tool(DEPLOY).calls == []


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


# -- what is told, and where ------------------------------------------------------------------


async def void_by_policy(slack: OnSlack) -> Message:
    """Let ana approve, and a policy with other reviewers come before it could begin."""
    card = await slack.proposes(PROD)
    workflow, ana = slack.world.workflow, slack.world.sender("ana")
    await workflow.freeze("wait", ana)
    await slack.server.reacts("UANA", card.ts)
    await slack.settles()
    tools = dict(workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], reviewers="operators")
    policy = replace(workflow.policy, tools=tools, digest="pol1_" + "1" * 64)
    await workflow.adopt(policy, Sentinel(load_rules(policy.rules)))
    await workflow.thaw(ana)
    assert await counting(slack) == []
    return card


async def test_whose_check_mark_stands_for_a_void_approval_is_told_so_once() -> None:
    async with on_slack() as slack:
        await void_by_policy(slack)
        for _ in range(3):
            slack.world.clock.advance(181)
            slack.hearing.alive()
            await slack.broadcast.catch_up()
            await all_done(slack)
        (told,) = [hint for hint in slack.hints() if "does not count any more" in hint]
        assert "the policy changed" in told
        assert await slack.codes("p1") == ["stale_card"]
        assert await state(slack) == "sentinel_approved"


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


@pytest.mark.parametrize("how", ["mention", "slash"])
async def test_an_end_is_told_in_the_channel_where_the_thread_it_belongs_to_is_gone(
    how: str,
) -> None:
    async with on_slack() as slack:
        text = slack.text(PROD, proposal_id="p1", actor="leila" if how == "mention" else "ana")
        if how == "mention":
            gone, _ = await slack.server.says("ULEILA", mention(slack, f"propose {text}"))
            await slack.card("p1")
        else:
            await slack.server.slash("UANA", f"propose {text}")
            gone = await slack.card("p1")  # under which it would be told
        await slack.settles()
        slack.server.workspace.messages.remove(gone)
        await slack.server.slash("UBEN", "reject p1 no")
        await slack.answered(proposal_id="p1", state="rejected")
        ended = next(m for m in slack.server.workspace.messages if '"rejected"' in m.text)
        assert ended.thread_ts is None
