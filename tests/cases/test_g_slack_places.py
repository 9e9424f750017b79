"""Cases G on Slack: where a decision counts, and whose word an address on the network takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from bot.chat.slack.settings import slack_settings
from bot.config import load_config
from bot.config.surfaces import choose
from bot.expected import StartFailed
from tests.builders import MAIL, PROD, a_document
from tests.fakes.slack_server.signed import SignedPoster
from tests.slack_stage import OnSlack, on_slack

BASE = Path(__file__).parents[1] / "bot" / "base.yaml"


async def reviewers(slack: OnSlack) -> list[str]:
    """Return whose reviews of p1 there are."""
    found = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
    return [review.person for review in found]


async def test_G13_a_reaction_is_bound_to_the_current_card_in_its_channel() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts, channel="C0ELSE")
        await slack.server.reacts("UANA", "1772452800.999999")
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await slack.codes() == ["wrong_place", "unknown_proposal"]


@pytest.mark.parametrize(
    ("channel", "code", "hint"),
    [
        ("C0ELSE", "wrong_place", "listens in one channel alone"),
        ("C0OPS", "unknown_proposal", "This is not the card that counts"),
    ],
    ids=["elsewhere", "beside the card"],
)
async def test_G13_a_shared_card_is_no_card_and_whoever_decides_on_it_is_told(
    channel: str, code: str, hint: str
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        said, _ = await slack.server.says("UBEN", "no card")
        talk = await slack.server.shares("UBEN", said, channel=channel)
        await slack.server.reacts("UANA", talk.ts, channel=channel)
        copy = await slack.server.shares("UBEN", card, channel=channel)
        await slack.server.reacts("UANA", copy.ts, channel=channel)
        await slack.server.unreacts("UANA", copy.ts, channel=channel)
        await slack.server.reacts("UANA", copy.ts, "x", channel=channel)
        await slack.settles()
        assert await slack.codes() == [code] * 2
        (told,) = slack.hints()
        assert hint in told
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await reviewers(slack) == []


LONG = MAIL | {"parameters": MAIL["parameters"] | {"body": "word " * 4_000}}


@pytest.mark.parametrize("name", ["white_check_mark", "x"])
@pytest.mark.parametrize("base", [PROD, LONG], ids=["short", "with the whole in a file"])
async def test_G13_whoever_decides_on_what_show_answers_is_told_where_the_card_stands(
    base: Mapping[str, Any], name: str
) -> None:
    """The answer stands in a thread, whose messages are in no history of the channel."""
    async with on_slack() as slack:
        card = await slack.proposes(base, proposal_id="_p_1")
        asked, _ = await slack.server.says("UCAL", "<@USIGNOFF> show _p_1")
        await slack.settles()
        messages = slack.server.workspace.messages
        shown, *file = [m for m in messages if m.thread_ts == asked.ts]
        assert bool(file) is (base is LONG)
        await slack.server.reacts("UANA", shown.ts, name)
        await slack.settles()

        (told,) = slack.hints()
        assert "not the card that counts" in told
        assert f"p{card.ts.replace('.', '')}" in told
        found = await slack.world.proposal("_p_1")
        assert found.state.value == "sentinel_approved"


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


NO_TIMES = ["", "now", "nan", "inf", "-1", "١٢", "9" * 30]


async def test_G15_nothing_near_a_right_signature_is_one(unused_tcp_port: int) -> None:
    async with on_slack(port=unused_tcp_port) as slack, httpx.AsyncClient() as client:
        poster, now_s = slack.over_http(), int(slack.wall_s())
        card = await slack.proposes(PROD)
        body = urlencode({"payload": slack.server.press_of("UANA", card, "signoff_approve")})
        now, right = str(now_s), poster.sign(str(now_s), body)

        async def status(stamp: str | None, signature: str | None, sent: str = body) -> int:
            given = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
            headers = {name: value.encode() for name, value in given.items() if value is not None}
            headers["Content-Type"] = b"application/x-www-form-urlencoded"
            return (await client.post(poster.url, content=sent, headers=headers)).status_code

        near = [right[:-1], right.upper(), right.replace("v0=", "v1="), right[3:], "v0=", "", None]
        near.append(SignedPoster(poster.url, "").sign(now, body))
        statuses = [await status(now, signature) for signature in near]
        statuses += [await status(now, right, body + "&a=1"), await status(str(now_s - 1), right)]
        # Far enough ahead that no delay of the test brings it into the five minutes.
        others = [*(str(now_s + by) for by in (-301, 601)), f"{now}.0", *NO_TIMES]
        statuses += [await status(stamp, poster.sign(stamp, body)) for stamp in others]
        statuses.append(await status(None, right))

        assert statuses == [401] * 21
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert await status(now, right) == 200
        await slack.stands("p1", "completed")


async def test_G15_what_is_replayed_within_five_minutes_counts_once(unused_tcp_port: int) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        card = await slack.proposes(PROD, approval_class="dual")
        form = {"payload": slack.server.press_of("UANA", card, "signoff_approve")}
        for now_s in (slack.wall_s(), slack.wall_s() + 1):
            assert (await poster.form(form, now_s)).status == 200
        await slack.settles()
        assert await reviewers(slack) == ["ana"]
        assert await slack.codes() == []
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


async def test_G16_whoever_looks_at_the_address_for_events_decides_nothing(
    unused_tcp_port: int,
) -> None:
    preview = {"user-agent": "Slackbot-LinkExpanding 1.0"}
    async with on_slack(port=unused_tcp_port) as slack, httpx.AsyncClient(headers=preview) as look:
        address = slack.over_http().url
        card = await slack.proposes(PROD)
        payload = slack.server.press_of("UANA", card, "signoff_approve")
        for method in ("GET", "HEAD"):
            for asked in ({}, {"payload": payload}):
                answer = await look.request(method, address, params=asked)
                assert 400 <= answer.status_code < 500
        await slack.settles()
        assert await slack.codes() == []
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


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
    assert "shh" not in repr(slack_settings(config, signed))


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
