"""A form, a file, a stop, an end or a long text on Discord is neither lost nor cut."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from lifecycle.announcing import announce
from lifecycle.ports import StoreUnavailable
from tests.bot.chat.discord.cards import ben_stops, in_window, seeded
from tests.bot.chat.discord.standing import SEND, WINDOW_S, newest, state_of
from tests.builders import PROD, a_document
from tests.fakes.discord_server.rest import thread_json
from tests.fakes.discord_server.state import CHANNEL, GUILD
from tests.fakes.discord_stage import ANA, BEN, LEILA, DiscordStage, until

LONGEST_MESSAGE = 2_000


async def is_killed(stage: DiscordStage) -> None:
    """End the process as `kill -9` does, as far as that goes: nothing is let to end."""
    for task in list(stage.workflow.world.background.tasks):
        task.cancel()
    stage.serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await stage.serving


async def test_a_form_is_kept_before_it_is_acknowledged_and_outlives_the_process(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    gate = asyncio.Event()
    stage.server.fails("GET", f"/members/{BEN}", gate=gate, times=None)
    form = stage.server.submits(BEN, f"signoff:reason:{card.id}", card, text="wrong person")
    await until(lambda: form.acknowledged_after_s is not None, "acknowledged")
    await is_killed(stage)
    gate.set()
    await stage.begins()
    await stage.quiet()
    await stage.passes(seconds=WINDOW_S + 60)
    ended = await stage.proposal(proposal_id)
    assert (ended.state.value, ended.reason) == ("rolled_back", "rolled_back_by_person")
    assert (await newest(stage, proposal_id)).reason == "wrong person"
    assert stage.tool(SEND).verbs() == ["execute", "roll_back"]


@pytest.mark.parametrize("how", ["form", "slash", "emoji", "message"])
async def test_a_stop_that_a_former_process_heard_in_time_decides_over_the_deadline(
    stage: DiscordStage, how: str
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.clock.set((await stage.proposal(proposal_id)).deadline_ms - 1)
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/members/{BEN}", gate=gate, times=None)
    ben_stops(stage, proposal_id, card, how)
    await until(lambda: held.seen, "asked who ben is")
    await is_killed(stage)
    stage.clock.advance(1)
    gate.set()

    await stage.begins()

    ended = await stage.reaches(proposal_id, "rejected")
    assert (ended.reason, str(ended.decided_by)) == ("rejected_by_person", "person ben")


def a_file(proposal_id: str) -> dict[str, bytes]:
    return {"mail.json": json.dumps(a_document(proposal_id=proposal_id, actor="ana")).encode()}


async def proposed(stage: DiscordStage, proposal_id: str) -> bool:
    stage.clock.advance(1)
    return await stage.store.read(lambda tx: tx.proposals.get(proposal_id)) is not None


async def test_a_proposal_in_a_file_is_kept_before_it_is_acknowledged_and_outlives_the_process(
    stage: DiscordStage,
) -> None:
    gate = asyncio.Event()
    stage.server.fails("GET", "/files/", gate=gate, times=None)
    asked = stage.server.runs(ANA, "propose", files=a_file("s1"))
    await until(lambda: asked.acknowledged_after_s is not None, "acknowledged")
    await is_killed(stage)
    gate.set()
    await stage.begins()
    await until(lambda: proposed(stage, "s1"), "proposed")
    await stage.card("s1")


@pytest.mark.parametrize("how", ["slash", "message"])
async def test_a_file_that_discord_does_not_give_out_any_more_is_refused_in_words(
    stage: DiscordStage, how: str
) -> None:
    stage.server.fails("GET", "/files/", status=404, times=None)
    if how == "slash":
        asked = stage.server.runs(ANA, "propose", files=a_file("s1"))
        await until(lambda: "Attach it again" in asked.text, "told")
    else:
        stage.server.says(ANA, "!propose", files=a_file("s1"))
        await until(lambda: any("Attach it again" in said for said in stage.server.said()), "told")
    await stage.quiet()  # and it does not come back


async def test_a_file_that_cannot_be_fetched_just_now_is_fetched_later(
    stage: DiscordStage,
) -> None:
    outage = stage.server.fails("GET", "/files/", status=503, times=1)
    stage.server.runs(ANA, "propose", files=a_file("s1"))
    await until(lambda: outage.times == 0, "refused")

    await until(lambda: proposed(stage, "s1"), "proposed")


async def test_a_stop_typed_in_a_thread_that_cannot_be_looked_at_just_now_is_heard(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    thread = card.id
    stage.server.state.add_channel(thread, GUILD, "why", **thread_json(thread, CHANNEL))
    outage = stage.server.fails("GET", f"/channels/{thread}$", status=503, times=1)
    stage.server.says(BEN, f"!reject {proposal_id} wrong version", channel=thread)
    await until(lambda: outage.times == 0, "looked at")

    async def stopped() -> bool:
        stage.clock.advance(1)
        return await state_of(stage, proposal_id) == "rejected"

    await until(stopped, "stopped")
    assert await stage.audit("ignored", "wrong_place") == []


@pytest.mark.parametrize("text", ["freeze breach", "reject {} wrong version"])
async def test_so_it_is_where_nothing_can_be_stored_either(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    thread, spool = card.id, stage.workflow.world.spool
    stage.server.state.add_channel(thread, GUILD, "why", **thread_json(thread, CHANNEL))
    outage = stage.server.fails("GET", f"/channels/{thread}$", status=503, times=1)

    async def locked(_unit: object) -> object:
        raise StoreUnavailable("database is locked")

    def kept() -> object:
        stage.clock.advance(1)
        return spool.kept()

    with monkeypatch.context() as patch:
        patch.setattr(stage.store, "write", locked)
        stage.server.says(ANA, f"!{text.format(proposal_id)}", channel=thread)
        await until(lambda: outage.times == 0, "looked at")
        held = stage.workflow.world.heard.of(proposal_id)
        await until(kept, "kept")

    assert held
    assert [stop["id"] for stop in spool.kept()] == ["ana"]


async def test_an_end_is_told_in_the_channel_where_the_thread_it_belongs_to_is_gone(
    stage: DiscordStage,
) -> None:
    talk = stage.server.says(LEILA, "a thread of mine")
    thread = stage.server.opens_thread(talk)
    document = a_document(PROD, proposal_id="p1", ts_ms=stage.clock.now_ms())
    stage.server.says(LEILA, f"!propose {json.dumps(document)}", channel=thread)
    await stage.card("p1")
    await stage.quiet()
    gone = stage.server.state.channels.pop(thread)
    stage.server.gateway.dispatch("THREAD_DELETE", gone)
    stage.server.says(ANA, "!reject p1 no")
    ended = await until(lambda: [a for a in stage.answers() if a["state"] == "rejected"], "told")
    assert ended[0]["proposal_id"] == "p1"


async def test_an_answer_is_posted_in_the_channel_where_the_thread_that_asked_is_gone(
    stage: DiscordStage,
) -> None:
    _, card = await seeded(stage, PROD)
    thread = stage.server.opens_thread(card)
    stage.server.fails("POST", f"/channels/{thread}/messages$", status=404, code=10003, times=None)
    stage.server.says(ANA, "!nonsense", channel=thread)
    await until(lambda: any("is no command" in said for said in stage.server.said()), "answered")


async def test_a_long_question_shows_its_last_line_and_carries_the_whole_text(
    stage: DiscordStage,
) -> None:
    last = "Reply with: answer q-1234-leila <words>"
    words = f"QUESTION from agent leila: May I {'really ' * 400}?\n{last}"
    moment = stage.workflow.world.moment()
    await stage.store.write(lambda tx: announce(tx, moment, "question:q-1234-leila", words))
    stage.broadcast.nudge()
    said = await until(lambda: [s for s in stage.server.said() if "QUESTION" in s], "the question")
    posted = stage.server.state.messages[CHANNEL].values()  # a board may come behind it
    (message,) = [each for each in posted if each.data["content"] == said[0]]
    assert said[0].replace("\\", "").endswith(last)
    assert len(said[0]) <= LONGEST_MESSAGE
    (attached,) = message.data["attachments"]
    assert stage.server.state.files[attached["id"]].decode() == f"{words}\n"


async def test_a_long_answer_to_a_button_fits_a_message(stage: DiscordStage) -> None:
    proposal_id, card = await seeded(stage, PROD)
    stage.server.says(ANA, f"!reject {proposal_id} " + "whyy" * 498)
    await stage.reaches(proposal_id, "rejected")
    await stage.quiet()
    press = stage.server.clicks(BEN, card, "signoff:approve")  # it was on its way
    await stage.quiet()
    assert "Already decided" in press.text
    assert press.text.replace("\n", "").count("whyy") >= 490
    assert all(len(each["content"]) <= LONGEST_MESSAGE for each in press.answers)


@pytest.mark.parametrize(("word", "state"), [("approve", "completed"), ("reject", "rejected")])
async def test_a_typed_decision_that_was_kept_and_not_worked_counts_after_the_start(
    stage: DiscordStage, word: str, state: str
) -> None:
    proposal_id, _ = await seeded(stage, PROD)
    stage.workflow.world.ending = True  # SIGTERM has come
    stage.server.says(ANA, f"!{word} {proposal_id} because")
    await until(lambda: stage.store.read(lambda tx: tx.flags.get("inbox:discord")), "kept")
    await stage.ends()
    before = len(stage.server.said())
    await stage.begins()
    stage.clock.advance(1)
    await stage.reaches(proposal_id, state)
    await until(lambda: len(stage.server.said()) > before, "answered")
