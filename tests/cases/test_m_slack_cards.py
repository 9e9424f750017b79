"""Cards on Slack: limits, literal text, nothing hidden, live until the end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.content import CardContent, Colour, Field, Voice
from bot.chat.slack.render import rendered
from bot.chat.slack.text import escape, fenced, unescape
from lifecycle.policy import Level
from tests.builders import MAIL, PROD, a_policy
from tests.fakes.slack_server.limits import check_blocks, check_update, texts_of
from tests.slack_stage import eventually, eventually_async, on_slack, shown, unescaped


def a_card(*written: Field, **changes: Any) -> CardContent:
    facts = (Field("Action", "send-email (communicate)"), Field("State", "waits for people"))
    base: dict[str, Any] = {
        "proposal_id": "p1",
        "version": 2,
        "title": "🔔 PROPOSAL from agent leila (PROPOSE tier)",
        "colour": Colour.WAITING,
        "final": False,
        "facts": facts,
        "written_by": "Written by agent leila, unverified",
        "written": written,
        "react": "React: ✅ approve | ❌ reject",
        "footer": "p1 · sha256:0 · version 2",
    }
    return CardContent(**(base | changes))


def an_agents(label: str, text: str) -> Field:
    return Field(label, text, Voice.AGENT, text, "sha256:1")


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


def test_M06_markup_is_shown_as_it_was_typed() -> None:
    subject = "<!channel> <@UANA> <https://evil.test|www.shop.example> a<b & c>d"
    others = ("&lt;!here&gt;", "[x](https://a.test|h><!channel>)", "*Tier*: AUTO", "`code`")
    blocks = rendered(
        a_card(an_agents("subject", subject), *(an_agents("more", each) for each in others))
    ).blocks
    sent = json.dumps(blocks, ensure_ascii=False)
    for live in ("<!", "<@", "<http"):
        assert live not in sent
    read = "\n".join(unescaped(text["text"]) for text in texts_of(blocks))
    for typed in (subject, *others):
        assert typed in read
    written = [t for t in texts_of(blocks) if "evil.test" in t["text"] or "*Tier*" in t["text"]]
    assert [t for t in written if t["text"] != "*Tier*"]
    assert all(t["type"] == "plain_text" and t["emoji"] is False for t in written)


async def test_M06_an_agent_writes_and_people_read_the_same() -> None:
    async with on_slack() as slack:
        subject = "<!channel> <@UANA> <https://evil.test|www.shop.example> &lt;!here&gt; a<b"
        card = await slack.proposes(
            parameters={"to": "pat@partner.example", "subject": subject, "body": "Hello"}
        )
        assert subject in shown(card)
        # The one thing of this kind is the bot's own: a moment that Slack keeps current.
        assert "<!" not in (str(card.blocks) + card.text).replace("<!date^", "")
        stored = (await slack.world.proposal("p1")).read().parameters["subject"]
        assert stored == subject


def test_M06_text_is_unescaped_and_escaped_exactly_once() -> None:
    for text in ("a<b & c>d", "&lt;!here&gt;", "&amp;amp;", "plain"):
        assert unescape(escape(text)) == text
    assert unescape("<mailto:pat@partner.example|pat@partner.example>") == "pat@partner.example"
    assert unescape("see <http://www.shop.example|www.shop.example>") == "see www.shop.example"
    assert unescape("<https://shop.example/x>") == "https://shop.example/x"
    assert unescape("<https://evil.test|shop.example>") == "<https://evil.test|shop.example>"


def test_M06_a_fence_cannot_be_closed_from_inside() -> None:
    sent = fenced({"explanation": "``` <!channel> [x](y)"})
    assert sent.count("```") == 2
    assert json.loads(unescaped(sent.strip("`")))["explanation"] == "``` <!channel> [x](y)"


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


async def test_M05_only_the_reviewers_group_is_called_and_once() -> None:
    async with on_slack(usergroups={"approvers": "SAPPROVERS"}) as slack:
        card = await slack.proposes(PROD)
        assert str(card.blocks).count("<!subteam^SAPPROVERS>") == 1
        await slack.server.deletes(card.ts)
        again = await eventually(lambda: slack.seeded("p1"), "posting again")
        assert "<!subteam" not in str(again.blocks)
        sent = "".join(
            str(m.text) + str(m.blocks)
            for m in slack.server.workspace.messages
            if m.user == "USIGNOFF"
        )
        assert "<@" not in sent
        assert "<!channel" not in sent


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


SECRETS = {
    "headers": {"Authorization": "Bearer abc.defghijklmnop"},
    "api_key": "k-1234567890",
    "dsn": "postgres://u:pw@h/d",
}


async def said_of(slack: Any, *commands: str) -> str:
    """Return all that the bot said and wrote, after these commands."""
    before = len(slack.server.responses)
    for command in commands:
        await slack.server.slash("UANA", command)
    await eventually(lambda: len(slack.server.responses) == before + len(commands))
    await slack.settles()
    ours = [m.as_json() for m in slack.server.workspace.messages if m.user == "USIGNOFF"]
    trail = await slack.world.store.read(lambda tx: tx.audit.exported(0, 999))
    return json.dumps([ours, slack.server.responses, [dict(row) for row in trail]], default=str)


async def test_M08_no_answer_card_or_trail_shows_a_credential() -> None:
    async with on_slack() as slack:
        await slack.server.proposes(
            "ULEILA", slack.document(PROD, proposal_id="p1", parameters=SECRETS)
        )
        await slack.server.says("ULEILA", "<@USIGNOFF> propose {" + json.dumps(SECRETS)[1:-1])
        await eventually(lambda: len(slack.answers()) >= 2)
        said = await said_of(slack, "pending", "show p1", "explain p1", "audit p1")
        assert [leak for leak in ("abc.def", "k-1234567890", "u:pw") if leak in said] == []


async def test_M08_an_advisory_rule_hands_the_tool_the_value_and_shows_people_a_mask() -> None:
    policy = a_policy()
    rule = replace(policy.rules["secrets_absent"], level=Level.ADVISORY)
    parameters = SECRETS | {"version": "v1"}
    async with on_slack(replace(policy, rules={**policy.rules, "secrets_absent": rule})) as slack:
        card = await slack.proposes(PROD, parameters=parameters)
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")
        said = await said_of(slack, "pending", "show p1", "explain p1", "audit p1")
        assert slack.world.tool("production-deploy").calls[0].parameters == parameters
        assert [leak for leak in ("abc.def", "k-1234567890", "u:pw") if leak in said] == []


async def test_M03_what_cannot_be_seen_is_written_out() -> None:
    async with on_slack() as slack:
        hidden = {
            "note": "a\u200bb",
            "file": "report\u202efdp.exe",
            "shop": "www.sh\u043ep.example",
        }
        base = {"to": "pat@partner.example", "subject": "s", "body": "b"}
        text = shown(await slack.proposes(parameters=base | hidden))
        assert "\u202e" not in text
        assert ["\\u{202E}" in text, "\\u{200B}" in text, "xn--" in text] == [True] * 3


async def test_M05_nothing_that_anybody_wrote_calls_anybody() -> None:
    async with on_slack(usergroups={"approvers": "SAPPROVERS"}) as slack:
        calls = {"subject": "@everyone <!channel>", "body": "<!subteam^SAPPROVERS> <@UANA> <!here>"}
        card = await slack.proposes(parameters={"to": "pat@partner.example"} | calls)
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.stands("p1", "rejected")
        await slack.server.says("UANA", "<!channel> <@UBEN> no", thread_ts=card.ts)
        for words in ("propose <!channel>", "<!channel> <@UANA>", "approve <!channel>", "show p1"):
            await slack.server.says("UBEN", f"<@USIGNOFF> {words}")
        await slack.settles()
        await slack.beats(10)
        ours = [m for m in slack.server.workspace.messages if m.user == "USIGNOFF"]
        sent = "".join(str(m.text) + str(m.blocks) for m in ours)
        sent += str(slack.server.responses) + str(slack.server.workspace.ephemeral)
        assert [c for c in ("<!channel", "<!here", "<@U", "<!everyone") if c in sent] == []
