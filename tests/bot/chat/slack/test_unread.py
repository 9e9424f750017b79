"""Where a card cannot be read on Slack no stop waits behind an approval, and people are told."""

from __future__ import annotations

import pytest

from tests.builders import PROD
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack

DUAL = {"approval_class": "dual"}
LONG = PROD["parameters"] | {"notes": "word " * 2500}


async def says(slack: OnSlack, how: str, words: str) -> None:
    if how == "mention":
        await slack.server.says("UANA", f"<@{slack.server.workspace.bot_user}> {words}")
    else:
        await slack.server.slash("UANA", words)


@pytest.mark.parametrize("how", ["mention", "slash"])
async def test_a_typed_stop_does_not_wait_behind_an_approval_whose_card_cannot_be_read(
    how: str,
) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD, **DUAL)
        slack.server.fails("reactions.get", "status", status=503, times=None)
        await says(slack, how, "approve p1")
        await says(slack, how, "reject p1 no")
        await slack.stands("p1", "rejected")


async def test_a_cross_does_not_wait_behind_a_check_mark_whose_card_cannot_be_read() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        slack.server.fails("reactions.get", "status", status=503, times=None)
        await slack.server.reacts("UANA", card.ts)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")


async def test_who_approves_in_words_is_told_that_the_card_cannot_be_read() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD, **DUAL)
        slack.server.fails("reactions.get", "status", status=503, times=None)
        await says(slack, "mention", "approve p1")
        await eventually(lambda: any("cannot be read just now" in hint for hint in slack.hints()))
        assert await slack.world.store.read(lambda tx: tx.reviews.of("p1")) == []


async def test_one_failed_look_for_its_file_does_not_make_a_whole_card_unapprovable() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, parameters=LONG, **DUAL)
        await slack.settles()
        slack.server.fails("conversations.replies", "status", status=503, times=1)
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        await slack.server.reacts("UBEN", card.ts)

        async def ended() -> bool:
            await slack.world.workflow.open_ready()
            return (await slack.world.proposal("p1")).state.value == "completed"

        await eventually_async(ended, "it is completed")


@pytest.mark.parametrize(
    ("method", "every"),
    [("reactions.get", 1), ("users.info", 2)],  # whose it is Slack says, and not who is a member
)
async def test_who_presses_again_as_told_is_told_again_that_it_did_not_count(
    method: str, every: int
) -> None:
    """A button leaves nothing on its card; silence seemed to say that it counted now."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        slack.server.fails(method, "status", status=503, times=None, every=every)
        for times in (1, 2):
            await slack.server.presses("UANA", card, "signoff_approve")
            await slack.settles()
            assert sum("cannot be read" in hint for hint in slack.hints()) == times
