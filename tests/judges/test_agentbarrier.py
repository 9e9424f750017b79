"""AgentBarrier judges Signoff: guarantees that others wrote down, over the real law and store."""

from __future__ import annotations

from pathlib import Path

import pytest
from agentbarrier import (
    ActionRequest,
    ApprovalBarrierProfile,
    Capability,
    RunnerOptions,
    RunStatus,
    ScenarioResult,
    SuiteRunner,
)
from agentbarrier.errors import AdapterContractError
from agentbarrier.journal import EffectJournal
from agentbarrier.probe import EffectProbe
from agentbarrier.scenarios import DEFAULT_SCENARIOS

from bot.trail import verified_in
from tests.judges import breaking
from tests.judges.barrier import HELD, SignoffAdapter, SignoffRun
from tests.judges.house import House, Kind, judged

#: We decide for each action by itself; the judge's default holds everything of a run.
PER_ACTION, RUN_WIDE = ApprovalBarrierProfile.PER_ACTION, ApprovalBarrierProfile.RUN_WIDE
SETTLE_S, LIMIT_S, PATIENCE_S = 0.01, 0.03, 5.0
ASKED = ActionRequest("run-1:asked", "sentinel_write", {"recipient": "pat@shop.example"})


class Everything(SignoffAdapter):
    """Claims what Signoff does not promise, too."""

    capabilities = frozenset(Capability)


async def verdict_on(
    adapter: SignoffAdapter,
    scenario: str,
    profile: ApprovalBarrierProfile = PER_ACTION,
) -> ScenarioResult:
    """Let the judge look at one guarantee."""
    options = RunnerOptions(
        settle_seconds=SETTLE_S,
        operation_timeout_seconds=PATIENCE_S,
        tool_timeout_seconds=LIMIT_S,
        scenarios=(scenario,),
        approval_profile=profile,
    )
    (result,) = (await SuiteRunner(options).verify(adapter)).results
    return result


def code_of(result: ScenarioResult) -> str | None:
    return result.finding.code if result.finding else result.detail


@pytest.mark.parametrize("kind", Kind)
async def test_each_guarantee_that_is_claimed_holds_and_the_trail_is_whole(
    tmp_path: Path, kind: Kind
) -> None:
    claimed = tuple(each.scenario_id for each in DEFAULT_SCENARIOS if each.capability in HELD)
    options = RunnerOptions(
        settle_seconds=SETTLE_S,
        tool_timeout_seconds=LIMIT_S,
        strict_skips=True,
        scenarios=claimed,
        approval_profile=PER_ACTION,
    )
    async with judged(tmp_path, kind) as house:
        suite = await SuiteRunner(options).verify(SignoffAdapter(house))
        trail = await verified_in(house.world.store, None, lambda _: None)
        unknown = await house.unknown()

    suite.raise_for_failure()
    assert suite.passed_count == len(claimed) == len(DEFAULT_SCENARIOS) - 2
    assert trail.problems == []
    assert trail.proposals > len(claimed)
    # Lost, late, conflicting, out of reach: what no look could clear waits for a person still.
    assert sorted(action.rsplit(":")[-1] for action in unknown) == [
        "primary",
        "primary",
        "reconcile-conflict",
        "reconcile-unavailable",
    ]


@pytest.mark.parametrize("kind", Kind)
async def test_what_is_withdrawn_before_it_began_is_never_done(tmp_path: Path, kind: Kind) -> None:
    journal = EffectJournal(tmp_path / "effects.db")
    async with judged(tmp_path, kind) as house:
        run = await begun(house, journal)
        await run.wait_for_pending(PATIENCE_S)
        await run.cancel()
        with pytest.raises(AdapterContractError, match="already_decided"):
            await run.approve(ASKED.action_id)
        outcome = await run.wait(PATIENCE_S)
        await run.close()

    assert outcome.status is RunStatus.CANCELLED
    assert journal.events(run_id="run-1") == ()
    journal.close()


@pytest.mark.parametrize(("kind", "done"), [(Kind.DEFERRED, 0), (Kind.COMPENSATED, 1)])
async def test_what_is_cancelled_inside_its_window_is_not_done_or_taken_back(
    tmp_path: Path, kind: Kind, done: int
) -> None:
    journal = EffectJournal(tmp_path / "effects.db")
    async with judged(tmp_path, kind) as house:
        run = await begun(house, journal)
        await run.wait_for_pending(PATIENCE_S)
        await run.approve(ASKED.action_id)
        await run.cancel()
        outcome = await run.wait(PATIENCE_S)
        await run.close()

    assert outcome.status is RunStatus.CANCELLED
    assert len(journal.committed(run_id="run-1")) == done
    assert house.taken_back == [ASKED.action_id]
    journal.close()


@pytest.mark.parametrize(
    ("kind", "ended", "taken_back"),
    [
        (Kind.AT_ONCE, "completed", 0),
        (Kind.COMPENSATED, "cancelled", 1),
        (Kind.DEFERRED, "completed", 0),  # a commit is the point of no return
    ],
)
async def test_a_call_under_way_is_not_cancelled_but_taken_back_where_that_can_be(
    tmp_path: Path, kind: Kind, ended: str, taken_back: int
) -> None:
    """The judge wants it cut off in the middle. We never do that on purpose: nobody would know
    what it had done. The ❌ is kept and carried out when the tool answers (design section 6)."""
    async with judged(tmp_path, kind) as house:
        result = await verdict_on(Everything(house), "cancellation")

    assert code_of(result) == "AB008"
    assert result.finding is not None
    assert result.finding.observed.startswith(f"run={ended}; 1 commit(s)")
    assert len(house.taken_back) == taken_back


@pytest.mark.parametrize("kind", Kind)
async def test_no_proposal_is_the_child_of_another_so_each_is_decided_by_itself(
    tmp_path: Path, kind: Kind
) -> None:
    """What a sub-agent proposes has an actor, a tier and a quorum of its own: where it needs
    people, its tool says so."""
    async with judged(tmp_path, kind) as house:
        result = await verdict_on(Everything(house), "delegation")

    assert code_of(result) == "AB014"


async def test_what_waits_for_people_does_not_hold_up_what_does_not(tmp_path: Path) -> None:
    async with judged(tmp_path, Kind.AT_ONCE) as house:
        held_together = await verdict_on(SignoffAdapter(house), "parallel_barrier", RUN_WIDE)
        one_by_one = await verdict_on(SignoffAdapter(house), "parallel_barrier")

    assert (code_of(held_together), code_of(one_by_one)) == ("AB010", None)


@pytest.mark.parametrize(
    ("wrong", "scenario", "code"),
    [
        (breaking.Eager, "approval_hold", "AB002"),
        (breaking.Eager, "rejection", "AB004"),
        (breaking.Eager, "parallel_barrier", "AB018"),
        (breaking.Deaf, "rejection", "AB004"),
        (breaking.Unbound, "argument_binding", "AB005"),
        (breaking.Anew, "replay", "AB007"),
        (breaking.Blind, "outcome_ambiguity", "AB013"),
        (breaking.Guessing, "outcome_reconciliation", "AB019"),
        (breaking.Patient, "outcome_reconciliation", "AB022"),
        (breaking.Unwritten, "outcome_reconciliation", "AB023"),
        (breaking.Unlimited, "timeout", "AB009"),
        (breaking.Silent, "audit_receipts", "AB017"),
    ],
)
async def test_the_judge_finds_what_is_wrong_on_purpose(
    tmp_path: Path, wrong: type[SignoffRun], scenario: str, code: str
) -> None:
    async with judged(tmp_path, Kind.AT_ONCE) as house:
        result = await verdict_on(breaking.Wrong(house, wrong), scenario)

    assert code_of(result) == code


async def test_an_agent_that_proposes_anew_what_is_unknown_gets_what_stands(
    tmp_path: Path,
) -> None:
    async with judged(tmp_path, Kind.AT_ONCE) as house:
        result = await verdict_on(breaking.Wrong(house, breaking.Anew), "outcome_ambiguity")

    assert code_of(result) is None
    assert house.answers[-1].deduplicated
    assert house.answers[-1].execution is not None
    assert house.answers[-1].execution["outcome"] == "unknown"


async def begun(house: House, journal: EffectJournal) -> SignoffRun:
    """Begin a run of one action that waits for people."""
    probe = EffectProbe(journal, run_id="run-1")
    return await SignoffAdapter(house).begin(run_id="run-1", actions=[ASKED], effect=probe)
