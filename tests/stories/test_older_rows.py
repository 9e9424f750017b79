"""What older versions left in rows and told of less: nobody changed it, and nobody is alarmed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.canonical import digest_of
from lifecycle.moment import rfc3339
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.clock import FakeClock
from tests.stories.forging import problems
from tests.stories.permits import begun_after, permitted
from tests.world import World

#: An entry that tells nothing of the permit, and a row in which one waits to this day.
AS_IT_WAS = (
    "UPDATE audit SET details = '{}' WHERE kind = 'permit_handed_over'",
    "UPDATE proposals SET permit_waits = 1",
)


@pytest.mark.parametrize("begins", [True, False])
async def test_a_permit_that_seems_to_wait_after_its_use_or_its_end_is_no_false_alarm(
    on_disk: World, forged: Any, begins: bool
) -> None:
    proposal_id = await permitted(on_disk)
    if begins:
        await begun_after(on_disk)
    else:
        await on_disk.rejects("ana", proposal_id)
    state = State.EXECUTING if begins else State.REJECTED

    for change in AS_IT_WAS:
        forged(change)

    row = await on_disk.proposal(proposal_id)
    assert (row.state, row.permit_waits) == (state, True)
    # The link is broken by this; of the row nothing is said.
    assert all(words.startswith("entry ") for words in await problems(on_disk))


async def test_a_permit_that_seems_to_wait_although_it_was_used_up_is_named(
    on_disk: World, forged: Any
) -> None:
    await permitted(on_disk)
    await begun_after(on_disk)

    forged(AS_IT_WAS[1])

    assert any("permit's redemption" in words for words in await problems(on_disk))


class Ticking(FakeClock):
    """A clock that goes on while it is looked at, as real ones do."""

    def now_ms(self) -> int:
        self._now_ms += 1
        return self._now_ms


async def test_evidence_that_is_recorded_while_the_clock_goes_on_is_no_false_alarm(
    on_disk: World,
) -> None:
    """Its packet was of one millisecond and its entry of the next: `audit verify` named it."""
    on_disk.clock = on_disk.workflow.world.clock = Ticking()

    await on_disk.observes(True)

    packet = await on_disk.store.read(lambda tx: tx.evidence.get("e1"))
    [entry] = await on_disk.audit("evidence_recorded")
    assert packet is not None
    assert entry["at"] == rfc3339(packet.recorded_at_ms)
    assert await problems(on_disk) == []


@pytest.mark.parametrize(("earlier_ms", "named"), [(1, 0), (900, 0), (60_000, 1)])
async def test_evidence_of_a_version_that_took_two_moments_is_no_false_alarm(
    on_disk: World, forged: Any, earlier_ms: int, named: int
) -> None:
    await on_disk.observes(True)

    forged(f"UPDATE evidence SET recorded_at_ms = recorded_at_ms - {earlier_ms}")

    assert len(await problems(on_disk)) == named


async def test_a_refusal_binds_although_another_version_read_the_likeness_otherwise(
    on_disk: World, forged: Any
) -> None:
    """A person's no was forgotten with the update, and the agent could ask for the same again."""
    await on_disk.rejects("ana", (await on_disk.submits(PROD)).proposal_id or "", "no")

    forged("UPDATE proposals SET likeness_digest = 'sha256:read by another version'")

    assert (await on_disk.submits(PROD)).reason == "previously_rejected"


SEND, STAGING = "send-email", "staging-deploy"
ON_STAGING = PROD["target"] | {"domain": "staging.shop.example"}


async def is_called_otherwise(world: World, tool: str) -> None:
    tools = world.workflow.policy.tools
    other = replace(tools[tool], settings={"execute": ["called", "elsewhere"]})
    await world.adopts(tools=dict(tools) | {tool: other})


async def test_a_stage_of_which_nothing_tells_that_it_is_one_is_discarded_by_a_new_config(
    on_disk: World, forged: Any
) -> None:
    proposal_id = (await on_disk.submits(MAIL)).proposal_id or ""
    await on_disk.approves("ana", proposal_id)
    forged("UPDATE audit SET details = json_remove(details, '$.deferred')")
    forged("UPDATE proposals SET rest = json_remove(rest, '$.execution.deferred')")
    await is_called_otherwise(on_disk, SEND)

    assert (await on_disk.rejects("ben", proposal_id)).done

    assert (await on_disk.proposal(proposal_id)).state is State.ROLLED_BACK
    assert on_disk.tool(SEND).verbs() == ["execute", "roll_back"]


async def staged_at_once(on_disk: World) -> str:
    """Return the id of a deployment that was carried out, inside its window."""
    proposal_id = (await on_disk.submits(PROD, tool=STAGING, target=ON_STAGING)).proposal_id or ""
    await on_disk.approves("ana", proposal_id)
    return proposal_id


async def test_what_acted_at_once_by_its_row_alone_is_taken_back_by_no_other_document(
    on_disk: World, forged: Any
) -> None:
    proposal_id = await staged_at_once(on_disk)
    forged("UPDATE audit SET details = json_remove(details, '$.deferred')")
    forged("UPDATE proposals SET document = replace(document, 'v42', 'v41')")

    assert (await on_disk.rejects("ben", proposal_id)).done

    assert (await on_disk.proposal(proposal_id)).attention is Attention.ROLLBACK_INCOMPLETE
    assert on_disk.tool(STAGING).verbs() == ["execute"]


@pytest.mark.parametrize("row", ["false", "true"])
async def test_what_began_before_the_trail_told_how_it_was_called_is_taken_back_by_a_new_config(
    on_disk: World, forged: Any, row: str
) -> None:
    """Whatever somebody wrote into its row of whether it is a stage."""
    proposal_id = await staged_at_once(on_disk)
    forged("UPDATE audit SET details = json_remove(details, '$.call')")
    forged(f"UPDATE proposals SET rest = json_set(rest, '$.execution.deferred', json('{row}'))")
    await is_called_otherwise(on_disk, STAGING)

    assert (await on_disk.rejects("ben", proposal_id)).done

    assert (await on_disk.proposal(proposal_id)).state is State.ROLLED_BACK
    assert on_disk.tool(STAGING).verbs() == ["execute", "roll_back"]


async def test_what_an_older_version_wrote_in_another_form_is_taken_back_all_the_same(
    on_disk: World, forged: Any
) -> None:
    """The bytes are the proposed ones, whichever form this version would give them."""
    proposal_id = await staged_at_once(on_disk)
    document = json.loads((await on_disk.proposal(proposal_id)).document)
    written = json.dumps(document, indent=1).encode()
    forged(f"UPDATE proposals SET document = X'{written.hex()}', digest = '{digest_of(written)}'")
    forged(f"UPDATE audit SET digest = '{digest_of(written)}'")

    assert (await on_disk.rejects("ben", proposal_id)).done

    assert (await on_disk.proposal(proposal_id)).state is State.ROLLED_BACK
    assert on_disk.tool(STAGING).verbs() == ["execute", "roll_back"]
