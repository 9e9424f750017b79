"""What Slack delivers and nothing can store holds what it stops at once, and lets go of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lifecycle.ports import StoreUnavailable
from lifecycle.stops.spooling import held_words
from tests.bot.chat.slack.counted import DEPLOY, reviews
from tests.bot.chat.slack.test_kept_stops import acknowledged, kept_and_carried_out
from tests.builders import PROD
from tests.fakes.slack_server.sockets import Envelope
from tests.slack_stage import OnSlack, eventually, on_slack
from tests.slack_stage.unwritable import Unwritable

REASON = {"reason_text": "wrong version"}


class Unreadable(Unwritable):
    """A store that can be neither written nor read at first."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.failing = True

    async def read(self, view: Any) -> Any:
        if self.failing:
            raise StoreUnavailable("disk I/O error")
        return await self.store.read(view)


async def test_a_cross_that_is_put_there_again_does_not_pass_for_the_one_that_was_taken_off() -> (
    None
):
    """It was held by nothing, and what it stopped began before Slack delivered it again."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        slack.store_fails(True)
        slack.server.hold("users.info")
        await slack.server.unreacts("UBEN", card.ts, "x")
        await eventually(lambda: slack.server.waiting("users.info"), "who took it off is asked")
        await slack.server.reacts("UBEN", card.ts, "x")
        heard = slack.world.workflow.world.heard
        await eventually(lambda: heard.of("p1"), "the one that stands holds")
        slack.server.release("users.info")
        await kept_and_carried_out(slack, "rejected", "")
        assert slack.world.tool(DEPLOY).calls == []


async def _holding(slack: OnSlack, turns: list[bool]) -> None:
    """Look in each turn of the loop whether anything is held for a stop, until it is spooled."""
    world = slack.world.workflow.world
    while not world.held:
        turns.append(bool(world.heard.of("p1")))
        await asyncio.sleep(0)


@pytest.mark.parametrize("how", ["an emoji", "a slash command", "a message"])
async def test_a_stop_holds_in_every_turn_of_the_loop_from_when_it_was_heard(how: str) -> None:
    """Between the store's no and its working it held nothing for one: a unit in the store's own
    thread could begin in it what it stops."""
    async with on_slack() as slack:
        card, turns = await slack.proposes(PROD), list[bool]()
        slack.store_fails(True)
        answers, looking = slack.store_waits(), asyncio.create_task(_holding(slack, turns))
        match how:
            case "an emoji":
                await slack.server.reacts("UBEN", card.ts, "x")
            case "a message":
                await slack.server.says("UBEN", "<@USIGNOFF> reject p1 wrong", both=False)
            case _:
                await slack.server.slash("UBEN", "reject p1 wrong")
        await eventually(lambda: slack.world.workflow.world.heard.of("p1"), "it holds")
        answers.set()
        await eventually(looking.done, "the stop in the spool")
        assert all(turns[turns.index(True) :])


async def test_a_stop_that_is_delivered_again_while_it_is_worked_holds_nothing_afterwards() -> None:
    """What it was known to be of stood still whenever anything else was worked, for good, and
    `status` named it as held; nobody could let go of it."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.hold("users.info")
        first = await slack.server.reacts("ULEILA", card.ts, "x")
        await acknowledged(first)
        await eventually(lambda: slack.server.waiting("users.info"), "it is worked")
        assert isinstance(first, Envelope)
        await acknowledged(await slack.server.sockets.send("events_api", first.payload))
        slack.server.release("users.info")
        await slack.settles()
        assert held_words(slack.world.workflow.world) is None
        assert not slack.world.workflow.world.heard.ids()


async def test_what_strangers_type_and_send_is_tried_once_while_nothing_can_be_stored() -> None:
    """Each form of theirs was tried every other second, for hours."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.presses("UBEN", card, "signoff_reject")
        (form,) = await eventually(lambda: slack.server.calls_of("views.open"), "the form")
        world = slack.world.workflow.world
        world.store = disk = Unreadable(world.store)  # type: ignore[assignment]
        for number in range(10):
            view = form.arguments["view"] | {"id": f"V{number}"}
            await acknowledged(await slack.server.submits("USTRANGE", view, REASON))
            await acknowledged(await slack.server.slash("USTRANGE", "reject p1 no"))
        await acknowledged(await slack.server.submits("UBEN", form.arguments["view"], REASON))
        await eventually(lambda: len(world.heard.unplaced()) == 1, "ben's is tried")
        assert len(world.background.tasks) == 1

        disk.failing = False
        await slack.stands("p1", "rejected")
        assert [each.person for each in await reviews(slack)] == ["ben"]
