"""Reactions on Slack: exact names, removals, what was made while the bot was away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import PROD, the_people
from tests.slack_stage import eventually, on_slack, shown


async def test_H01_the_bots_own_emoji_decide_nothing() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("USIGNOFF", card.ts)
        await slack.server.reacts("USIGNOFF", card.ts, "x")
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes() == []
        assert await slack.world.store.read(lambda tx: tx.reviews.of("p1")) == []
        assert "approved by 0 of 1" in shown(card)


async def test_H02_a_card_of_a_former_process_is_still_a_card() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.restarts()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")


async def test_H03_reactions_made_while_the_bot_was_away_are_found_late_and_count_once() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.closes()
        given = {"UANA": "white_check_mark", "UCAL": "x"}
        events = []
        for user, name in given.items():
            await slack.server.reacts(user, card.ts, name, heard=False)
            events.append(slack.server.reaction("reaction_added", user, card.ts, name, "C0OPS"))
        slack.world.clock.advance(5)
        await slack.restarts()
        assert await slack.broadcast.catch_up() == 1
        for event in events:  # the live events arrive as well, late
            await slack.server.event(event)
        await slack.settles()
        reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert [(r.person, r.found_late, r.counts) for r in reviews] == [("ana", True, True)]
        assert await slack.codes() == ["not_a_reviewer"]
        assert slack.hints() == []


async def test_H03_what_was_refused_when_it_was_found_decides_nothing_when_it_is_heard() -> None:
    """A policy that comes between gives cal's ✅ no weight: it was given without authority."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.closes()
        await slack.server.reacts("UCAL", card.ts, heard=False)
        late = slack.server.reaction("reaction_added", "UCAL", card.ts, "white_check_mark", "C0OPS")
        slack.world.clock.advance(5)
        await slack.restarts()
        await slack.broadcast.catch_up()
        people = the_people()
        people["cal"] = replace(people["cal"], groups=frozenset({"approvers"}))
        await slack.world.adopts(people=people)
        await slack.server.event(late)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        slack.world.clock.advance(1)
        await slack.server.unreacts("UCAL", card.ts)
        await slack.server.reacts("UCAL", card.ts)
        await slack.stands("p1", "completed")


async def test_H03_a_refused_cross_that_was_taken_off_and_is_found_again_is_another() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UCAL", card.ts, "x")
        await slack.server.unreacts("UCAL", card.ts, "x")
        await slack.settles()
        await slack.closes()
        await slack.server.reacts("UCAL", card.ts, "x", heard=False)
        slack.world.clock.advance(5)
        for _ in range(2):
            await slack.restarts()
            await slack.broadcast.catch_up()
        await slack.settles()
        assert await slack.codes("p1") == ["not_a_reviewer"] * 2
        await slack.closes()


async def test_H03_a_cross_is_heard_before_a_check_mark_that_is_found_with_it() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.closes()
        await slack.server.reacts("UANA", card.ts, heard=False)
        await slack.server.reacts("UBEN", card.ts, "x", heard=False)
        await slack.restarts()
        await slack.broadcast.catch_up()
        await slack.stands("p1", "rejected")
        reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert [(r.person, r.decision, r.found_late) for r in reviews] == [("ben", "reject", True)]
        assert slack.world.tool("production-deploy").calls == []


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("white_check_mark", "completed"),
        ("white_check_mark::skin-tone-6", "completed"),
        ("x", "rejected"),
        ("x-ray", "sentinel_approved"),
        ("heavy_multiplication_x", "sentinel_approved"),
        ("negative_squared_cross_mark", "sentinel_approved"),
        ("fox_face", "sentinel_approved"),
        ("+1::skin-tone-3", "sentinel_approved"),
        ("heavy_check_mark", "sentinel_approved"),
    ],
)
async def test_H06_names_are_compared_whole(name: str, state: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, name)
        await slack.settles()
        await slack.stands("p1", state)


async def test_H07_taking_back_is_the_persons_own() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UANA", card.ts)
        await slack.server.unreacts("UANA", card.ts)
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        await eventually(lambda: "approved by 1 of 2 (ben)" in shown(card))
        taken = slack.server.reaction(
            "reaction_removed", "UCAL", card.ts, "white_check_mark", "C0OPS"
        )
        await slack.server.event(taken)
        await slack.settles()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")


async def test_H07_another_skin_tone_of_the_same_person_keeps_the_approval() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UANA", card.ts)
        await slack.server.reacts("UANA", card.ts, "white_check_mark::skin-tone-2")
        await slack.server.unreacts("UANA", card.ts)
        await slack.settles()
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")


async def test_H08_a_card_without_any_emoji_keeps_its_reviews_and_gets_its_seeds_again() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        card.reactions.clear()
        slack.hearing.began()
        await slack.broadcast.catch_up()
        await eventually(lambda: "x" in card.reactions, "seeding again")
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")


async def test_H08_a_card_that_lacks_one_of_its_seeds_gets_it_after_a_restart() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await eventually(lambda: "x" in card.reactions, "seeding")
        await slack.closes()
        del card.reactions["x"]  # the bot was killed between the two
        await slack.restarts()
        await slack.broadcast.catch_up()
        await eventually(lambda: "x" in card.reactions, "seeding again")


async def test_H09_a_check_mark_gone_during_an_absence_counts_as_taken_back() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        await slack.closes()
        await slack.server.unreacts("UANA", card.ts, heard=False)
        slack.world.clock.advance(1)
        await slack.restarts()
        await slack.broadcast.catch_up()
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


async def test_H09_an_approval_by_command_is_not_taken_back_by_a_bare_card() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.slash("UANA", "approve p1")
        await slack.settles()
        slack.world.clock.advance(1)
        slack.hearing.began()
        await slack.broadcast.catch_up()
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")


async def test_H11_seeds_are_comfort_not_a_condition(caplog: pytest.LogCaptureFixture) -> None:
    async with on_slack() as slack:
        slack.server.fails("reactions.add", "error", error="no_permission", times=None)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        card = (await eventually(lambda: slack.cards("p1")))[0]
        await eventually(lambda: "a card lacks an emoji of the bot" in caplog.text, "logging it")
        assert "1 cards stand without the bot's emoji" in slack.health()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")
        assert await slack.codes() == []
        await eventually(lambda: "emoji" not in slack.health(), "an ended card misses nothing")


async def test_H11_who_is_faster_than_the_seeds_has_decided(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with on_slack() as slack:
        slack.server.hold("reactions.add")
        refused = {"error": "no_permission", "holding": "'name': 'x'"}
        slack.server.fails("reactions.add", times=None, **refused)
        document = slack.document(PROD, proposal_id="p1", approval_class="dual")
        await slack.server.proposes("ULEILA", document)
        await eventually(lambda: slack.server.waiting("reactions.add"), "seeding")
        (card,) = slack.cards("p1")
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: "approved by 1 of 2 (ana)" in shown(card), "counting")
        assert slack.server.calls_of("reactions.add") == []
        slack.server.release("reactions.add")

        await eventually(lambda: "a card lacks an emoji of the bot" in caplog.text, "logging it")
        await slack.server.slash("UBEN", "status")
        told = await eventually(lambda: slack.server.responses, "the answer")
        assert "1 cards stand without the bot's emoji" in told[-1]["text"]
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")


async def test_H11_a_reaction_faster_than_the_cards_own_row_counts() -> None:
    async with on_slack() as slack:
        body = "long " * 2000
        slack.server.hold("files.getUploadURLExternal")
        await slack.server.proposes(
            "ULEILA",
            slack.document(
                parameters={"to": "pat@partner.example", "subject": "s", "body": body},
                proposal_id="p1",
            ),
        )
        card = (await eventually(lambda: slack.cards("p1")))[0]
        await slack.server.reacts("UANA", card.ts, "x")
        slack.server.release("files.getUploadURLExternal")
        await slack.stands("p1", "rejected")
        assert await slack.codes() == []


async def test_H12_an_old_card_decides_nothing() -> None:
    async with on_slack() as slack:
        first = await slack.proposes(PROD)
        await slack.server.deletes(first.ts)
        second = await eventually(lambda: slack.seeded("p1"), "posting again")
        assert second.ts != first.ts
        await slack.server.reacts("UANA", first.ts)
        await slack.settles()
        assert await slack.codes("p1") == ["stale_card"]
        (hint,) = slack.hints()
        assert "It stands here: https://shop.slack.example/" in hint
        assert second.ts.replace(".", "") in hint
        await slack.server.says("UANA", "<@USIGNOFF> help")
        explained = await eventually(lambda: slack.said("settle <id>"), "help")
        await slack.server.reacts("UANA", explained[-1].ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        await slack.server.reacts("UANA", second.ts)
        await slack.stands("p1", "completed")
        await slack.server.reacts("UBEN", second.ts)
        await slack.settles()
        await slack.server.reacts("UBEN", second.ts, "x")
        await slack.settles()
        ended = ["already_decided", "window_closed"]
        assert await slack.codes() == ["stale_card", "unknown_proposal", *ended]
        assert (await slack.world.proposal("p1")).state.value == "completed"
