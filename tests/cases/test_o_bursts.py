"""Cases N03 and O05 word by word: bursts fill no channel, lose no card, and keep nobody waiting."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from lifecycle.policy import Limits, Policy, Safety
from tests.builders import MAIL, a_policy
from tests.fakes.discord_stage import DiscordStage, until
from tests.roomy import a_roomy_policy
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack, shown

#: How often leila proposes in N03, and how many of it she may have open.
FLOOD, MOST_OPEN = 200, 10
BURST = [f"q{number:02}" for number in range(20)]


def on_both(policy: Policy) -> Policy:
    """Return the policy with nour on Slack too."""
    nour = policy.agents["nour"]
    nour = replace(nour, accounts={**nour.accounts, "slack": "T1/UNOUR"})
    return replace(policy, agents={**policy.agents, "nour": nour})


def mail(number: int) -> dict[str, str]:
    return MAIL["parameters"] | {"subject": f"Invoice {number}"}


async def proposed(slack: OnSlack, agent: str, proposal_id: str, number: int) -> None:
    actor = agent.removeprefix("U").lower()
    document = slack.document(proposal_id=proposal_id, actor=actor, parameters=mail(number))
    await slack.server.proposes(agent, document)


async def test_N03_two_hundred_mails_on_slack_are_ten_cards_one_notice_and_nobodys_delay() -> None:
    async with on_slack(
        on_both(a_policy(limits=Limits(rate=dict.fromkeys(Safety, 1_000))))
    ) as slack:
        for number in range(FLOOD // 2):
            await proposed(slack, "ULEILA", f"m{number:03}", number)
        await proposed(slack, "UNOUR", "nours", 1)
        for number in range(FLOOD // 2, FLOOD):
            await proposed(slack, "ULEILA", f"m{number:03}", number)
        theirs = await slack.card("nours")
        await eventually(lambda: len(slack.answers()) == FLOOD + 1, "every answer")
        (notice,) = await eventually(lambda: slack.said("leila proposes more than it may"), "told")
        assert "the rest is refused" in shown(notice)
        refused = [each for each in slack.answers() if each["outcome"] == "deny"]
        assert len(refused) == FLOOD - MOST_OPEN
        assert {each["reason"] for each in refused} <= {"too_many_open", "rate_limited"}
        assert all(each["explanation"] and each["retry"] == "later" for each in refused)
        assert len(slack.cards()) == MOST_OPEN + 1
        answers = [m for m in slack.server.workspace.messages if m.text.startswith("```{")]
        assert float(theirs.ts) < float(answers[-1].ts)


async def test_O05_on_slack_a_burst_is_taken_in_at_once_and_every_card_comes_once_in_order() -> (
    None
):
    async with on_slack(a_roomy_policy()) as slack:
        await eventually(lambda: slack.said("what is open"), "the board")
        limited = slack.server.fails("chat.postMessage", "ratelimited", times=None, retry_after_s=2)
        for number, proposal_id in enumerate(BURST):
            await proposed(slack, "ULEILA", proposal_id, number)

        async def judged() -> bool:
            rows = await slack.world.store.read(lambda tx: [tx.proposals.get(i) for i in BURST])
            return all(row is not None and row.verdict is not None for row in rows)

        await eventually_async(judged, "taking all of them in")
        assert slack.cards() == []
        limited.times = 0
        slack.server.fails("*", "ratelimited", times=None, every=3, retry_after_s=2)
        await slack.keeps_delivering(lambda: slack.seeded(BURST[-1]))
        await eventually(lambda: len(slack.answers()) == len(BURST), "every answer")
        assert [shown(card).rsplit("🟡", 1)[-1].split()[0] for card in slack.cards()] == BURST
        assert sorted(each["proposal_id"] for each in slack.answers()) == BURST


async def test_O05_on_discord_a_burst_is_taken_in_at_once_and_every_card_comes_once_in_order(
    discord_unstarted: DiscordStage,
) -> None:
    stage = discord_unstarted
    stage.policy = a_roomy_policy()
    await stage.begins()
    posts = "/channels/701/messages$"
    taken_in = asyncio.Event()  # however long that takes: discord.py gives a call up after five 429
    stage.server.fails("POST", posts, status=429, retry_after=0.02, gate=taken_in)
    for number, proposal_id in enumerate(BURST):
        stage.sends(MAIL, proposal_id=proposal_id, parameters=mail(number))

    async def judged() -> bool:
        rows = await stage.store.read(lambda tx: [tx.proposals.get(each) for each in BURST])
        return all(row is not None and row.verdict is not None for row in rows)

    await until(judged, "taking all of them in")
    assert stage.server.cards() == []
    taken_in.set()
    for method in ("POST", "PUT", "PATCH", "GET"):
        stage.server.fails(
            method, "/channels/701/", status=429, retry_after=0.02, every=3, times=None
        )
    for proposal_id in BURST:
        await stage.card(proposal_id)
    await until(lambda: len(stage.answers()) == len(BURST), "every answer")
    shown_ids = [c.data["embeds"][0]["footer"]["text"].split()[0] for c in stage.server.cards()]
    assert shown_ids == BURST
