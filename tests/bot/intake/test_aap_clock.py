"""AAP: a clock that was set back before a restart takes no approval away."""

from __future__ import annotations

import httpx

from tests.bot.intake.conftest import Outside
from tests.bot.intake.test_aap_keys import asked
from tests.fakes.clock import FakeClock


async def test_an_approval_that_is_dated_ahead_is_used_later_and_not_denied(
    leila: httpx.AsyncClient, outside: Outside
) -> None:
    """It was answered 409 `not_approved`, which ends the call, while its status was `approved`."""
    call = (await asked(leila, "k1", timeout="1h")).json()
    await outside.world.shows()
    await outside.world.approves("ana", call["id"], "seen")
    path, headers = f"/aap/v1/requests/{call['id']}/consume", {"idempotency-key": "u1"}
    law = outside.world.workflow.world
    right, law.clock = law.clock, FakeClock(law.clock.now_ms() - 300_000)

    early = await leila.post(path, headers=headers)
    law.clock = right
    late = await leila.post(path, headers=headers)

    assert (early.status_code, early.json()["error"]["code"]) == (503, "permit_not_yet_valid")
    assert (late.status_code, "consumption" in late.json()) == (200, True)
