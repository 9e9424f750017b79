"""However long nothing can be stored, nobody fills the memory with what is to be tried again."""

from __future__ import annotations

import pytest

from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import approved_once, counting, state_of
from tests.bot.chat.discord.test_unstored_words import Disk, house_is_kept
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, CROSS, LEILA, TICK, DiscordStage, until

MANY = 20
#: Somebody of the server whom the config does not name.
STRANGER = "999"


def waiting(stage: DiscordStage) -> int:
    """How much of what was heard is being worked, or tried again."""
    assert stage.surface.listening is not None
    return len(stage.surface.listening._tasks)


async def is_rejected(stage: DiscordStage, proposal_id: str, disk: Disk) -> None:
    """Wait until a stop counts, once the disk takes everything again."""
    disk.fails = False

    async def rejected() -> bool:
        return await house_is_kept(stage) and await state_of(stage, proposal_id) == "rejected"

    await until(rejected, "rejected")


async def is_taken_back(stage: DiscordStage, proposal_id: str, disk: Disk) -> None:
    """Wait until no approval counts any more, once the disk takes everything again."""
    disk.fails = False

    async def taken_back() -> bool:
        return await house_is_kept(stage) and await counting(stage, proposal_id) == []

    await until(taken_back, "taken back")


async def test_what_strangers_do_is_left_to_the_reading_of_the_card(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each ❌ of theirs held something up, and was tried every other second."""
    _, card = await seeded(stage, PROD)
    disk = Disk(stage, monkeypatch, "read", "write")
    for number in range(MANY):
        stage.server.reacts(str(5_000 + number), card, CROSS)
        stage.server.reacts(str(5_000 + number), card, TICK)
        stage.server.unreacts(str(5_000 + number), card, TICK)
    await until(stage._all_heard, "heard")
    await until(lambda: not waiting(stage), "nothing is tried again")
    assert not stage.workflow.world.heard.unplaced()
    disk.fails = False


async def test_of_one_cross_that_is_put_there_again_and_again_one_is_tried(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    disk = Disk(stage, monkeypatch, "read", "write")
    for _ in range(MANY):
        stage.server.reacts(BEN, card, CROSS)
        stage.server.unreacts(BEN, card, CROSS)
    await until(stage._all_heard, "heard")
    await until(lambda: waiting(stage) == 1, "one is tried")
    assert len(stage.workflow.world.heard.unplaced()) == 1
    await is_rejected(stage, proposal_id, disk)


async def test_of_one_check_mark_that_is_taken_off_again_and_again_one_is_tried(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await approved_once(stage)
    disk = Disk(stage, monkeypatch, "read", "write")
    for number in range(MANY):
        if number:
            stage.server.reacts(ANA, card, TICK)
        stage.server.unreacts(ANA, card, TICK)
    await until(stage._all_heard, "heard")
    await until(lambda: waiting(stage) == 1, "one is tried")
    await is_taken_back(stage, proposal_id, disk)


@pytest.mark.parametrize("failing", [("write",), ("read", "write")], ids=["unwritten", "unread"])
async def test_a_check_mark_is_taken_off_although_a_super_one_was_right_before_it(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, failing: tuple[str, ...]
) -> None:
    """The two passed for one: the other was known to stand still, and its approval counted on."""
    proposal_id, card = await approved_once(stage)
    stage.server.reacts(ANA, card, TICK, burst=True)
    await stage.quiet()
    disk = Disk(stage, monkeypatch, *failing)
    stage.server.unreacts(ANA, card, TICK, burst=True)
    stage.server.unreacts(ANA, card, TICK)
    await until(stage._all_heard, "heard")
    await until(lambda: disk.refused > 1, "tried")
    await is_taken_back(stage, proposal_id, disk)


async def test_what_strangers_send_is_tried_once_and_answered(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each form of theirs held the card's proposal up, and was tried every other second."""
    proposal_id, card = await seeded(stage, PROD)
    disk, tasks = Disk(stage, monkeypatch, "read", "write"), stage.workflow.world.background.tasks
    forms = [
        stage.server.submits(STRANGER, f"signoff:reason:{card.id}", card, text="no")
        for _ in range(MANY)
    ]
    await until(stage._all_heard, "heard")
    await until(lambda: not tasks, "nothing is tried again")
    await until(lambda: all("nothing was done" in str(f.answers) for f in forms), "told")
    assert not stage.workflow.world.heard.unplaced()

    stage.server.submits(BEN, f"signoff:reason:{card.id}", card, text="wrong version")
    await until(stage._all_heard, "heard")
    await until(lambda: stage.workflow.world.heard.unplaced(), "ben's holds")
    await is_rejected(stage, proposal_id, disk)


async def test_what_an_agent_says_below_a_card_is_not_tried_again(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No word of theirs is a reason or an answer."""
    _, card = await seeded(stage, PROD)
    disk = Disk(stage, monkeypatch, "read", "write")
    for number in range(MANY):
        stage.server.says(LEILA, f"progress: {number}", reply_to=card.id)
    await until(stage._all_heard, "heard")
    await until(lambda: not waiting(stage), "nothing is tried again")
    disk.fails = False
