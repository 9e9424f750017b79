"""Step 6 of reading asks whether the proposal makes sense now: V-PROP-010 … 014 (section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, islice
from typing import Final

from lifecycle.document import ProposalDocument
from lifecycle.errors import Fault
from lifecycle.first_gate.gate import Accepted
from lifecycle.first_gate.reading import MOST_FAULTS
from lifecycle.policy import ApprovalClass, Policy
from lifecycle.quorum import approval_class_of, eligible, within_reach
from lifecycle.records import EvidencePacket

EvidenceOf = Callable[[str], EvidencePacket | None]

_RULE: Final = "preconditions_hold"
_DEFAULT_FRESHNESS_S: Final = 300


def meaning_faults(
    accepted: Accepted,
    policy: Policy,
    now_ms: int,
    evidence_of: EvidenceOf,
    said_ms: int | None = None,
) -> tuple[Fault, ...]:
    """Return every fault of step 6, `implausible_time` first; empty means that it makes sense.

    `now_ms` is ms UTC; `evidence_of` returns the recorded packet of an id, None where none is.
    `said_ms` is when the document was heard, if it had to wait since: a time that could be meant
    then can be meant, but what is over by now, or stale, is so.
    """
    document = accepted.document
    found = chain(
        _time_faults(document, policy, now_ms if said_ms is None else said_ms, now_ms),
        _window_faults(document, now_ms),
        _envelope_faults(document),
        _evidence_faults(document, policy, now_ms, evidence_of),
        _quorum_faults(accepted, policy),
    )
    return tuple(islice(found, MOST_FAULTS))


def _time_faults(
    document: ProposalDocument, policy: Policy, said_ms: int, now_ms: int
) -> Iterator[Fault]:
    skew_ms = policy.limits.clock_skew_s * 1000
    longest_ms = policy.limits.longest_window_s * 1000
    # A language model has no clock: without this one it would guess again and again.
    remedy = f"Is it in milliseconds? It is {now_ms} now."
    if _off_ms(document.ts_ms, said_ms, now_ms) > skew_ms:
        yield _implausible("ts_ms", f"within {skew_ms} ms of now", remedy)
    window = document.time_window
    if window is not None:
        far = f"within {longest_ms} ms of now"
        for key in ("valid_from_ms", "valid_until_ms"):
            if _off_ms(getattr(window, key), said_ms, now_ms) > longest_ms:
                yield _implausible(f"time_window.{key}", far, remedy)
        if window.valid_until_ms - window.valid_from_ms > longest_ms:
            yield _implausible("time_window", f"at most {longest_ms} ms long", "Shorten it.")
        if window.max_duration_ms <= 0:
            yield _implausible("time_window.max_duration_ms", "more than 0", "Allow some time.")
    asked = document.rollback_semantics
    if asked is not None and (asked.window_s or 0) > policy.limits.longest_window_s:
        longest_s = f"at most {policy.limits.longest_window_s} s"
        yield _implausible("rollback_semantics.window_s", longest_s, "Is it in seconds?")


def _off_ms(at_ms: int, said_ms: int, now_ms: int) -> int:
    """Return by how many ms a time lies before the document was said, or after now; 0 between."""
    return max(said_ms - at_ms, at_ms - now_ms, 0)


def _implausible(path: str, required: str, remedy: str) -> Fault:
    return Fault(
        "implausible_time",
        path,
        required=required,
        actual="a time that cannot be meant",
        suggestion=f"This must be {required}. {remedy}",
    )


def _window_faults(document: ProposalDocument, now_ms: int) -> Iterator[Fault]:
    window = document.time_window
    if window is None:
        return
    if window.valid_until_ms <= now_ms:
        yield Fault(
            "V-PROP-010",
            "time_window.valid_until_ms",
            required="later than now",
            actual=f"{now_ms - window.valid_until_ms} ms ago",
            suggestion="The time in which it may begin is over: propose it anew.",
        )
    if window.valid_from_ms > window.valid_until_ms:
        yield Fault(
            "V-PROP-011",
            "time_window.valid_from_ms",
            required="at most valid_until_ms",
            actual=f"{window.valid_from_ms - window.valid_until_ms} ms later",
            suggestion="Let the window begin before it ends.",
        )


def _envelope_faults(document: ProposalDocument) -> Iterator[Fault]:
    envelope = document.risk_envelope
    if envelope is not None and envelope.max_affected_records <= 0:
        yield Fault(
            "V-PROP-012",
            "risk_envelope.max_affected_records",
            required="more than 0",
            actual=str(envelope.max_affected_records),
            suggestion="Allow at least the one record that it is about.",
        )


def _evidence_faults(
    document: ProposalDocument, policy: Policy, now_ms: int, evidence_of: EvidenceOf
) -> Iterator[Fault]:
    asked, look = document.freshness_asked(), cache(evidence_of)
    for path, evidence_id in _named(document):
        why = _why_not(evidence_id, asked.get(evidence_id), policy, now_ms, look)
        if why:
            yield Fault(
                "V-PROP-013",
                path,
                required="recorded, fresh evidence of a trusted source",
                actual=why,
                suggestion="Have a trusted source record this evidence, then propose again.",
            )


def _named(document: ProposalDocument) -> Iterator[tuple[str, str]]:
    for index, condition in enumerate(document.preconditions):
        yield f"preconditions[{index}].evidence_ref", condition.evidence_ref
    for index, binding in enumerate(document.evidence_bindings):
        if binding.required:
            yield f"evidence_bindings[{index}].evidence_id", binding.evidence_id


def _why_not(
    evidence_id: str, asked_ms: int | None, policy: Policy, now_ms: int, evidence_of: EvidenceOf
) -> str | None:
    """Return why this evidence does not count; `asked_ms` is what a binding asks: it tightens."""
    if not evidence_id:
        return "no evidence is named"
    packet = evidence_of(evidence_id)
    if packet is None:
        return "not recorded"
    rule = policy.rules.get(_RULE)
    settings = rule.settings if rule else {}
    if packet.source not in settings.get("trusted_sources", ()):
        return "of a source that is not trusted"
    longest_ms = int(settings.get("freshness_s", _DEFAULT_FRESHNESS_S)) * 1000
    age_ms = now_ms - packet.observed_at_ms
    if age_ms > (longest_ms if asked_ms is None else min(longest_ms, asked_ms)):
        return "stale"
    if age_ms < -policy.limits.clock_skew_s * 1000:
        return "observed in the future"
    return None


def _quorum_faults(accepted: Accepted, policy: Policy) -> Iterator[Fault]:
    asked = approval_class_of(accepted.document)
    if asked is None:
        yield Fault(
            "V-PROP-014",
            "approval_class",
            required="one of " + ", ".join(ApprovalClass),
            actual="another word",
            suggestion="Name one of the four approval classes, in lower case.",
        )
    elif asked is ApprovalClass.THRESHOLD and accepted.tool.quorum_required < 1:
        yield Fault(
            "V-PROP-014",
            "approval_class",
            required="a tool whose quorum says how many",
            actual=f"{accepted.tool.name} names no number",
            suggestion="Ask for single or dual: this tool has no threshold.",
        )
    else:
        yield from _out_of_reach(accepted, policy)


def _out_of_reach(accepted: Accepted, policy: Policy) -> Iterator[Fault]:
    proposer, tool, quorum = accepted.document.actor, accepted.tool, accepted.quorum
    if within_reach(policy, tool, proposer, quorum, accepted.quorum_needs_people):
        return
    people = len(eligible(policy, tool, proposer))
    yield Fault(
        "V-PROP-014",
        "approval_class",
        required=f"{quorum} who may approve",
        actual=f"{people} who may",
        suggestion=f"Too few people may approve what {tool.name} does: ask the operator to add "
        f"some to the group {tool.reviewers}.",
    )
