"""AAP: what an adapter did after a copy was made is told, although the copy knows of no use."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lifecycle.clockwork.restored import bring_back
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Outcome
from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_aap_keys import asked
from tests.stories.test_reported_of_a_copy import told

DONE = {"status": "succeeded", "note": "pay_7"}


@pytest.fixture
async def approved(leila: httpx.AsyncClient, outside: Outside) -> str:
    """The id of a call that people approved; its proposal has the same."""
    call = (await asked(leila, "k1", timeout="1h")).json()
    await outside.world.shows()
    await outside.world.approves("ana", call["id"], "seen")
    return str(call["id"])


async def brought_back(outside: Outside) -> None:
    """Let the store be a copy, made before the approval was used."""
    moment = outside.world.workflow.world.moment()
    await outside.world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))


async def test_that_it_was_done_reaches_people_once_before_anybody_approves_it_again(
    leila: httpx.AsyncClient, outside: Outside, approved: str
) -> None:
    """It was refused as not consumed, and nobody heard that it had been done."""
    await brought_back(outside)
    path = f"/aap/v1/requests/{approved}/outcome"

    answers = [await leila.post(path, json=DONE) for _ in range(2)]

    (words,) = await told(outside.world)
    assert words.startswith(f"{approved} (issue-refund) ")
    (entry,) = await outside.world.audit("late_receipt")
    assert entry["details"]["result"]["value"] == {"note": "pay_7"}
    told_back = [(answer.status_code, answer.json()["error"]["code"]) for answer in answers]
    assert told_back == [(409, "not_consumed")] * 2


async def test_that_it_was_done_is_asked_for_again_where_it_cannot_be_kept_now(
    leila: httpx.AsyncClient, outside: Outside, approved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def takes_nothing(_unit: Any) -> Any:
        raise StoreUnavailable("no space left")

    await brought_back(outside)
    path = f"/aap/v1/requests/{approved}/outcome"
    with monkeypatch.context() as ill:
        ill.setattr(outside.world.store, "write", takes_nothing)
        answer = await leila.post(path, json=DONE)

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "audit_unavailable")
    await leila.post(path, json=DONE)
    assert len(await told(outside.world)) == 1


async def test_what_one_call_reports_ends_nothing_that_another_has_begun(
    leila: httpx.AsyncClient, outside: Outside, approved: str
) -> None:
    twin = (await asked(leila, "k2", timeout="1h")).json()
    used = f"/aap/v1/requests/{approved}/consume"
    assert (await leila.post(used, headers={"idempotency-key": "u1"})).status_code == 200

    answer = await leila.post(f"/aap/v1/requests/{twin['id']}/outcome", json=DONE)

    execution = (await outside.world.proposal(approved)).execution
    assert (answer.status_code, await told(outside.world)) == (409, [])
    assert "Another call has begun it" in answer.json()["error"]["message"]
    assert execution is not None
    assert execution.outcome is Outcome.RUNNING


async def test_what_never_began_is_no_news(
    leila: httpx.AsyncClient, outside: Outside, approved: str
) -> None:
    answer = await leila.post(f"/aap/v1/requests/{approved}/outcome", json=DONE)

    assert (answer.status_code, await told(outside.world)) == (409, [])
    assert (await outside.world.proposal(approved)).permit_waits
