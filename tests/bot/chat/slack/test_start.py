"""Tokens and scopes are looked at when Slack is connected; what is missing is named."""

from __future__ import annotations

import pytest

from bot.chat.slack import checks
from bot.expected import StartFailed
from tests.builders import PROD
from tests.slack_stage import eventually, on_slack


async def test_a_wrong_bot_token_ends_the_start_with_the_remedy() -> None:
    async with on_slack(opened=False, bot_token="xoxb-wrong") as slack:
        with pytest.raises(StartFailed, match="bot_token_env"):
            await slack.opens()


async def test_a_wrong_app_token_ends_the_start_with_the_remedy() -> None:
    async with on_slack(opened=False, app_token="xapp-wrong") as slack:
        with pytest.raises(StartFailed, match="connections:write"):
            await slack.opens()


@pytest.mark.parametrize("scope", ["chat:write", "reactions:read", "users:read"])
async def test_a_scope_that_nothing_works_without_ends_the_start(scope: str) -> None:
    async with on_slack(opened=False) as slack:
        slack.server.workspace.scopes = tuple(
            each for each in slack.server.workspace.scopes if each != scope
        )
        with pytest.raises(StartFailed, match=scope):
            await slack.opens()


async def test_a_scope_that_is_only_wished_for_is_named_in_status() -> None:
    async with on_slack(opened=False) as slack:
        slack.server.workspace.scopes = tuple(
            each for each in slack.server.workspace.scopes if each != "reactions:write"
        )
        await slack.opens()
        assert "reactions:write" in slack.health()


async def test_a_bot_that_is_not_in_its_channel_says_so() -> None:
    async with on_slack(opened=False) as slack:
        slack.server.workspace.channels["C0OPS"].bot_is_member = False
        await slack.opens()
        assert "/invite" in slack.health()


async def test_slack_that_is_down_at_the_start_is_waited_for() -> None:
    async with on_slack(opened=False) as slack:
        slack.server.fails("auth.test", "status", times=3, status=503)
        await slack.opens()
        assert slack.hearing.connected


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 503},
        {"kind": "dropped"},
        {"kind": "error", "error": "internal_error"},
        {"kind": "ratelimited", "retry_after_s": 60},
    ],
    ids=lambda fault: fault["kind"],
)
async def test_a_bot_hears_although_slack_does_not_say_how_its_channel_stands(
    fault: dict[str, object],
) -> None:
    """That look only says why nothing is heard: nobody could stop anything until it succeeded."""
    async with on_slack(opened=False) as slack:
        slack.server.fails("conversations.info", **fault, times=None)
        await slack.opens()
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")


@pytest.mark.parametrize("says", [{}, {"user_id": None, "team_id": 7, "bot_id": [1]}])
async def test_a_bot_that_is_not_told_who_it_is_says_so_and_asks_again(
    says: dict[str, object],
) -> None:
    """It took itself for connected, and no mention of it was a command until it was restarted."""
    async with on_slack(opened=False) as slack:
        fault = slack.server.fails("auth.test", "vague", says=says, times=2)
        await slack.opens()
        assert fault.times == 0
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.stands("p1", "rejected")


async def test_a_bot_waits_but_a_moment_for_a_look_that_is_never_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "_SEEN_S", 0.1)
    async with on_slack(opened=False) as slack:
        slack.server.fails("conversations.info", "hangs", times=None)
        await slack.opens()
        assert slack.hearing.connected


async def test_signed_events_do_all_that_the_socket_does(unused_tcp_port: int) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        card = await slack.proposes(PROD)
        await slack.server.reacts("UCAL", card.ts)
        await slack.server.presses("UBEN", card, "signoff_reject")
        view = (await eventually(lambda: slack.server.workspace.views))[0]
        answered = await slack.server.submits("UBEN", view, {"reason_text": "no"})
        assert answered.status == 200
        await slack.stands("p1", "rejected")
        said = await slack.server.slash("UANA", "pending")
        assert "Received pending" in said.body
        await eventually(lambda: slack.server.responses)


async def test_a_forged_event_changes_nothing(unused_tcp_port: int) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        card = await slack.proposes(PROD)
        poster.secret = "guessed"
        answered = await slack.server.reacts("UANA", card.ts)
        assert answered.status == 401
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("{", "application/json"),
        ("[]", "application/json"),
        ("payload={", "application/x-www-form-urlencoded"),
        ("{}", "application/json; charset=no-such"),
    ],
)
async def test_what_cannot_be_read_is_answered_and_leaves_no_trace_of_our_insides(
    unused_tcp_port: int, body: str, kind: str, signed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        answered = await poster.post(body, kind, slack.wall_s(), signed=signed)
        assert answered.status in ((200, 400, 404) if signed else (401,))
        assert "Traceback" not in answered.body + caplog.text
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")


@pytest.mark.parametrize(
    "odd", [{"X-Slack-Request-Timestamp": "soon"}, {"X-Slack-Signature": "v0=\u00e9"}]
)
async def test_an_odd_signature_is_a_wrong_one(unused_tcp_port: int, odd: dict[str, str]) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        kind = "application/json"
        answered = await poster.post("{}", kind, slack.wall_s(), signed=False, more=odd)
        complete = {"X-Slack-Request-Timestamp": "1", "X-Slack-Signature": "v0="} | odd
        both = await poster.post("{}", kind, slack.wall_s(), signed=False, more=complete)
        assert (answered.status, both.status) == (401, 401)


async def test_slacks_question_whether_the_address_is_ours_is_answered(
    unused_tcp_port: int,
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        payload = {"type": "url_verification", "challenge": "c-1", "token": "t"}
        answered = await poster.event(payload, slack.wall_s())
        assert (answered.status, "c-1" in answered.body) == (200, True)


async def test_slacks_look_at_the_certificate_is_answered_unsigned_and_leads_to_nothing(
    unused_tcp_port: int,
) -> None:
    """Slack signs no ssl_check: it was turned away, as if the address were not ours."""
    form = "application/x-www-form-urlencoded"
    command = "&command=%2Fsignoff&text=freeze+now&user_id=UANA&team_id=T1"
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        for body, status in (
            ("ssl_check=1&token=xxx", 200),
            ("ssl_check=1", 200),
            ("ssl_check=0&token=xxx", 401),
            ("ssl_check=true", 401),
            (f"ssl_check=1&token=xxx{command}", 401),
            (f"ssl_check=1&token={'x' * 2_000}{command}", 401),
            ('{"ssl_check": 1}', 401),
            ("ssl_check=1&ssl_check=0", 401),
        ):
            answered = await poster.post(body, form, slack.wall_s(), signed=False)
            assert (answered.status, body) == (status, body)
        signed = await poster.post(f"ssl_check=1{command}", form, slack.wall_s())
        assert signed.status == 200
        assert await slack.world.audit("frozen") == []


async def test_a_proxy_in_the_environment_does_not_stand_before_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")
