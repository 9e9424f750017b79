"""Who may decide on Slack."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bot.chat.slack.settings import slack_settings
from bot.config import load_config
from bot.config.surfaces import choose
from bot.expected import StartFailed
from tests.builders import PROD, a_document, a_policy
from tests.fakes.slack_server.signed import SignedPoster
from tests.slack_stage import OnSlack, eventually, on_slack, shown

BASE = Path(__file__).parents[1] / "bot" / "base.yaml"


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
        proposal = await slack.world.proposal("p1")
        assert proposal.state.value == "sentinel_approved"
        reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert sum(review.counts for review in reviews) == 1


async def test_G10_two_check_marks_of_which_one_may_not_are_one() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        for user in ("UANA", "UCAL", "UBOT", "ULEILA"):
            await slack.server.reacts(user, card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


@pytest.mark.parametrize("change", ["team", "guest", "single_channel_guest", "deleted", "stranger"])
async def test_G11_people_from_outside_are_ignored(change: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        ana = slack.server.workspace.users["UANA"]
        if change == "team":
            await slack.server.reacts("UANA", card.ts, team="T9")
        else:
            setattr(ana, change, True)
            await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes("p1") == ["not_a_reviewer"]


async def test_G11_a_channel_shared_with_others_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with on_slack(opened=False) as slack:
        slack.server.workspace.channels["C0OPS"].ext_shared = True
        await slack.opens()
        assert "shared with another organisation" in caplog.text
        assert "shared with another organisation" in "\n".join(slack.surface.health())


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


async def test_G13_a_reaction_is_bound_to_the_current_card_in_its_channel() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, channel="C0ELSE")
        await slack.server.reacts("UANA", "1772452800.999999")
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes() == ["wrong_place", "unknown_proposal"]


async def test_G15_interactions_need_a_fresh_and_right_signature(unused_tcp_port: int) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        card = await slack.proposes(PROD)
        body = slack.server.press_of("UANA", card, "signoff_approve")
        now_s = slack.wall_s()
        form = {"payload": body}
        unsigned = await poster.form(form, now_s, signed=False)
        of_another = await SignedPoster(poster.url, "another secret").form(form, now_s)
        stale = await poster.form(form, now_s - 600)
        assert [unsigned.status, of_another.status, stale.status] == [401, 401, 401]
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert (await poster.form(form, now_s)).status == 200
        await slack.stands("p1", "completed")


@pytest.mark.parametrize(
    "secret",
    [{}, {"SLACK_SIGNING_SECRET": ""}, {"SLACK_SIGNING_SECRET": " \n"}],
    ids=["none", "empty", "blank"],
)
def test_G15_without_a_signing_secret_slack_over_http_is_off_and_says_so(
    tmp_path: Path, secret: dict[str, str]
) -> None:
    text = BASE.read_text(encoding="utf-8")
    socket, http = "app_token_env: SLACK_APP_TOKEN", "signing_secret_env: SLACK_SIGNING_SECRET"
    assert socket in text
    path = tmp_path / "config.yaml"
    path.write_text(text.replace(socket, http), encoding="utf-8")
    config, environment = load_config(path), {"SLACK_BOT_TOKEN": "xoxb-1"} | secret

    choice = choose(config, environment, attached=False)

    assert not choice.slack
    assert "Slack is off: SLACK_SIGNING_SECRET is not set." in choice.notes
    with pytest.raises(StartFailed, match="signing secret"):
        slack_settings(config, environment)
    signed = environment | {"SLACK_SIGNING_SECRET": "shh"}
    assert choose(config, signed, attached=False).slack


async def test_G16_no_card_carries_a_link() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(a_document(PROD))
        assert "http://" not in str(card.blocks)
        assert "https://" not in str(card.blocks)
        assert "'url'" not in str(card.blocks)


async def test_G14_a_signal_anywhere_else_is_ignored_with_a_note() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, channel="C0ELSE")
        await slack.settles()
        assert await slack.codes() == ["wrong_place"]
        assert any("listens in one channel alone" in hint for hint in slack.hints())
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
