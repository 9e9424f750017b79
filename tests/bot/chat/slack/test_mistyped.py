"""What people type a little wrong on Slack is heard as they meant it, or answered."""

from __future__ import annotations

import pytest

from tests.bot.chat.slack.counted import mention, reviews
from tests.builders import PROD
from tests.slack_stage import OnSlack, eventually, on_slack

EDITED = "Edits change nothing"
AMID = "begins with the mention"


def told(slack: OnSlack) -> list[str]:
    return [each for each in slack.hints() if EDITED in each]


@pytest.mark.parametrize("how", ["mention", "slash"])
@pytest.mark.parametrize(
    "typed",
    ["reject p1\tbecause", "reject p1\u00a0because", "\u200breject\u00a0p1\u200b because"],
)
async def test_a_stop_counts_whichever_blanks_are_typed_with_it(how: str, typed: str) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        if how == "slash":
            await slack.server.slash("UANA", typed)
        else:
            await slack.server.says("UANA", f"\u200b{mention(slack, typed)}")
        await slack.stands("p1", "rejected")


@pytest.mark.parametrize("name", ["`p1`", "p1,", "p1:", "*p1*", "“p1”"])
async def test_a_stop_finds_its_proposal_within_marks_that_no_id_has_and_an_approval_does_not(
    name: str,
) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await slack.server.says("UANA", mention(slack, f"approve {name}"))
        await slack.settles()
        assert await slack.codes() == ["unknown_proposal"]
        await slack.server.says("UANA", mention(slack, f"reject {name} because"))
        await slack.stands("p1", "rejected")


@pytest.mark.parametrize("first", ["rejct p1 because", None])
async def test_whoever_makes_a_command_by_an_edit_is_told_once_that_it_is_not_read(
    first: str | None,
) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        before = "reject p1 because" if first is None else mention(slack, first)
        said, _ = await slack.server.says("UANA", before)
        for words in ("reject p1 because", "reject p1 because of it"):
            await slack.server.edits(said, mention(slack, words))
        await eventually(lambda: told(slack), "the note to ana")
        await slack.settles()
        assert len(told(slack)) == 1
        await slack.stands("p1", "sentinel_approved")


@pytest.mark.parametrize(
    ("user", "channel", "words"),
    [
        ("UANA", "C0OPS", "that is great"),
        ("UANA", "C0OPS", "fine"),
        ("ULEILA", "C0OPS", "reject p1 so"),
        ("UANA", "C0ELSE", "reject p1 so"),
    ],
)
async def test_an_edit_of_talk_or_by_an_agent_or_elsewhere_is_not_answered(
    user: str, channel: str, words: str
) -> None:
    async with on_slack() as slack:
        said, _ = await slack.server.says(user, "fine", channel=channel)
        await slack.server.edits(said, mention(slack, words))
        await slack.settles()
        assert slack.hints() == []


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("typed", ["hey <@USIGNOFF> reject p1 bad", "reject p1 bad <@USIGNOFF>"])
async def test_whoever_mentions_the_bot_amid_a_message_is_told_once_that_it_is_no_command(
    typed: str, in_thread: bool
) -> None:
    """It may have been meant as a stop, and Slack answered nothing."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.says("UANA", typed, thread_ts=card.ts if in_thread else None)
        await eventually(lambda: slack.hints(), "the note to ana")
        await slack.settles()
        (told,) = slack.hints()
        assert AMID in told
        assert "/signoff help" in told
        await slack.stands("p1", "sentinel_approved")
        assert await slack.codes("p1") == []


async def test_a_mention_in_the_reason_under_a_card_stays_a_part_of_it() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, "x")
        await slack.stands("p1", "rejected")
        await slack.server.says("UANA", "too dear, <@USIGNOFF>", thread_ts=card.ts)
        await eventually(lambda: slack.hints(), "the note to ana")
        await slack.settles()
        assert not [each for each in slack.hints() if AMID in each]
        (review,) = await reviews(slack)
        assert review.reason.startswith("too dear")


@pytest.mark.parametrize(
    ("user", "channel", "text"),
    [
        ("UANA", "C0OPS", "lunch, <@UBEN>?"),
        ("UANA", "C0ELSE", "ask <@USIGNOFF> about it"),
        ("ULEILA", "C0OPS", "I shall ask <@USIGNOFF> about it"),
    ],
)
async def test_talk_that_mentions_others_or_stands_elsewhere_or_is_of_a_bot_is_not_answered(
    user: str, channel: str, text: str
) -> None:
    async with on_slack() as slack:
        await slack.server.says(user, text, channel=channel)
        await slack.settles()
        assert slack.hints() == []


async def test_what_slack_itself_writes_of_the_bot_is_not_answered() -> None:
    async with on_slack() as slack:
        event = {"type": "message", "subtype": "channel_join", "user": "UANA", "channel": "C0OPS"}
        ts = slack.server.workspace.new_ts()
        await slack.server.event(event | {"text": "ana added <@USIGNOFF>", "ts": ts})
        await slack.settles()
        assert slack.hints() == []


async def test_a_stop_behind_two_mentions_counts() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await slack.server.says("UANA", f"<@USIGNOFF> {mention(slack, 'reject p1 because')}")
        await slack.stands("p1", "rejected")


@pytest.mark.parametrize("sign", "\u200f\u202e")
async def test_nothing_goes_on_for_an_id_that_a_sign_before_the_mention_turns_around(
    sign: str,
) -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD, proposal_id="1-yap")
        await slack.server.says("UANA", sign + mention(slack, "approve 1-yap"))
        await eventually(lambda: slack.said("another id may be read there"), "the answer")
        assert (await slack.world.proposal("1-yap")).state.value == "sentinel_approved"
        await slack.server.says("UANA", sign + mention(slack, "reject 1-yap because"))
        await slack.stands("1-yap", "rejected")
