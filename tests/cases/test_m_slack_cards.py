"""Cases M01, M02, M09 and M11 on Slack: a card keeps the limits and is live until the end."""

from __future__ import annotations

import json

import pytest

from bot import views
from bot.chat.cards.content import Field
from bot.chat.slack.render import rendered
from lifecycle.proposal import Attention
from tests.builders import MAIL, PROD
from tests.cases.slack_content import a_card, an_agents
from tests.fakes.slack_server.limits import check_blocks, check_update, texts_of
from tests.slack_stage import eventually, eventually_async, on_slack, shown


async def test_M01_M09_long_and_many_values_are_posted_with_a_file() -> None:
    async with on_slack() as slack:
        many = {f"x{number:02}": "v" * 40 for number in range(60)}
        parameters = {"to": "pat@partner.example", "subject": "", "body": "b" * 13_500, **many}
        card = await slack.proposes(parameters=parameters)
        assert "shown" in shown(card)
        assert "(empty)" in shown(card)
        files = [
            f for m in slack.server.workspace.messages if m.thread_ts == card.ts for f in m.files
        ]
        stored = slack.server.workspace.files[files[0]["id"]]
        assert ("b" * 13_500) in stored.body.decode()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "executing")
        assert len(slack.cards("p1")) == 1


async def test_M02_without_its_file_a_cut_card_cannot_be_approved() -> None:
    async with on_slack() as slack:
        slack.server.fails("files.getUploadURLExternal", "error", times=None)
        body = "x" * 2_500 + " delete everything"
        card = await slack.proposes(
            parameters={"to": "pat@partner.example", "subject": "s", "body": body}
        )
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes("p1") == ["not_fully_shown"]
        assert any("attachment failed" in hint for hint in slack.hints())


def test_M09_every_card_keeps_every_limit() -> None:
    cards = [
        a_card(an_agents("body", "x" * length)) for length in (1, 1_899, 3_001, 13_500, 60_000)
    ]
    cards.append(a_card(*(an_agents(f"k{n}", "v" * 200) for n in range(60))))
    cards.append(a_card(*(an_agents("k" * 200, "&<>" * 700) for _ in range(30))))
    cards.append(a_card(warnings=tuple("⚠️ " + "w" * 90 for _ in range(60))))
    cards.append(a_card(title="t" * 400, facts=tuple(Field("F", "f" * 1_900) for _ in range(12))))
    for card in cards:
        sent = rendered(card, "SAPPROVERS")
        check_blocks(sent.blocks)
        check_update(sent.text, sent.blocks)
        assert sum(len(text["text"]) for text in texts_of(sent.blocks)) < 13_000


async def test_M09_an_answer_that_is_too_long_is_its_gist_and_a_file() -> None:
    async with on_slack() as slack:
        texts = ["final warning %2520"] * 600
        parameters = MAIL["parameters"] | {"texts": texts}
        document = slack.document(proposal_id="p1", parameters=parameters)
        await slack.server.proposes("ULEILA", document)
        answer = await slack.answered(proposal_id="p1")
        assert answer["reason"] == "prohibited_content"
        stored = await eventually(
            lambda: [
                file
                for file in slack.server.workspace.files.values()
                if file.name == answer["attached"] and file.body
            ]
        )
        whole = json.loads(stored[0].body)
        assert len(whole["errors"]) >= 100
        assert whole["proposal_id"] == "p1"


async def test_M09_show_of_a_long_mail_comes_whole() -> None:
    async with on_slack() as slack:
        body = "b" * 60_000
        await slack.proposes(parameters={"to": "pat@partner.example", "subject": "s", "body": body})
        await slack.server.says("UANA", "<@USIGNOFF> show p1")
        files = slack.server.workspace.files
        shown_whole = await eventually(
            lambda: [f for f in files.values() if f.name.startswith("answer-") and f.body]
        )
        assert body in shown_whole[0].body.decode()
        await slack.server.slash("UANA", "show p1")
        alone = await eventually(lambda: slack.server.responses)
        assert "more characters are left out here" in alone[-1]["text"]
        assert len(alone[-1]["text"]) < 12_000


@pytest.mark.parametrize("error", ["msg_too_long", "invalid_blocks"])
async def test_K10_a_card_that_slack_refuses_is_posted_short_with_all_of_it_attached(
    error: str,
) -> None:
    async with on_slack() as slack:
        for method in ("chat.postMessage", "chat.update"):
            slack.server.fails(method, "error", times=None, error=error, holding="unverified")
        card = await slack.proposes(PROD)
        assert "Slack refused the whole card" in shown(card)
        (file,) = slack.server.workspace.files.values()
        assert "v42" in file.body.decode()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")


@pytest.mark.parametrize("error", ["channel_not_found", "is_archived", "restricted_action"])
async def test_K10_a_card_that_slack_takes_nowhere_is_told_of_listed_and_posted_later(
    error: str,
) -> None:
    async with on_slack() as slack:
        faults = [
            slack.server.fails(method, "error", times=None, error=error)
            for method in ("chat.postMessage", "chat.update")
        ]
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await slack.keeps_delivering(lambda: slack.server.calls_of("chat.postMessage"))
        await slack.settles()
        waits = await slack.world.proposal("p1")
        assert waits.attention is Attention.CARD_UNDELIVERED
        assert error in waits.attention_why
        told = await slack.world.store.read(lambda tx: tx.outbox.waiting("slack", 2**62, 100))
        agents = [m.body["text"] for m in told if (m.kind, m.recipient) == ("note", "leila")]
        assert [text.startswith("p1: Its card cannot be shown on slack") for text in agents] == [
            True
        ]
        assert [m for m in told if "p1 (production-deploy) needs a person" in str(m.body)]
        page = await slack.world.store.read(
            lambda tx: views.pending_page(tx, slack.world.clock.now_ms())
        )
        assert [p.attention for p in page.waiting] == [Attention.CARD_UNDELIVERED]
        assert "waits for: its card" in (await slack.world.approves("ana", "p1")).words
        assert slack.world.tool("production-deploy").calls == []

        for fault in faults:
            fault.times = 0
        await slack.keeps_delivering(lambda: slack.cards("p1"))
        await slack.world.workflow.open_ready()
        await slack.stands("p1", "completed")
        assert slack.world.tool("production-deploy").verbs() == ["execute"]


async def test_J13_the_time_that_is_left_is_kept_current_by_slack() -> None:
    async with on_slack() as slack:
        card = await slack.proposes()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "executing")
        execution = (await slack.world.proposal("p1")).execution
        assert execution is not None
        assert execution.window_closes_at_ms is not None
        live = f"(<!date^{execution.window_closes_at_ms // 1000}^{{ago}}|UTC>)"
        assert live in str(slack.cards("p1")[-1].blocks)


async def test_L08_a_store_that_cannot_be_written_is_told_of_without_it() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        reply = await slack.world.workflow.approve("p1", slack.world.sender("ana"))
        assert reply.code == "audit_unavailable"
        await eventually(lambda: slack.said("The store cannot be written since"))
        assert "The store cannot be written" in "\n".join(slack.broadcast.health())
        slack.store_fails(False)
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")
        await eventually(lambda: slack.said("The store can be written again"))
        assert "The store" not in "\n".join(slack.broadcast.health())


async def test_M11_an_edit_that_fails_is_done_again_and_a_gone_card_ends_the_trying() -> None:
    async with on_slack() as slack:
        first, second = (
            await slack.proposes(PROD),
            await slack.proposes(PROD, parameters={"v": "2"}),
        )
        slack.server.fails("chat.update", "status", status=500)
        await slack.server.reacts("UANA", first.ts)
        await eventually(lambda: slack.server.calls_of("chat.update"))
        slack.world.clock.advance(5)
        await slack.keeps_delivering(lambda: "completed" in shown(first))
        slack.server.workspace.messages.remove(second)
        await slack.server.slash("UBEN", "reject p2 no")
        await slack.settles()
        await eventually_async(slack.nothing_stale, "an end of the trying")
        assert len(slack.cards("p2")) == 0
        tried = [c for c in slack.server.calls_of("chat.update") if c.arguments["ts"] == second.ts]
        assert len(tried) == 1


async def test_M11_a_window_of_edits_that_is_closed_is_told_in_the_thread() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.workspace.edit_window_closed = True
        await slack.server.slash("UBEN", "reject p1 no")
        await eventually(
            lambda: [
                m
                for m in slack.server.workspace.messages
                if m.thread_ts == card.ts and "rejected" in m.text
            ]
        )


async def test_M11_what_expires_or_is_withdrawn_loses_its_controls() -> None:
    async with on_slack() as slack:
        first, second = (
            await slack.proposes(PROD),
            await slack.proposes(PROD, parameters={"v": "2"}),
        )
        await slack.server.says("ULEILA", "<@USIGNOFF> withdraw p1")
        await slack.stands("p1", "rejected")
        slack.world.clock.advance(86_401)
        await slack.world.workflow.expire_due()
        await slack.stands("p2", "rejected")
        for card in (first, second):
            await eventually(lambda card=card: "USIGNOFF" not in str(card.reactions))
            assert "'actions'" not in str(card.blocks)
