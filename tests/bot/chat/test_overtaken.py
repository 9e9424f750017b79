"""What waits on one platform is overtaken on the other: it counts for what stood when it was heard.

Slack may not say for minutes who somebody is, or what stands on a card; Discord works meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from sentinel_rules import load_rules
from tests.bot.chat.discord.standing import DEPLOY, DUAL, SEND, counting
from tests.bot.chat.two import Two, on_two
from tests.builders import MAIL, PROD, a_policy
from tests.fakes.discord_fixtures import discord_server as discord_server
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_stage import ANA, BEN, NOUR, TICK, until
from tests.fakes.slack_server import SlackServer
from tests.fakes.slack_server.workspace import Message as SlackMessage
from tests.roads import adopted
from tests.slack_stage import shown


@pytest.fixture
async def two(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Two]:
    async with on_two(discord_server, tmp_path, a_policy(orchestrator="nour")) as stage:
        yield stage


def slack_of(two: Two) -> SlackServer:
    assert two.slack_server is not None
    return two.slack_server


async def waits(two: Two, method: str) -> None:
    """Wait until Slack was asked in vain, then let a second pass."""
    asked = lambda: any(each.failed for each in slack_of(two).calls_of(method))  # noqa: E731
    await until(asked, f"{method} in vain")
    two.clock.advance(1)
    two.surface.hearing.alive()


async def all_worked(two: Two) -> None:
    """Let Slack answer again, and all that waited be worked."""
    listening = two.slack.listening
    assert listening is not None
    await listening.inbox.settled()
    await two.quiet()
    await two.workflow.open_ready()
    await two.workflow.idle()


async def approved_and_taken_back(two: Two, card: object) -> None:
    """Let ana approve on Discord and take that back."""
    two.server.reacts(ANA, card, TICK)  # type: ignore[arg-type]
    await two.quiet()
    two.clock.advance(1)
    two.server.unreacts(ANA, card, TICK)  # type: ignore[arg-type]
    await two.quiet()
    two.clock.advance(1)


async def test_an_approval_that_waits_counts_no_more_once_it_is_taken_back_elsewhere(
    two: Two,
) -> None:
    proposal_id, on_discord, on_slack = await two.on_both(**DUAL)
    unread = slack_of(two).fails("reactions.get", "status", times=None)
    await slack_of(two).reacts("UANA", on_slack.ts)
    await waits(two, "reactions.get")
    await approved_and_taken_back(two, on_discord)
    unread.times = 0
    await all_worked(two)
    two.server.reacts(BEN, on_discord, TICK)
    await two.quiet()
    assert await counting(two, proposal_id) == ["ben"]
    assert two.tool(DEPLOY).verbs() == []
    (told,) = slack_of(two).workspace.ephemeral
    assert "took your approval back" in told["text"]

    two.clock.advance(1)
    await slack_of(two).unreacts("UANA", on_slack.ts)
    await slack_of(two).reacts("UANA", on_slack.ts)
    await until(lambda: two.tool(DEPLOY).verbs(), "given again")


async def test_an_approval_that_slack_delivers_late_does_not_count_over_its_taking_back(
    two: Two,
) -> None:
    proposal_id, on_discord, on_slack = await two.on_both(**DUAL)
    slack = slack_of(two)
    await slack.reacts("UANA", on_slack.ts, heard=False)
    late = slack.reaction("reaction_added", "UANA", on_slack.ts, "white_check_mark", "C0OPS")
    two.clock.advance(10)
    two.surface.hearing.alive()
    await approved_and_taken_back(two, on_discord)
    await slack.event(late)
    await until(lambda: slack.calls_of("reactions.get"), "looked at")
    await all_worked(two)
    assert await counting(two, proposal_id) == []
    assert await two.audit("ignored", "stale_card")


async def anas_account_is_bens(two: Two) -> None:
    """Let a new config give ana's account on Slack to ben."""
    people = dict(two.policy.people)
    accounts = dict(people["ana"].accounts)
    account = accounts.pop("slack")
    people["ben"] = replace(people["ben"], accounts={**people["ben"].accounts, "slack": account})
    people["ana"] = replace(people["ana"], accounts=accounts)
    policy = replace(two.policy, people=people)
    await adopted(two.workflow, policy, Sentinel(load_rules(policy.rules)))


@pytest.mark.parametrize("how", ["reacts", "says", "slash"])
async def test_an_approval_that_waits_counts_for_nobody_who_has_its_account_on_slack_then(
    two: Two, how: str
) -> None:
    proposal_id, _, on_slack = await two.on_both(**DUAL)
    unsaid = slack_of(two).fails("users.info", "status", times=None)
    match how:
        case "reacts":
            await slack_of(two).reacts("UANA", on_slack.ts)
        case "says":
            await slack_of(two).says("UANA", f"<@USIGNOFF> approve {proposal_id}")
        case _:
            await slack_of(two).slash("UANA", f"approve {proposal_id}")
    await waits(two, "users.info")
    await anas_account_is_bens(two)
    unsaid.times = 0
    await all_worked(two)
    assert await counting(two, proposal_id) == []
    assert await two.audit("ignored", "not_a_reviewer")


async def test_a_stop_that_waits_is_of_whoever_had_its_account_on_slack_when_it_was_heard(
    two: Two,
) -> None:
    proposal_id, _, on_slack = await two.on_both(PROD)
    unsaid = slack_of(two).fails("users.info", "status", times=None)
    await slack_of(two).reacts("UANA", on_slack.ts, "x")
    await waits(two, "users.info")
    await anas_account_is_bens(two)
    unsaid.times = 0
    await all_worked(two)
    assert str((await two.proposal(proposal_id)).decided_by) == "person ana"


async def test_whose_newer_approval_a_taking_back_withdraws_that_waited_is_told(two: Two) -> None:
    """It was gone, and nobody said so on the surface on which it was given."""
    proposal_id, _, on_slack = await two.on_both(**DUAL)
    await slack_of(two).reacts("UANA", on_slack.ts)
    await until(lambda: two.reviews(proposal_id), "counted")
    await all_worked(two)
    unsaid = slack_of(two).fails("users.info", "status", times=None)
    await slack_of(two).unreacts("UANA", on_slack.ts)
    await waits(two, "users.info")
    two.server.says(ANA, f"!approve {proposal_id}")
    await two.quiet()
    unsaid.times = 0
    await all_worked(two)
    assert await counting(two, proposal_id) == []
    words = f"Where that still holds, type: !approve {proposal_id}"
    await until(lambda: any(words in said for said in two.server.said()), "told")


async def test_a_tick_that_goes_in_an_absence_withdraws_what_was_approved_on_the_other_card(
    two: Two,
) -> None:
    proposal_id, on_discord, on_slack = await two.on_both(**DUAL)
    two.server.reacts(ANA, on_discord, TICK)
    await two.quiet()
    two.clock.advance(1)
    await slack_of(two).reacts("UANA", on_slack.ts)
    await until(lambda: two.ignored("already_counted"), "heard")
    await all_worked(two)
    await two.ends()
    two.clock.advance(5)
    await slack_of(two).unreacts("UANA", on_slack.ts, heard=False)
    await two.begins()
    await all_worked(two)
    assert await counting(two, proposal_id) == []


async def found_beside(two: Two) -> tuple[str, SlackMessage]:
    """Let ana approve on Discord, and a ✅ of hers be found on Slack after an absence."""
    proposal_id, on_discord, on_slack = await two.on_both(**DUAL)
    two.server.reacts(ANA, on_discord, TICK)
    await two.quiet()
    await two.ends()
    two.clock.advance(5)
    await slack_of(two).reacts("UANA", on_slack.ts, heard=False)
    await two.begins()
    await all_worked(two)
    assert await counting(two, proposal_id) == ["ana"]
    return proposal_id, on_slack


async def test_a_tick_that_was_found_beside_one_that_counts_is_seen_to_go_in_the_next_absence(
    two: Two,
) -> None:
    proposal_id, on_slack = await found_beside(two)
    await two.ends()
    two.clock.advance(5)
    await slack_of(two).unreacts("UANA", on_slack.ts, heard=False)
    await two.begins()
    await all_worked(two)
    assert await counting(two, proposal_id) == []


async def test_a_tick_that_was_found_beside_one_that_counts_is_nobodys_who_has_its_account_later(
    two: Two,
) -> None:
    """One person's two ✅ made up a quorum of two."""
    proposal_id, _ = await found_beside(two)
    await anas_account_is_bens(two)
    two.clock.advance(200)
    assert two.slack.desk is not None
    two.slack.desk.hearing.alive()
    two.surface.hearing.alive()
    looked = len(slack_of(two).calls_of("reactions.get"))
    await two.broadcast.catch_up()
    await all_worked(two)
    assert len(slack_of(two).calls_of("reactions.get")) > looked
    assert await counting(two, proposal_id) == ["ana"]
    assert two.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize("how", ["slash", "mention"])
async def test_a_thaw_that_waits_lifts_no_freeze_that_was_given_elsewhere_meanwhile(
    two: Two, how: str
) -> None:
    unsaid = slack_of(two).fails("users.info", "status", times=None)
    if how == "slash":
        await slack_of(two).slash("UANA", "thaw")
    else:
        await slack_of(two).says("UANA", "<@USIGNOFF> thaw")
    await waits(two, "users.info")
    two.server.says(ANA, "!freeze incident 8")
    await two.quiet()
    unsaid.times = 0
    await all_worked(two)
    frozen = await two.store.read(lambda tx: tx.flags.get("freeze"))
    assert frozen is not None
    assert frozen["reason"] == "incident 8"


async def test_a_typed_approval_that_waits_ends_no_window_that_opened_meanwhile(two: Two) -> None:
    proposal_id, _, on_slack = await two.on_both(MAIL)
    unsaid = slack_of(two).fails("users.info", "status", times=None)
    await slack_of(two).says("UANA", f"<@USIGNOFF> approve {proposal_id}")
    await waits(two, "users.info")
    two.server.says(NOUR, f"!approve {proposal_id}")
    await until(lambda: "executing" in shown(on_slack), "shown")
    two.clock.advance(1)
    unsaid.times = 0
    await all_worked(two)
    assert two.tool(SEND).verbs() == ["execute"]
    assert await two.audit("ignored", "stale_card")

    two.clock.advance(1)
    await slack_of(two).says("UANA", f"<@USIGNOFF> approve {proposal_id}")
    await until(lambda: two.tool(SEND).verbs() == ["execute", "commit"], "early")
