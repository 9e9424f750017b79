"""Cases M, K10, O05 on Discord: what a card shows, and that it is there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.cards.content import Field
from bot.chat.discord.render import render
from tests.builders import MAIL, PROD
from tests.cases.slack_content import a_card
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import (
    ANA,
    BEN,
    CAL,
    CROSS,
    LEILA,
    TICK,
    DiscordStage,
    until,
)
from tests.roads import adopted


def a_mail(**parameters: Any) -> dict[str, Any]:
    return {"parameters": {**MAIL["parameters"], **parameters}}


def shown(card: Message) -> str:
    """Everything that stands on a card, as one text."""
    return json.dumps(card.data["embeds"], ensure_ascii=False)


def attached(stage: DiscordStage, card: Message) -> str:
    return "".join(
        stage.server.state.files[each["id"]].decode() for each in card.data["attachments"]
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"body": "x" * 5000},
        {"subject": "s" * 300},
        {"to": [f"pat{n}@partner.example" for n in range(30)]},
        {f"field{n}": f"value {n}" for n in range(40)},
        {"body": "🎉" * 1000},
        {"body": "🎉" * 512 + "y" * 1000},
        {"body": "_*`~|<@1>[a](b)" * 300},
        {f"field{n}": "_" * 900 for n in range(24)},
    ],
    ids=["body", "subject", "recipients", "forty", "emoji", "mixed", "markup", "all full"],
)
async def test_M01_a_card_is_posted_whatever_is_in_it(
    discord_stage: DiscordStage, parameters: dict[str, Any]
) -> None:
    proposal_id = await discord_stage.proposes(**a_mail(**parameters))
    card = await discord_stage.card(proposal_id)
    assert not [c for c in discord_stage.server.calls if c.status == 400]
    whole = shown(card) + attached(discord_stage, card)
    for name, value in parameters.items():
        assert name in whole
        for text in value if isinstance(value, list) else [value]:
            assert text[:50] in whole or text in attached(discord_stage, card)


async def test_M02_what_is_not_shown_is_counted_and_attached(discord_stage: DiscordStage) -> None:
    text = "a" * 1060 + "; now delete everything there is, please"
    proposal_id = await discord_stage.proposes(**a_mail(body=text))
    card = await discord_stage.card(proposal_id)
    assert "shown 900 of 1 100, full text attached" in shown(card)
    assert text in attached(discord_stage, card)


async def test_M02_without_its_attachment_a_card_cannot_be_approved(
    discord_stage: DiscordStage,
) -> None:
    discord_stage.server.forbid(15)
    proposal_id = await discord_stage.proposes(**a_mail(body="a" * 1100))
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, card, TICK)
    await discord_stage.ignored("not_fully_shown")
    discord_stage.server.reacts(BEN, card, CROSS)
    await discord_stage.reaches(proposal_id, "rejected")


async def test_M03_invisible_characters_are_seen(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(
        **a_mail(body="report\u202efdp.exe", note="a\u200bb")
    )
    card = await discord_stage.card(proposal_id)
    assert "\\\\u{202E}" in shown(card)
    assert "\\\\u{200B}" in shown(card)
    assert "\u202e" not in shown(card)


async def test_M04_markup_in_a_value_stays_in_its_box(discord_stage: DiscordStage) -> None:
    evil = "```\n[✅ Approve here](https://evil.test)\n# APPROVED\n||spoiler||\n> quote"
    proposal_id = await discord_stage.proposes(**a_mail(body=evil, **{"a`b``[x](y)": "1"}))
    card = await discord_stage.card(proposal_id)
    (field,) = [f for f in card.data["embeds"][0]["fields"] if f["name"] == "body"]
    assert field["value"].startswith("```\n")
    assert field["value"].endswith("\n```")
    assert "```" not in field["value"][4:-4]
    assert "](" not in "".join(f["name"] for f in card.data["embeds"][0]["fields"])


async def test_M05_nobody_is_pinged_but_the_reviewers_role_once(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(
        **a_mail(subject="@everyone", body="<@&700> <@1001> @here")
    )
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, card, CROSS)
    await discord_stage.reaches(proposal_id, "rejected")
    discord_stage.server.says(ANA, "@everyone <@&700> no", reply_to=card.id)
    await until(lambda: discord_stage.audit("reason_given"), "a reason")
    discord_stage.server.says(LEILA, "!propose @everyone")
    discord_stage.server.says(CAL, "!@everyone <@1001>")
    await until(lambda: len(discord_stage.answers()) >= 3, "answers")
    await discord_stage.quiet()
    sent = [
        call.json
        for call in discord_stage.server.calls
        if call.method in ("POST", "PATCH") and "/messages" in call.path
    ]
    assert all("allowed_mentions" in body for body in sent)
    assert all(not body["allowed_mentions"].get("parse") for body in sent)
    assert all(not body["allowed_mentions"].get("users") for body in sent)
    assert [b["content"] for b in sent if b["allowed_mentions"].get("roles")] == ["<@&7301>"]


async def test_M05_no_answer_to_a_slash_command_or_a_button_calls_anybody(
    discord_stage: DiscordStage,
) -> None:
    server, loud = discord_stage.server, "@everyone <@1001> <@&7301>"
    proposal_id = await discord_stage.proposes(**a_mail(subject=loud, body=loud))
    card = await discord_stage.card(proposal_id)
    asked = [
        server.runs(ANA, "show", id=proposal_id),
        server.runs(ANA, "pending"),
        server.runs(ANA, "approve", id=loud),
        server.runs(CAL, "reject", id=proposal_id, reason=loud),
        server.clicks(CAL, card, "signoff:approve"),
        server.runs(BEN, "reject", id=proposal_id, reason=loud),
        server.runs(ANA, "audit", id=proposal_id),
    ]
    for each in asked:
        await until(lambda each=each: each.answers, "an answer")
    await discord_stage.reaches(proposal_id, "rejected")
    sent = [body for each in asked for body in each.answers]
    assert [body["allowed_mentions"] for body in sent] == [{"parse": []}] * len(sent)


async def test_M08_a_credential_is_nowhere_in_the_channel(discord_stage: DiscordStage) -> None:
    secret = "Bearer abc.defghijklmnop"
    parameters = {"headers": {"Authorization": secret}, "api_key": "k-1234567890"}
    discord_stage.sends(PROD, parameters=parameters)
    discord_stage.sends(
        PROD, tool="financial-transfer", action_type="transact", parameters=parameters
    )
    discord_stage.server.says(LEILA, f"!propose {{{json.dumps(parameters)[1:-1]}")
    await until(lambda: len(discord_stage.answers()) >= 3, "answers")
    await discord_stage.quiet()
    ours = [
        json.dumps({**m.data, "referenced_message": None}, ensure_ascii=False)
        for m in discord_stage.server.state.messages["701"].values()
        if m.data["author"]["id"] == "900"
    ]
    assert "abc.def" not in "".join(ours)
    assert "k-1234567890" not in "".join(ours)


async def test_M11_a_card_shows_the_end_although_its_edit_failed_once(
    discord_stage: DiscordStage,
) -> None:
    first, second = await discord_stage.proposes(PROD), await discord_stage.proposes()
    one, other = await discord_stage.card(first), await discord_stage.card(second)
    discord_stage.server.fails("PATCH", one.id, status=500)
    discord_stage.server.fails("PATCH", other.id, status=404, code=10008, times=None)
    for card in (one, other):
        discord_stage.server.reacts(ANA, card, CROSS)
    await discord_stage.reaches(first, "rejected")
    await discord_stage.reaches(second, "rejected")
    await until(lambda: "rejected" in shown(one), "the end is shown", seconds=20)
    await until(lambda: "900" not in one.who(TICK) + one.who(CROSS), "seeds are gone")
    assert one.data["components"] == []
    await until(lambda: len(discord_stage.server.called("PATCH", other.id)) >= 1, "tried")
    assert len(discord_stage.server.cards()) == 2


@pytest.mark.parametrize(
    ("status", "code"), [(400, 50035), (403, 50013), (404, 10003)], ids=["long", "mute", "deleted"]
)
async def test_K10_a_card_that_cannot_be_posted_is_seen_and_nothing_runs(
    discord_stage: DiscordStage, status: int, code: int
) -> None:
    fault = discord_stage.server.fails(
        "POST", "/channels/701/messages$", says="PROPOSAL", status=status, code=code, times=None
    )
    proposal_id = discord_stage.sends(PROD)
    await until(lambda: "card_undelivered" in "".join(discord_stage.server.said()), "announced")
    told = f"leila: {proposal_id}: Its card cannot be shown on discord"
    await until(lambda: told in "".join(discord_stage.server.said()), "its agent is told")
    discord_stage.server.says(ANA, "!pending")
    listed = await until(
        lambda: [t for t in discord_stage.server.said() if "1 pending" in t], "shown as pending"
    )
    assert "card_undelivered" in listed[0]
    discord_stage.server.says(ANA, f"!approve {proposal_id}")
    await until(lambda: "waits for: its card" in "".join(discord_stage.server.said()), "it waits")
    assert discord_stage.tool("production-deploy").verbs() == []
    fault.times = 0
    discord_stage.clock.advance(61)
    discord_stage.broadcast.nudge()
    await discord_stage.reaches(proposal_id, "completed")


async def test_K10_a_card_is_posted_once_discord_is_well_again(discord_stage: DiscordStage) -> None:
    discord_stage.server.fails(
        "POST", "/channels/701/messages$", says="PROPOSAL", status=503, times=2
    )
    proposal_id = discord_stage.sends(PROD)

    async def posted() -> bool:
        discord_stage.clock.advance(1)
        discord_stage.broadcast.nudge()
        return len(discord_stage.server.cards()) == 1

    await until(posted, "posted")
    assert (await discord_stage.proposal(proposal_id)).attention is None
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), TICK)
    await discord_stage.reaches(proposal_id, "completed")


async def test_O05_a_burst_under_rate_limits_is_all_cards_in_order(
    discord_stage: DiscordStage,
) -> None:
    agents = discord_stage.policy.agents
    leila = replace(agents["leila"], open_limit=50)
    await adopted(
        discord_stage.workflow,
        replace(
            discord_stage.policy,
            digest="pol1_" + "1" * 64,
            agents={**agents, "leila": leila},
            limits=replace(
                discord_stage.policy.limits,
                rate=dict.fromkeys(discord_stage.policy.limits.rate, 100),
            ),
        ),
        discord_stage.workflow.world.law.sentinel,
    )
    discord_stage.server.fails(
        "POST", "/channels/701/messages$", status=429, retry_after=0.02, every=3, times=None
    )
    ids = [discord_stage.sends(**a_mail(subject=f"Invoice {number}")) for number in range(20)]
    for each in ids:
        await discord_stage.card(each)
    order = [
        card.data["embeds"][0]["footer"]["text"].split(" ")[0]
        for card in discord_stage.server.cards()
    ]
    assert order == ids


def test_M05_a_fact_that_quotes_somebody_is_no_markup_either() -> None:
    why = Field("Why", "**no** <@1001> [here](https://evil.example)")
    shown = render(a_card(facts=(why,))).embed.fields[0].value
    assert shown == "\\*\\*no\\*\\* \\<@1001> \\[here\\]\\(https://evil.example)"
