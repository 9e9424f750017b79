"""What of a proposal on Slack counts, and when all that was delivered has come to its end."""

from __future__ import annotations

from collections.abc import Sequence

from lifecycle.review import Review
from tests.slack_stage import OnSlack

DEPLOY = "production-deploy"
DUAL = {"approval_class": "dual"}


async def reviews(slack: OnSlack) -> Sequence[Review]:
    return await slack.world.store.read(lambda tx: tx.reviews.of("p1"))


async def counting(slack: OnSlack) -> list[str]:
    return [review.person for review in await reviews(slack) if review.counts]


async def state(slack: OnSlack) -> str:
    return (await slack.world.proposal("p1")).state.value


async def all_done(slack: OnSlack) -> None:
    """Let everything that was delivered, and what it opened, come to its end."""
    await slack.settles()
    await slack.world.workflow.open_ready()
    await slack.settles()


def mention(slack: OnSlack, words: str) -> str:
    return f"<@{slack.server.workspace.bot_user}> {words}"
