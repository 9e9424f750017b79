"""Cases H, I, J on Discord: reactions, old cards, restarts."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from lifecycle.ports import Transaction
from tests.builders import PROD
from tests.fakes.discord_server.state import GUILD, Message
from tests.fakes.discord_stage import ANA, BEN, CAL, CROSS, TICK, DiscordStage, until

DUAL = {"approval_class": "dual"}
THREE = [
    {
        "proposal_id": f"m{n}",
        "parameters": {"to": "pat@partner.example", "subject": f"Invoice {n}", "body": "Hello"},
    }
    for n in (1, 2, 3)
]


async def test_H01_our_own_seeds_are_nobodys_votes(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "seeds")
    await discord_stage.quiet()
    assert await discord_stage.reviews(proposal_id) == []
    assert await discord_stage.audit("ignored") == []
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
    assert "approved by 0 of 1" in str(card.data["embeds"])


async def test_H02_a_card_from_before_a_restart_is_decided_upon(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    await discord_stage.restarts()
    discord_stage.server.reacts(ANA, card, TICK)
    await discord_stage.reaches(proposal_id, "completed")


async def test_H03_what_was_done_while_the_bot_was_away_is_found_and_done_once(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD, **DUAL)
    card = await discord_stage.card(proposal_id)
    await discord_stage.ends()
    discord_stage.server.reacts(ANA, card, TICK)
    discord_stage.server.reacts(CAL, card, CROSS)
    await discord_stage.begins()
    for account, emoji in ((ANA, TICK), (CAL, CROSS)):  # the live event arrives as well
        event = discord_stage.server.reactions._reaction_event("701", card, account, emoji, 0)
        discord_stage.server.gateway.dispatch("MESSAGE_REACTION_ADD", event)
    await discord_stage.quiet()
    (review,) = await discord_stage.reviews(proposal_id)
    assert (review.person, review.found_late) == ("ana", True)
    assert [row["reason"] for row in await discord_stage.audit("ignored")] == ["not_a_reviewer"]


async def test_H03_a_cross_is_heard_before_a_check_mark_that_is_found_with_it(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    await discord_stage.ends()
    discord_stage.server.reacts(ANA, card, TICK)
    discord_stage.server.reacts(BEN, card, CROSS)
    await discord_stage.begins()
    await discord_stage.reaches(proposal_id, "rejected")
    reviews = await discord_stage.reviews(proposal_id)
    assert [(r.person, r.decision, r.found_late) for r in reviews] == [("ben", "reject", True)]
    assert discord_stage.tool("production-deploy").calls == []


async def test_H03_a_refused_cross_that_was_taken_off_and_is_found_again_is_another(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(CAL, card, CROSS)
    await until(lambda: "900" in card.who(CROSS) and CAL not in card.who(CROSS), "taken off")
    await discord_stage.quiet()
    await discord_stage.ends()
    discord_stage.server.reacts(CAL, card, CROSS)
    await discord_stage.begins()
    await discord_stage.restarts()
    rows = await discord_stage.audit("ignored")
    assert [row["reason"] for row in rows] == ["not_a_reviewer"] * 2


@pytest.mark.parametrize(
    ("emoji", "state"),
    [
        ("✅", "completed"),
        ("✅\ufe0f", "completed"),
        ("❌", "rejected"),
        ("❌\ufe0f", "rejected"),
        *((each, "sentinel_approved") for each in ("✔\ufe0f", "☑", "👍", "❎", "✖")),
    ],
)
async def test_H04_emoji_are_compared_whole(
    discord_stage: DiscordStage, emoji: str, state: str
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), emoji)
    await discord_stage.quiet()
    await discord_stage.reaches(proposal_id, state)


async def test_H07_an_approval_that_was_taken_back_is_none(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes(PROD, **DUAL)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, card, TICK)
    discord_stage.server.unreacts(ANA, card, TICK)
    discord_stage.server.reacts(BEN, card, TICK)
    await until(lambda: "approved by 1 of 2 (ben)" in str(card.data["embeds"]), "ben alone")
    await discord_stage.quiet()
    counting = [each for each in await discord_stage.reviews(proposal_id) if each.counts]
    assert [review.person for review in counting] == ["ben"]
    (taken_back,) = await discord_stage.audit("approval_taken_back")
    assert taken_back["actor"]["id"] == "ana"
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"


async def test_H07_a_removal_is_that_of_whose_reaction_it_was(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD, **DUAL)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, card, TICK)
    await until(lambda: discord_stage.reviews(proposal_id), "counted")
    event = discord_stage.server.reactions._reaction_event("701", card, CAL, TICK, 0)
    discord_stage.server.gateway.dispatch("MESSAGE_REACTION_REMOVE", event)
    await discord_stage.quiet()
    assert [review.counts for review in await discord_stage.reviews(proposal_id)] == [True]
    assert await discord_stage.audit("approval_taken_back") == []


async def test_H09_a_removal_has_no_member_and_needs_none(
    discord_stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    proposal_id = await discord_stage.proposes(PROD, **DUAL)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, card, TICK)
    await until(lambda: discord_stage.reviews(proposal_id), "counted")
    discord_stage.server.unreacts(ANA, card, TICK)
    await until(lambda: discord_stage.audit("approval_taken_back"), "taken back")
    assert caplog.records == []


async def posted_again(discord_stage: DiscordStage, proposal_id: str, old: Message) -> None:
    """Let the card be gone where it stood, and wait until it stands elsewhere."""
    discord_stage.server.fails("PATCH", f"/messages/{old.id}", status=404, code=10008)

    def vanished(tx: Transaction) -> None:
        card = tx.cards.get(proposal_id, "discord")
        assert card is not None
        tx.cards.put(replace(card, shown_version=0))

    await discord_stage.store.write(vanished)
    discord_stage.broadcast.nudge()

    async def moved() -> bool:
        return (await discord_stage.card(proposal_id)).id != old.id

    await until(moved, "posted again")


async def told(discord_stage: DiscordStage, words: str, what: str) -> Message:
    """Wait until the bot has said these words in the channel."""

    def said() -> list[Message]:
        messages = discord_stage.server.state.messages["701"].values()
        ours = [m for m in messages if m.data["author"]["id"] == "900"]
        return [m for m in ours if words in m.data["content"]]

    return (await until(said, what))[0]


async def test_H12_an_old_card_and_other_messages_decide_nothing(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    old = await discord_stage.card(proposal_id)
    await posted_again(discord_stage, proposal_id, old)
    discord_stage.server.reacts(ANA, old, TICK)
    await discord_stage.ignored("stale_card")
    current = (await discord_stage.card(proposal_id)).id
    way = f"stands here: https://discord.com/channels/{GUILD}/701/{current}"
    await told(discord_stage, way, "the way to the current card")
    discord_stage.server.says(ANA, "!help")
    explained = await told(discord_stage, "propose", "help")
    discord_stage.server.reacts(ANA, explained, TICK)
    await discord_stage.ignored("unknown_proposal")
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"

    new = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, new, TICK)
    await discord_stage.reaches(proposal_id, "completed")
    discord_stage.server.reacts(BEN, new, TICK)
    await discord_stage.quiet()
    rows = await discord_stage.audit("ignored")
    once = ["stale_card", "unknown_proposal", "already_decided"]
    assert [row["reason"] for row in rows] == once
    assert [row.person for row in await discord_stage.reviews(proposal_id)] == ["ana"]


async def test_I09_five_reactions_on_what_has_ended_are_one_note_a_person(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)
    discord_stage.server.reacts(ANA, card, CROSS)
    await discord_stage.reaches(proposal_id, "rejected")
    for account in (ANA, BEN):
        for emoji in (TICK, CROSS, TICK):
            if account not in card.who(emoji):
                discord_stage.server.reacts(account, card, emoji)
            else:
                discord_stage.server.unreacts(account, card, emoji)
    await discord_stage.quiet()
    said = discord_stage.server.said()
    assert len([t for t in said if t.startswith("ana:")]) <= 1
    assert len([t for t in said if t.startswith("ben:")]) == 1
    assert (await discord_stage.proposal(proposal_id)).state.value == "rejected"


async def test_I11_a_decision_faster_than_our_own_books_counts(
    discord_stage: DiscordStage,
) -> None:
    discord_stage.server.messages.after_answer_s = 0.2

    def react(message: object) -> None:
        embeds = message.data["embeds"]  # type: ignore[attr-defined]
        if embeds and "PROPOSAL" in str(embeds[0].get("title")):
            discord_stage.server.reacts(ANA, message, TICK)  # type: ignore[arg-type]

    discord_stage.server.messages.before_answer = react
    proposal_id = discord_stage.sends(PROD)
    await discord_stage.reaches(proposal_id, "completed")


async def test_I12_a_decision_is_about_the_card_it_is_on(discord_stage: DiscordStage) -> None:
    ids = [await discord_stage.proposes(**each) for each in THREE]
    first, second, third = [await discord_stage.card(each) for each in ids]
    discord_stage.server.reacts(ANA, second, TICK)
    discord_stage.server.reacts(ANA, third, CROSS)
    await discord_stage.reaches(ids[1], "executing")
    await discord_stage.reaches(ids[2], "rejected")
    assert (await discord_stage.proposal(ids[0])).state.value == "sentinel_approved"
    assert first.who(TICK) in ([], ["900"])


async def test_I13_cards_and_windows_outlive_a_restart(discord_stage: DiscordStage) -> None:
    ids = [await discord_stage.proposes(**each) for each in THREE]
    cards = [await discord_stage.card(each) for each in ids]
    await discord_stage.restarts()
    for card in cards:
        discord_stage.server.reacts(ANA, card, TICK)
    for each in ids:
        await discord_stage.reaches(each, "executing")
    closes = (await discord_stage.proposal(ids[0])).execution.window_closes_at_ms  # type: ignore[union-attr]
    await discord_stage.restarts()
    await discord_stage.passes(minutes=15, seconds=1)
    done = await discord_stage.reaches(ids[0], "completed")
    assert done.execution is not None
    assert done.execution.window_closes_at_ms == closes


async def test_J06_ready_again_begins_nothing_twice(discord_stage: DiscordStage) -> None:
    proposal_id = await discord_stage.proposes()
    for _ in range(3):
        discord_stage.surface.connected()
        discord_stage.surface.ready()
    await discord_stage.quiet()
    assert len(discord_stage.server.cards()) == 1
    assert (await discord_stage.proposal(proposal_id)).state.value == "sentinel_approved"
