"""Reads once more, before a call that was judged long ago, where the paths of a proposal lead.

A link can be laid while a window is open, or while no bot runs; no config and no evidence tells of
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lifecycle.document import ProposalDocument
from lifecycle.policy import Level, Policy
from lifecycle.proposal import Execution, Proposal, Verb
from lifecycle.sentinel import Facts
from lifecycle.verdict import Verdict
from lifecycle.verdicts.findings import LATE, newly_soft
from lifecycle.verdicts.judge import hard_words
from lifecycle.world import Law, World

#: The rule that looks at places on disk, and the setting that names the tools that are bound to
#: one.
_BY_PLACE: Final = "blast_radius_bounded"
_ROOTS: Final = "roots"
#: How often it is asked while a busy machine keeps it from answering in time.
_ASKED: Final = 3


async def place_objection(world: World, proposal: Proposal, called: Execution) -> str | None:
    """Return in words why a path must not be acted on as it leads now, None if it may be.

    A first execution was judged just before it was written down, and so was what a person retries.
    Long ago are a commit, whose stage was judged before its window, and what is called again after
    a crash. Taking back is never refused for this.
    """
    again = called.verb is Verb.EXECUTE and called.tries > 1
    law = world.law
    if not (again or called.verb is Verb.COMMIT) or not _is_bound(law.policy, proposal.tool):
        return None
    verdict = await _verdict(world, law, proposal)
    if verdict.passed and not newly_soft(proposal, verdict):
        return None
    words = hard_words(verdict) or "A path leads elsewhere than when people approved."
    return f"Sentinel objects now: {words}"


def _is_bound(policy: Policy, tool: str) -> bool:
    rule = policy.rules.get(_BY_PLACE)
    roots = rule.settings.get(_ROOTS) if rule is not None else None
    return isinstance(roots, Mapping) and tool in roots and tool in policy.tools


async def _verdict(world: World, law: Law, proposal: Proposal) -> Verdict:
    facts = Facts(
        now_ms=world.clock.now_ms(),
        tool=law.policy.tools[proposal.tool],
        tier=proposal.tier,
        proposer=proposal.actor.id,
        real_path=world.toolbox.real_path,
        executing=True,
        started_in=world.started_in(),
    )
    for _ in range(_ASKED):
        verdict = await law.sentinel.check(
            ProposalDocument.of_bytes(proposal.document),
            facts,
            policy_digest=law.policy.digest,
            subset={_BY_PLACE},
        )
        if not any(found.code == LATE for _, found in verdict.findings_at(Level.HARD)):
            break
    return verdict
