"""Slash commands and the board: the same words for people, within three seconds."""

from __future__ import annotations

import gc
import json

import discord

from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_server.state import OTHER_CHANNEL
from tests.fakes.discord_stage import ANA, BEN, CROSS, LEILA, TICK, DiscordStage, until


async def test_every_command_is_offered_in_the_server(stage: DiscordStage) -> None:
    from bot.chat.commands.help import COMMANDS

    offered = {command["name"] for command in stage.server.rest.commands["700"]}
    assert offered == set(COMMANDS)


async def test_pending_and_show_are_answered_to_whoever_asked(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes()
    asked = stage.server.runs(ANA, "pending")
    await until(lambda: "1 pending" in asked.text, "answered")
    assert asked.acknowledged_after_s is not None
    assert asked.acknowledged_after_s < 3
    assert asked.callback is not None
    assert asked.callback["data"]["flags"] == 64
    shown = stage.server.runs(ANA, "show", id=proposal_id)
    await until(lambda: "Invoice 2847" in shown.text, "shown")


async def test_ids_are_completed_from_what_is_open(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(proposal_id="weekly-report")
    await stage.proposes(PROD)
    typed = stage.server.types(ANA, "approve", "id", "wee")
    answer = await until(lambda: typed.callback, "choices")
    assert [choice["value"] for choice in answer["data"]["choices"]] == [proposal_id]


async def test_ids_are_completed_only_where_cards_are_seen(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    thread = stage.server.opens_thread(await stage.card(proposal_id))
    elsewhere = stage.server.types(ANA, "show", "id", "", channel=OTHER_CHANNEL)
    assert (await until(lambda: elsewhere.callback, "an answer"))["data"]["choices"] == []
    in_a_thread = stage.server.types(ANA, "show", "id", "", channel=thread)
    answer = await until(lambda: in_a_thread.callback, "choices")
    assert [choice["value"] for choice in answer["data"]["choices"]] == [proposal_id]


async def test_approve_and_reject_are_the_same_law(stage: DiscordStage) -> None:
    first = await stage.proposes(PROD)
    stage.server.runs(ANA, "approve", id=first, reason="fine")
    await stage.reaches(first, "completed")
    second = await stage.proposes()
    stage.server.runs(BEN, "reject", id=second, reason="wrong customer")
    assert (await stage.reaches(second, "rejected")).explanation == "wrong customer"


async def test_a_person_proposes_by_option_file_or_form(stage: DiscordStage) -> None:
    def document(number: int) -> str:
        changes = {"proposal_id": f"s{number}", "actor": "ana"}
        subject = {**MAIL["parameters"], "subject": f"Invoice {number}"}
        return json.dumps(a_document(MAIL, parameters=subject, **changes))

    stage.server.runs(ANA, "propose", json=document(1))
    await stage.card("s1")
    stage.server.runs(ANA, "propose", files={"mail.json": document(2).encode()})
    await stage.card("s2")
    asked = stage.server.runs(ANA, "propose")
    form = await until(lambda: asked.callback, "a form")
    assert form["type"] == 9
    sent = stage.server.submits(ANA, form["data"]["custom_id"], text=document(3))
    await stage.card("s3")
    await until(lambda: '"proposal_id": "s3"' in sent.text, "answered")


async def test_a_command_elsewhere_is_refused_and_audited(stage: DiscordStage) -> None:
    asked = stage.server.runs(ANA, "freeze", channel=OTHER_CHANNEL, words="now")
    await stage.ignored("wrong_place")
    await until(lambda: "<#701>" in asked.text, "told where")
    stage.server.says(ANA, "!freeze now", channel=OTHER_CHANNEL)
    await stage.ignored("wrong_place", 2)
    stage.server.says(ANA, "!important: lunch", channel=OTHER_CHANNEL)
    stage.server.says(LEILA, "!pending", channel=OTHER_CHANNEL)
    await stage.ignored("wrong_place", 3)
    await stage.quiet()
    assert len(await stage.audit("ignored")) == 3
    told = [said for said in stage.server.said(OTHER_CHANNEL) if "Commands are read in" in said]
    assert len(told) == 1, "no bot is answered elsewhere: it might answer for ever"


async def test_a_direct_message_is_refused_and_audited(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    stage.server.state.add_channel("51001", None, "", recipients=[])
    stage.server.says(ANA, f"!approve {proposal_id}", channel="51001")
    await stage.ignored("wrong_place")
    assert (await stage.proposal(proposal_id)).state.value == "sentinel_approved"


async def test_commands_are_read_in_threads_of_the_channel(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    thread = stage.server.opens_thread(await stage.card(proposal_id))
    stage.server.says(ANA, f"!approve {proposal_id}", channel=thread)
    await stage.reaches(proposal_id, "completed")


async def test_the_board_is_one_pinned_message_kept_current(stage: DiscordStage) -> None:
    def boards() -> list[str]:
        found = stage.server.state.messages["701"].values()
        return [json.dumps(m.data["embeds"]) for m in found if m.data["pinned"]]

    await until(lambda: len(boards()) == 1, "a board")
    proposal_id = await stage.proposes()
    await until(lambda: f"**{proposal_id}**" in boards()[0], "it waits")
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "executing")
    await until(lambda: "executing: execute done" in boards()[0], "inside its window")
    await stage.restarts()
    stage.server.reacts(ANA, await stage.card(proposal_id), CROSS)
    await stage.reaches(proposal_id, "rolled_back")
    await until(lambda: f"**{proposal_id}**" not in boards()[0], "it has ended")
    assert len(boards()) == 1


async def test_a_board_that_was_deleted_while_the_bot_was_away_is_posted_again(
    stage: DiscordStage,
) -> None:
    messages = stage.server.state.messages["701"]

    def boards() -> list[str]:
        return [m.id for m in messages.values() if m.data["pinned"]]

    (first,) = await until(boards, "a board")
    await stage.quiet()
    del messages[first]  # nobody is told of it
    stage.surface.connected()
    await until(boards, "a board again")


async def test_a_board_whose_post_was_never_answered_is_found_and_not_posted_again(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted

    def boards() -> int:
        found = stage.server.state.messages["701"].values()
        return sum("Kept current" in json.dumps(m.data["embeds"]) for m in found)

    lost = stage.server.fails("POST", "/channels/701/messages$", acts=True, says="Kept current")
    await stage.begins()
    await until(lambda: lost.times == 0 and boards() == 1, "posted, its answer lost")
    await stage.ends()
    stage.server.messages.nonces.clear()  # Discord forgets nonces after a few minutes
    await stage.begins()
    proposal_id = await stage.proposes()
    shown = stage.server.state.messages["701"].values
    await until(lambda: any(m.data["pinned"] for m in shown()), "pinned")
    await until(lambda: f"**{proposal_id}**" in json.dumps([m.data["embeds"] for m in shown()]), "")
    assert boards() == 1


async def test_a_board_is_posted_also_where_the_bot_may_not_look_for_another(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted
    stage.server.forbid(16)  # Read Message History
    await stage.begins(connected=False)
    shown = stage.server.state.messages["701"].values
    await until(lambda: any("Kept current" in json.dumps(m.data["embeds"]) for m in shown()), "")


async def test_a_board_is_shown_also_where_somebody_wrote_over_its_place(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted
    await stage.store.write(lambda tx: tx.flags.put("board:discord", "no message"))
    await stage.begins()
    shown = stage.server.state.messages["701"].values
    await until(lambda: any("Kept current" in json.dumps(m.data["embeds"]) for m in shown()), "")


async def test_forms_that_nobody_sends_leave_nothing_behind_in_the_process(
    stage: DiscordStage,
) -> None:
    card = await stage.card(await stage.proposes(PROD))
    for _ in range(3):
        pressed = stage.server.clicks(BEN, card, "signoff:reject")
        await until(lambda pressed=pressed: pressed.callback, "a form for the reason")
    asked = stage.server.runs(ANA, "propose")
    await until(lambda: asked.callback, "a form for a proposal")
    await stage.quiet()

    def remembered() -> int:
        gc.collect()
        return sum(isinstance(each, discord.ui.Modal) for each in gc.get_objects())

    await until(lambda: not remembered(), "all forms forgotten", seconds=5)
