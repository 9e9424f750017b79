"""Cases M03 to M08 on Slack: texts are literal, hide nothing, call nobody, show no secret."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.commands.replies import CommandReply
from bot.chat.hearing.signals import Signal
from bot.chat.slack.answers import answer, answer_alone
from bot.chat.slack.commands import received
from bot.chat.slack.render import rendered
from bot.chat.slack.text import escape, fenced, literal, unescape
from bot.chat.slack.views import Pressed, modal
from lifecycle.policy import Level
from tests.builders import PROD, a_policy
from tests.cases.slack_content import a_card, an_agents
from tests.fakes.slack_server.limits import texts_of
from tests.slack_stage import eventually, on_slack, shown, unescaped


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
    words = literal("he said ``` *done* <@UANA>")
    assert (words.count("```"), "<@" in words) == (2, False)
    for typed in ("echo ```date```", "`date`", "echo `"):
        inside = literal(typed).removeprefix("```").removesuffix("```")
        assert "`" not in inside
        assert inside.replace("\\u{60}", "`") == typed
    sent = fenced({"explanation": "``` <!channel> [x](y)"})
    assert sent.count("```") == 2
    assert json.loads(unescaped(sent.strip("`")))["explanation"] == "``` <!channel> [x](y)"


def test_the_form_behind_both_red_buttons_names_both_of_what_it_may_do() -> None:
    form = modal(Pressed("UANA", "T1", "C1", "1.0", Signal.STOP))

    assert form["submit"]["text"] == "Reject or roll back"


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


TOKEN = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("propose {}", "propose"),
        ('propose {"proposal_id": "p1"}', "p1"),
        ('propose {"proposal_id": "p1", "parameters": {"proposal_id": "p2"}}', "propose"),
        (f'propose {{"proposal_id": "{TOKEN}"}}', "propose"),
        (f'approve {TOKEN} "proposal_id": "p1"', "approve"),
        (TOKEN, "your command"),
        ("password=hunter2pw", "your command"),
        ("<!channel> look", "your command"),
        ("sta\u202etus", "your command"),
        ("", "nothing"),
    ],
)
def test_M03_M06_M08_an_acknowledgement_repeats_only_what_can_do_no_harm(
    typed: str, named: str
) -> None:
    """It comes before anything was checked, and named what was typed."""
    assert received(typed) == f"Received {named}; the answer follows."


@pytest.mark.parametrize("length", [1, 1_900, 2_900, 20_000])
@pytest.mark.parametrize("piece", ["`", "&", "a", "``x"])
def test_M06_a_long_answer_stands_in_one_message_however_it_is_escaped(
    piece: str, length: int
) -> None:
    """Slack splits a message of more than 12,000 characters; what comes second is in no fence."""
    reply = CommandReply.words((piece * length)[:length])

    shown, alone = answer(reply, "show"), answer_alone(reply)

    assert len(shown.text) <= 11_000
    assert len(alone) <= 11_000
    assert shown.attachment is None or shown.attachment.text == f"{reply.text}\n"
    assert (shown.attachment is None) == ("more characters are left out" not in alone)
    assert "-" not in alone, "no less than nothing is left out"
