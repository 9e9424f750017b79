"""When Sentinel's verdict arrives, the proposal advances or ends, and its opener is found.

The functions are parts of units; `gatekeeper` and `rechecking` call them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from lifecycle.answers import retry_after
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.codes import Retry
from lifecycle.copied import whether_run
from lifecycle.counting import approvals
from lifecycle.door import advance, end
from lifecycle.moment import Moment
from lifecycle.paths import Parts, dotted
from lifecycle.policy import Level, Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL, ActorKind, Cause, Identity, Proposal
from lifecycle.review import Absent
from lifecycle.state import State, Trigger
from lifecycle.text.masking import mask, mask_secrets, mask_text
from lifecycle.tier import Puller, Tier
from lifecycle.verdict import Verdict
from lifecycle.verdicts.effective_terms import (
    restood,
    standing_changes,
    standing_details,
    window_at,
)
from lifecycle.verdicts.last_judged import BY_EVIDENCE


def judge(
    tx: Transaction,
    moment: Moment,
    proposal: Proposal,
    verdict: Verdict,
    lost: Collection[Absent],
) -> Proposal:
    """Write the verdict on a pending proposal: reject it, or approve it and name the opener.

    `lost` are people who approved already and whose membership cannot be confirmed.
    """
    if proposal.state is not State.PENDING:
        return proposal
    if not verdict.passed:
        return reject_by_sentinel(tx, moment, proposal, verdict)
    stands = restood(moment.policy, proposal)
    if stands is None:
        return policy_changed(tx, moment, proposal, "The tool may not be used any more.")
    raised = raised_by(moment.policy, stands, verdict).but(verdict=verdict)
    details = verdict_details(verdict) | standing_details(raised)
    if verdict.needs_reason:  # people who approved before did not know what it found
        void = tx.reviews.void(proposal.proposal_id, None, "Sentinel found something since")
        details |= {"approvals_void": void} if void else {}
    return advance(
        tx,
        moment,
        proposal,
        Trigger.SENTINEL_APPROVE,
        SENTINEL,
        Puller.SENTINEL,
        details=details,
        verdict=verdict,
        policy_digest=moment.policy.digest,
        checked_policy_digest=moment.policy.digest,
        **standing_changes(raised),
        **opening_changes(tx, moment.policy, raised, lost),
    )


def reject_by_sentinel(
    tx: Transaction, moment: Moment, proposal: Proposal, verdict: Verdict
) -> Proposal:
    """End a proposal that a hard rule objects to.

    A credential in it is kept masked only, whichever rule was the first to object, and also in
    findings that name or quote it.
    """
    changes: dict[str, Any] = {}
    hard = verdict.findings_at(Level.HARD)
    secret = frozenset(found.path for rule, found in hard if rule == "secrets_absent")
    if secret:
        verdict = _masked_verdict(verdict)
        changes |= masked_forms(proposal, secret)
    changes["verdict"] = verdict
    return advance(
        tx,
        moment,
        proposal,
        Trigger.REJECT,
        SENTINEL,
        Puller.SENTINEL,
        reason=verdict.reason,
        explanation=_rejecting_words(verdict),
        details=verdict_details(verdict),
        **changes,
    )


def _rejecting_words(verdict: Verdict) -> str:
    """Say why Sentinel rejects, and that the id is used up where the same may be sent again."""
    words, hard = hard_words(verdict), [f for f in verdict.faults() if f.level == Level.HARD]
    asking = [fault for fault in hard if retry_after(fault.rule, [fault]) is not Retry.LATER]
    if not hard or any(fault.rule not in BY_EVIDENCE for fault in asking):
        return words
    when = "later" if len(asking) < len(hard) else "then"
    return f"{words.removesuffix('.')}. Propose it again {when}, under a new id."


def policy_changed(tx: Transaction, moment: Moment, proposal: Proposal, words: str) -> Proposal:
    """End a proposal that cannot begin under the policy in force, although no rule objects."""
    words = f"{words} {whether_run(tx, proposal)}"
    cause = Cause(SENTINEL, Puller.SENTINEL, "policy_changed", words)
    return end(tx, moment, proposal, Trigger.REJECT, cause)


def masked_forms(proposal: Proposal, secret: Collection[str] = ()) -> dict[str, Any]:
    """Return the changes that leave of a document its digests and a masked text (section 10).

    A text at a path in `secret` is masked as a whole: a rule may see through a disguise that the
    masking of texts does not. So are the texts of a list at such a path, which may be a credential
    only together.
    """
    whole = proposal.read().model_dump(mode="json", exclude_none=True)
    shown = mask_secrets(_masked_at(whole, (), secret))
    text = canonical_bytes(shown)
    beside = {key: proposal.extra[key] for key in ("witness",) if key in proposal.extra}
    task_id = mask_text(proposal.task_id) if proposal.task_id else None
    forms = {"document": text, "r3_document": text, "masked": True, "extra": beside}
    return forms | {"task_id": task_id}


def _masked_at(value: Any, parts: Parts, secret: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _masked_at(item, (*parts, key), secret) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked_at(item, (*parts, number), secret) for number, item in enumerate(value)]
    return mask(value) if isinstance(value, str) and _is_told(parts, secret) else value


def _is_told(parts: Parts, secret: Collection[str]) -> bool:
    """Return whether a finding names the text, or the list in which it stands."""
    return dotted(parts) in secret or (isinstance(parts[-1], int) and dotted(parts[:-1]) in secret)


def _masked_verdict(verdict: Verdict) -> Verdict:
    results = [
        replace(
            result,
            findings=tuple(
                replace(each, path=mask_text(each.path), words=mask_text(each.words))
                for each in result.findings
            ),
        )
        for result in verdict.results
    ]
    return replace(verdict, results=tuple(results))


def raised_by(policy: Policy, proposal: Proposal, verdict: Verdict) -> Proposal:
    """Return the proposal as it stands after soft findings: they ask for people, never for less."""
    return by_people(policy, proposal) if verdict.needs_reason else proposal


def by_people(policy: Policy, proposal: Proposal) -> Proposal:
    """Return the proposal with the tier and quorum that ask for people, and its tool's window
    there.

    A soft finding makes it stand so, and anything that stood in a restored copy does.
    """
    tier = Tier.CONFIRM if proposal.tier is not Tier.BLOCK else Tier.BLOCK
    return proposal.but(
        tier=tier,
        quorum=max(1, proposal.quorum),
        quorum_needs_people=True,
        window_s=window_at(policy, proposal, tier),
    )


def opening_changes(
    tx: Transaction, policy: Policy, proposal: Proposal, lost: Collection[Absent]
) -> dict[str, Any]:
    """Return who opens the gate, as changes of the row, if that is settled; empty if it is not.

    Nobody who is `lost` is counted or named. The beginning itself comes later.
    """
    opener = _opener(tx, policy, proposal, lost)
    if opener is None:
        return {}
    return {"opener": opener[0], "opener_puller": opener[1]}


def _opener(
    tx: Transaction, policy: Policy, proposal: Proposal, lost: Collection[Absent]
) -> tuple[Identity, Puller] | None:
    match proposal.tier:
        case Tier.AUTO | Tier.AUTO_PLUS:
            return SENTINEL, Puller.SENTINEL
        case Tier.PROPOSE if auto_approvable(policy, proposal):
            return Identity(ActorKind.AGENT, str(policy.orchestrator)), Puller.ORCHESTRATOR
        case Tier.PROPOSE | Tier.CONFIRM:
            counted = approvals(tx.reviews.of(proposal.proposal_id), policy, proposal, lost)
            if counted and len(counted) >= proposal.quorum:
                return Identity(ActorKind.PERSON, counted[-1]), Puller.PERSON
            return None
        case Tier.BLOCK:
            return None


def auto_approvable(policy: Policy, proposal: Proposal) -> bool:
    """Return whether the config lets the orchestrator's name open this proposal."""
    return proposal.tier in policy.auto_approval_tiers and orchestrator_may_open(policy, proposal)


def orchestrator_may_open(policy: Policy, proposal: Proposal) -> bool:
    """Return whether the orchestrator's word opens this proposal, by the config or by its ✅."""
    return may_orchestrate(policy, proposal) and not proposal.quorum_needs_people


def may_orchestrate(policy: Policy, proposal: Proposal) -> bool:
    """Return whether the orchestrator may act on this proposal at all: PROPOSE, and not its own."""
    return (
        policy.orchestrator is not None
        and proposal.tier is Tier.PROPOSE
        and proposal.actor.id != policy.orchestrator
    )


def verdict_details(verdict: Verdict) -> dict[str, Any]:
    """Return what the trail keeps of a verdict: every rule with its finding codes and paths.

    A path may hold a credential, as the name of a field. If something was found, there is also a
    digest of all that was said, levels and words included.
    """
    found = found_in(verdict, mask_text)
    said = {"findings": digest_of(canonical_bytes(_said(verdict)))} if any(found.values()) else {}
    return {"rules": found} | said


def found_in(verdict: Verdict, shown: Callable[[str], str] = str) -> dict[str, Any]:
    """Return every rule with the codes of its findings, and their paths as `shown`."""
    return {
        result.rule: [{"code": f.code, "path": shown(f.path)} for f in result.findings]
        for result in verdict.results
    }


def _said(verdict: Verdict) -> list[Any]:
    return [
        [rule.rule, rule.level, [[f.code, f.path, f.words, f.level] for f in rule.findings]]
        for rule in verdict.results
    ]


def hard_words(verdict: Verdict) -> str:
    """Say why Sentinel rejects; empty if it does not."""
    found = (f.suggestion or f.code for f in verdict.faults() if f.level == "hard")
    return "; ".join(found)
