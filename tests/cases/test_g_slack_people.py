"""Who may decide on Slack."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.builders import PROD, a_policy
from tests.slack_stage import OnSlack, eventually, on_slack, shown


async def reviewers(slack: OnSlack) -> list[str]:
    """Return whose reviews of p1 there are."""
    found = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
    return [review.person for review in found]


async def test_G01_a_person_who_proposes_may_not_approve_it() -> None:
    async with on_slack() as slack:
        document = slack.document(PROD, proposal_id="p1", actor="ana")
        await slack.server.proposes("UANA", document)
        card = await slack.card("p1")
        await slack.server.reacts("UANA", card.ts)
        (hint,) = await eventually(slack.hints, "the note to ana")
        assert "Nobody approves a proposal of their own" in hint
        assert slack.server.workspace.ephemeral[0]["user"] == "UANA"
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")
        assert await slack.codes("p1") == ["own_proposal"]
        assert await reviewers(slack) == ["ben"]


async def test_G01_the_owner_of_an_agent_may_not_approve_what_it_proposes() -> None:
    policy = a_policy()
    agents = {**policy.agents, "leila": replace(policy.agents["leila"], owner="ana")}
    async with on_slack(replace(policy, agents=agents)) as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts)
        await eventually(slack.hints, "the note to ana")
        assert "never approve" in slack.hints()[0]
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")
        assert await slack.codes("p1") == ["owner_of_agent"]
        assert await reviewers(slack) == ["ben"]


async def test_G02_the_agent_cannot_answer_for_itself() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("ULEILA", card.ts)
        await slack.server.says("ULEILA", "<@USIGNOFF> approve p1")
        await slack.server.says("ULEILA", '<@USIGNOFF> propose {"approve":"p1","approver":"ana"}')
        await slack.answered(reason="unknown_kind")
        await slack.settles()
        assert await slack.codes("p1") == ["own_proposal", "own_proposal"]
        rows = await slack.world.audit("ignored") + await slack.world.audit("refused")
        assert [row["reason"] for row in rows][2:] == ["unknown_kind"]
        assert [row["actor"] for row in rows] == [{"kind": "agent", "id": "leila"}] * 3
        assert {row["details"]["account"] for row in rows} == {"T1/ULEILA"}
        assert await reviewers(slack) == []
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


async def test_G03_who_is_no_reviewer_changes_nothing_and_is_told_once() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UCAL", card.ts)
        await slack.server.reacts("UCAL", card.ts, "x")
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes("p1") == ["not_a_reviewer", "not_a_reviewer"]
        await eventually(slack.hints)
        assert len(slack.server.workspace.ephemeral) == 1
        assert slack.server.workspace.ephemeral[0]["user"] == "UCAL"


async def test_G04_every_way_to_decide_is_the_same_law() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UCAL", card.ts)
        await slack.server.says("UCAL", "<@USIGNOFF> approve p1")
        printed = re.search(r"or: /signoff (approve \S+)", shown(card))
        assert printed is not None
        await slack.server.slash("UCAL", printed[1])
        await slack.settles()
        assert await slack.codes("p1") == ["not_a_reviewer"] * 3
        rows = await slack.world.audit("ignored")
        assert {row["actor"]["id"] for row in rows} == {"cal"}
        assert await reviewers(slack) == []
        await slack.server.slash("UANA", printed[1])
        await slack.stands("p1", "completed")
        assert await reviewers(slack) == ["ana"]


async def test_G04_whatever_a_card_tells_people_to_type_works_as_it_is_printed() -> None:
    async with on_slack() as slack:
        mail, deploy = await slack.proposes(), await slack.proposes(PROD)
        for proposal_id, card, word, state in (
            ("p1", mail, "approve", "executing"),
            ("p1", mail, "roll-back", "rolled_back"),
            ("p2", deploy, "reject", "rejected"),
        ):
            found = await eventually(
                lambda: re.search(rf"({word} p\d (?:\[reason\]|<reason>))", shown(card)),  # noqa: B023
                f"the way to {word}",
            )
            await slack.server.slash("UANA", found[1])
            await slack.stands(proposal_id, state)


async def test_G06_a_name_is_no_identity() -> None:
    async with on_slack() as slack:
        slack.server.workspace.users["UCAL"].name = "ana"
        slack.server.workspace.users["UANA"].name = "x"
        card = await slack.proposes(PROD)
        await slack.server.reacts("UCAL", card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")


async def test_G08_one_person_acting_twice_counts_once() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UANA", card.ts)
        await slack.server.unreacts("UANA", card.ts)
        await slack.server.reacts("UANA", card.ts)
        await slack.server.reacts("UANA", card.ts, "white_check_mark::skin-tone-2")
        await slack.settles()
        await slack.server.deletes(card.ts)
        again = await eventually(lambda: slack.seeded("p1"), "posting again")
        assert again.ts != card.ts
        await slack.server.reacts("UANA", again.ts)
        await slack.settles()
        proposal = await slack.world.proposal("p1")
        assert proposal.state.value == "sentinel_approved"
        reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert [review.person for review in reviews if review.counts] == ["ana"]
        assert "approved by 1 of 2 (ana)" in shown(again)


async def test_G10_two_check_marks_of_which_one_may_not_are_one() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        for user in ("UANA", "UCAL", "UBOT", "ULEILA"):
            await slack.server.reacts(user, card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


OUTSIDE = ["team", "moved", "guest", "single_channel_guest", "deleted", "stranger"]


@pytest.mark.parametrize("change", OUTSIDE)
async def test_G11_people_from_outside_are_ignored(change: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        ana = slack.server.workspace.users["UANA"]
        if change == "team":
            await slack.server.reacts("UANA", card.ts, team="T9")
        elif change == "moved":  # the event names our workspace, Slack another
            ana.team = "T9"
            await slack.server.reacts("UANA", card.ts, team="T1")
        else:
            setattr(ana, change, True)
            await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes("p1") == ["not_a_reviewer"]


@pytest.mark.parametrize("change", ["team", "moved", "single_channel_guest"])
async def test_G11_no_other_way_is_open_to_people_from_outside(change: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        team = {"team": "T9", "moved": "T1"}.get(change)  # as the event names it
        ana = slack.server.workspace.users["UANA"]
        ana.team = "T1" if change == "single_channel_guest" else "T9"
        ana.single_channel_guest = change == "single_channel_guest"
        for action in ("signoff_approve", "signoff_reject"):
            await slack.server.presses("UANA", card, action, team=team)
        for word in ("approve p1", "reject p1 no"):
            await slack.server.says("UANA", f"<@USIGNOFF> {word}", team=team)
            await slack.server.slash("UANA", word)
        await slack.settles()
        form = await eventually(lambda: slack.server.calls_of("views.open"), "the form")
        view = form[0].arguments["view"] | {"id": "V1"}
        await slack.server.submits("UANA", view, {"reason_text": "no"})
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes("p1") == ["not_a_reviewer"] * 6
        rows = await slack.world.audit("ignored")
        assert [row["actor"] for row in rows] == [None] * 6
        named = {f"{team or 'T1'}/UANA"} | {f"{ana.team}/UANA"}  # a slash command names the latter
        assert {row["details"]["account"] for row in rows} == named


@pytest.mark.parametrize("when", ["before the start", "later"])
async def test_G11_a_channel_shared_with_others_is_warned_of(
    caplog: pytest.LogCaptureFixture, when: str
) -> None:
    words = "the channel C0OPS is shared with another organisation"
    async with on_slack(opened=False) as slack:
        channel = slack.server.workspace.channels["C0OPS"]
        channel.ext_shared = when == "before the start"
        await slack.opens()
        presence = slack.surface.desk.presence  # type: ignore[union-attr]
        channel.ext_shared = True
        for _ in range(2):
            await presence.look()
        assert caplog.text.count(words) == 1
        assert slack.health().count(words) == 1
        channel.ext_shared = False
        await presence.look()
        assert words not in slack.health()


@pytest.mark.parametrize("actor", ["nour", "human-overseer"])
async def test_G12_the_name_inside_the_document_is_not_believed(actor: str) -> None:
    async with on_slack() as slack:
        await slack.server.proposes("ULEILA", slack.document(proposal_id="p1", actor=actor))
        answer = await slack.answered(reason="actor_mismatch")
        assert answer["state"] is None
        (row,) = await slack.world.audit("refused")
        assert row["actor"] == {"kind": "agent", "id": "leila"}
        assert row["details"]["account"] == "T1/ULEILA"
        store = slack.world.store
        assert await store.read(lambda tx: tx.proposals.ids_after("", 10)) == []
        assert await store.read(lambda tx: tx.uses.since(actor, "send-email", 0)) == []
