"""What agents and people type on Slack: inline, fenced, as a file; and where it is heard."""

from __future__ import annotations

import json

import pytest

from tests.bot.chat.slack.sharing import shared
from tests.builders import PROD
from tests.slack_stage import eventually, on_slack, shown
from tests.stories.test_questions import asks


async def test_json_in_a_fence_is_read_as_typed() -> None:
    async with on_slack() as slack:
        text = json.dumps(slack.document(proposal_id="p1"), indent=2)
        await slack.server.says("ULEILA", f"<@USIGNOFF> propose ```json\n{text}\n```")
        assert (await slack.answered(proposal_id="p1"))["state"] == "sentinel_approved"


async def test_a_mention_that_arrives_as_two_events_is_one_proposal() -> None:
    async with on_slack() as slack:
        await slack.proposes()
        await slack.settles()
        assert len(slack.answers()) == 1


async def test_one_attached_file_is_the_document() -> None:
    async with on_slack() as slack:
        body = slack.bytes_of(slack.document(proposal_id="p1"))
        file = slack.server.a_file("p1.json", body)
        await slack.server.says("ULEILA", "<@USIGNOFF> propose", files=[file])
        assert (await slack.answered(proposal_id="p1"))["state"] == "sentinel_approved"


@pytest.mark.parametrize("how", ["as it is", "escaped", "in a file"])
async def test_an_emoji_is_what_slack_makes_of_it_unless_it_is_escaped_or_in_a_file(
    how: str,
) -> None:
    """Slack gives out `:tada:` for 🎉; whether that was meant nobody can tell."""
    async with on_slack() as slack:
        parameters = {"to": "pat@partner.example", "subject": "It is done", "body": "🎉"}
        document = slack.document(proposal_id="p1", parameters=parameters)
        text, files = json.dumps(document, ensure_ascii=how == "escaped"), []
        if how == "in a file":
            text, files = "", [slack.server.a_file("p1.json", slack.bytes_of(document))]
        await slack.server.says("ULEILA", f"<@USIGNOFF> propose {text}", files=files)
        await slack.answered(proposal_id="p1")
        found = json.loads((await slack.world.proposal("p1")).document)
        assert found["parameters"]["body"] == (":tada:" if how == "as it is" else "🎉")


async def test_a_file_that_the_mention_event_leaves_out_is_looked_for() -> None:
    async with on_slack() as slack:
        file = slack.server.a_file("p1.json", slack.bytes_of(slack.document(proposal_id="p1")))
        slack.server.bare_mentions = True
        await slack.server.says("ULEILA", "<@USIGNOFF> propose", files=[file], both=False)
        assert (await slack.answered(proposal_id="p1"))["state"] == "sentinel_approved"


@pytest.mark.parametrize("error", ["missing_scope", "thread_not_found"])
async def test_a_mention_whose_files_slack_does_not_name_is_answered_all_the_same(
    error: str,
) -> None:
    async with on_slack() as slack:
        slack.server.fails("conversations.replies", "error", error=error, times=None)
        await slack.server.says("ULEILA", "<@USIGNOFF> propose")
        await slack.answered(reason="malformed_json")
        await slack.settles()


async def test_a_file_that_is_announced_as_too_large_is_never_fetched() -> None:
    async with on_slack() as slack:
        file = slack.server.a_file("p1.json", b"{}", announced=300_000)
        await slack.server.says("ULEILA", "<@USIGNOFF> propose", files=[file])
        await slack.answered(reason="too_large")
        assert slack.server.files.downloads == []


async def test_a_strangers_file_is_never_fetched() -> None:
    async with on_slack() as slack:
        file = slack.server.a_file("p1.json", b"{}")
        await slack.server.says("UBOT", "<@USIGNOFF> propose", files=[file])
        await slack.answered(reason="unknown_agent")
        assert slack.server.files.downloads == []


@pytest.mark.parametrize("words", ["show p1", "status", "anything", "propose {}"])
async def test_an_app_that_is_no_agent_is_told_so_once_and_reads_nothing(words: str) -> None:
    """Two bots that mention each other must not answer each other for ever."""
    async with on_slack() as slack:
        await slack.proposes(PROD, proposal_id="p1")
        before = len(slack.server.workspace.messages)
        for _ in range(3):
            await slack.server.says("UBOT", f"<@USIGNOFF> {words}")
            await slack.settles()
        await slack.server.says("UANA", "<@USIGNOFF> tools")

        def answers() -> list[str]:
            since = slack.server.workspace.messages[before:]
            return [m.text for m in since if m.user == "USIGNOFF" and m.thread_ts]

        await eventually(lambda: any("send-email" in text for text in answers()))
        (told,) = [text for text in answers() if "send-email" not in text]
        assert "unknown_agent" in told or "no configured agent" in told


async def test_the_token_is_sent_to_slack_alone() -> None:
    async with on_slack() as slack:
        file = slack.server.a_file("p1.json", b"{}")
        url = file.as_json("http://evil.invalid")["url_private"]
        answer = await shared(slack, url)
        assert "not on Slack" in json.dumps(answer)


async def test_talk_that_does_not_begin_with_a_mention_is_left_alone() -> None:
    async with on_slack() as slack:
        await slack.server.says("UANA", "thanks <@USIGNOFF> approve p1")
        await slack.server.says("UANA", "approve p1")
        await slack.settles()
        assert slack.answers() == []
        assert await slack.codes() == []


async def test_another_channel_is_not_heard_and_said_so_once() -> None:
    async with on_slack() as slack:
        await slack.server.proposes("ULEILA", slack.document(proposal_id="p1"), channel="C0ELSE")
        await slack.server.slash("UANA", "pending", channel="C0ELSE")
        await slack.settles()
        assert await slack.codes() == ["wrong_place", "wrong_place"]
        assert await slack.world.store.read(lambda tx: tx.proposals.get("p1")) is None


async def test_a_slash_command_is_answered_to_the_person_alone() -> None:
    async with on_slack() as slack:
        await slack.proposes()
        envelope = await slack.server.slash("UANA", "pending")
        await eventually(lambda: slack.server.responses, "the answer")
        assert "1 pending" in slack.server.responses[0]["text"]
        assert slack.server.responses[0]["response_type"] == "ephemeral"
        assert "Received pending" in envelope.acks[0]["payload"]["text"]


async def test_status_tells_how_slack_stands() -> None:
    async with on_slack() as slack:
        await slack.server.slash("UANA", "status")
        await eventually(lambda: slack.server.responses)
        assert "slack: connected since" in slack.server.responses[0]["text"]


async def test_the_approve_button_is_the_check_mark() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.presses("UCAL", card, "signoff_approve")
        await slack.settles()
        assert await slack.codes("p1") == ["not_a_reviewer"]
        await slack.server.presses("UANA", card, "signoff_approve")
        await slack.stands("p1", "completed")


async def test_the_reject_button_asks_for_the_reason() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.presses("UBEN", card, "signoff_reject")
        await eventually(lambda: slack.server.workspace.views, "the form")
        view = slack.server.workspace.views[0]
        empty = await slack.server.submits("UBEN", view, {"reason_text": "  "})
        await eventually(lambda: empty.acks)
        assert empty.acks[0]["payload"]["response_action"] == "errors"
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        await slack.server.submits("UBEN", view, {"reason_text": "not on a Friday"})
        await slack.stands("p1", "rejected")
        assert (await slack.world.proposal("p1")).explanation == "not on a Friday"


async def test_a_reply_under_the_card_is_the_reason_of_a_bare_cross() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")
        await slack.server.says("UANA", "what happened?", thread_ts=card.ts)
        await slack.server.says("UBEN", "the price is wrong &amp; late", thread_ts=card.ts)
        await slack.answered(state="rejected", explanation="the price is wrong & late")
        await eventually(lambda: "the price is wrong & late" in shown(card))


async def test_a_permit_is_never_posted_in_the_channel() -> None:
    from tests.builders import REFUND

    async with on_slack() as slack:
        card = await slack.proposes(REFUND)
        await slack.server.reacts("UANA", card.ts)
        await eventually(
            lambda: any("its permit waits" in m.text for m in slack.server.workspace.messages)
        )
        permit = await slack.world.store.read(lambda tx: tx.permits.of("p1", "execute", 1))
        assert permit is not None
        posted = json.dumps([m.as_json() for m in slack.server.workspace.messages])
        assert permit.token not in posted


async def test_the_board_is_pinned_and_kept_current() -> None:
    async with on_slack() as slack:
        board = await eventually(
            lambda: next((m for m in slack.server.workspace.messages if m.pinned), None), "pinning"
        )
        await slack.proposes(PROD)
        slack.surface.desk.board.lost()
        await eventually(lambda: "p1" in shown(board), "the board")
        await slack.server.deletes(board.ts)
        again = await eventually(
            lambda: next((m for m in slack.server.workspace.messages if m.pinned), None), "anew"
        )
        assert again.ts != board.ts


async def test_an_edited_command_changes_nothing_and_leaves_a_row() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        asked = next(m for m in slack.server.workspace.messages if m.user == "ULEILA")
        other = slack.document(PROD, proposal_id="p9")
        await slack.server.edits(asked, f"<@USIGNOFF> propose {json.dumps(other)}")
        await slack.settles()
        assert await slack.world.store.read(lambda tx: tx.proposals.get("p9")) is None
        assert await slack.codes() == ["duplicate_event"]


async def test_the_first_reply_of_a_reviewer_under_a_question_is_its_answer() -> None:
    async with on_slack() as slack:
        asked = (await asks(slack.world, "May I refund order 17?")).result["question_id"]
        asks_it = await eventually(
            lambda: next((m for m in slack.server.workspace.messages if asked in m.text), None)
        )
        await slack.server.says("ULEILA", "please be quick", thread_ts=asks_it.ts)
        await slack.server.says("UBEN", "Yes, but only once.", thread_ts=asks_it.ts)
        await eventually(lambda: any("gets your answer" in hint for hint in slack.hints()))
        await slack.server.says("UANA", "I would have said no.", thread_ts=asks_it.ts)
        await slack.settles()
        assert not any("before you" in hint for hint in slack.hints())  # the rest is talk
        (entry,) = await slack.world.audit("question_answered")
        assert entry["actor"] == {"kind": "person", "id": "ben"}
        assert entry["details"]["answer"] == "Yes, but only once."


async def test_the_words_of_a_slash_command_are_read_as_they_were_typed() -> None:
    """Slack writes three signs in another way."""
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await slack.server.slash("UANA", "reject p1 5 &lt; 7 &amp;amp; &gt;")
        await slack.stands("p1", "rejected")
        assert (await slack.world.proposal("p1")).explanation == "5 < 7 &amp; >"
