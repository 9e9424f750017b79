"""A webhook is one signed POST, with the call in it (design section 7)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from lifecycle.proposal import Outcome
from tests.bot.tools.posting import (
    ENVIRONMENT,
    NOW_MS,
    OtherSide,
    WebhookBench,
    outcome_of,
    serving,
)
from tests.contracts.tool_contract import Kind, ToolContract, call, done


@pytest.fixture
def side() -> OtherSide:
    return OtherSide()


@pytest.fixture
async def url(side: OtherSide) -> AsyncIterator[str]:
    async with serving(side) as place:
        yield place


@pytest.fixture
def bench(url: str, side: OtherSide) -> WebhookBench:
    return WebhookBench(url, side)


class TestReversible(ToolContract):
    kind = Kind(reversible=True, deferred=False, idempotent=True)


class TestOneWay(ToolContract):
    kind = Kind(reversible=False, deferred=False, idempotent=True)

    @pytest.fixture
    def bench(self, url, side):
        return WebhookBench(url, side, roll_back=False)


async def test_the_body_is_the_call_and_the_headers_name_key_and_permit(bench, side):
    await done(bench, "execute")
    ((headers, body),) = side.heard

    assert json.loads(body) == call(bench, "execute", parameters={"version": "1"}).as_json()
    assert headers["Idempotency-Key"] == "p1:execute:1"
    assert headers["Signoff-Permit"] == "body.k1.signature"
    assert headers["Content-Type"] == "application/json"
    assert "webhook-signature" not in headers


@pytest.mark.parametrize("name", ["WEBHOOK_SECRET", "PLAIN_SECRET"])
async def test_a_secret_signs_the_call_by_standard_webhooks(url, side, name):
    await done(WebhookBench(url, side, secret_env=name), "execute")
    ((headers, body),) = side.heard
    secret = ENVIRONMENT[name]
    verifier = Webhook(secret if secret.startswith("whsec_") else secret.encode())

    named = headers["webhook-id"]
    assert named.startswith("p1:execute:1:")
    assert headers["webhook-timestamp"] == str(NOW_MS // 1000)
    with pytest.raises(WebhookVerificationError, match="timestamp"):
        verifier.verify(body, headers)  # the fake clock is not the verifier's
    at = int(headers["webhook-timestamp"])
    signed = verifier.sign(named, datetime.fromtimestamp(at, UTC), body.decode())
    assert headers["webhook-signature"] == signed


async def test_a_webhook_id_stands_for_one_call_for_one_document(url, side):
    """The other side leaves out what it has seen; beside another database the same key comes."""
    bench = WebhookBench(url, side, secret_env="PLAIN_SECRET")
    for digest in ("sha256:aa", "sha256:aa", "sha256:bb"):
        await outcome_of(bench, digest=digest)
    first, again, another = (headers["webhook-id"] for headers, _ in side.heard)

    assert first == again
    assert another != first


async def test_a_secret_that_is_not_there_means_that_nothing_was_sent(url, side):
    result = await outcome_of(WebhookBench(url, side, secret_env="NOPE"))

    assert (result.outcome, side.heard) == (Outcome.FAILED, [])
    assert "NOPE" in result.explanation


@pytest.mark.parametrize("secret", [" ", "\n", "whsec_", "whsec_ ", "whsec_====", "whsec_%"])
async def test_a_secret_that_everybody_knows_means_that_nothing_was_sent(
    url, side, secret, monkeypatch
):
    monkeypatch.setitem(ENVIRONMENT, "WEBHOOK_SECRET", secret)

    result = await outcome_of(WebhookBench(url, side, secret_env="WEBHOOK_SECRET"))

    assert (result.outcome, side.heard) == (Outcome.FAILED, [])
    assert "WEBHOOK_SECRET" in result.explanation


@pytest.mark.parametrize("host", ["xn--ls8h.example", "xn--.example", "☃.example"])
async def test_an_address_that_no_request_can_be_made_to_means_that_nothing_was_sent(side, host):
    result = await outcome_of(WebhookBench(f"https://{host}/deploy", side))

    assert result.outcome is Outcome.FAILED
    assert "nothing was sent" in result.explanation


async def test_a_proxy_of_the_environment_is_not_used(bench, side, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    await done(bench, "execute")

    assert len(side.heard) == 1


def test_the_card_shows_where_it_posts_without_credentials_and_query(side):
    bench = WebhookBench("https://u:pw@deploy.example:8443/hook?token=abcd1", side)

    shown = "https://deploy.example:8443/hook with a query that is not shown"
    assert bench.tool.describe() == {"posts to": shown}
