"""This closed list has all codes, and what each tells an agent about trying again.

A code is stable, snake_case and has one meaning. A new code needs an ADR.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Retry(StrEnum):
    """Whether the same wish may be sent again."""

    NEVER = "never"
    AFTER_CHANGE = "after_change"
    LATER = "later"


#: No proposal arises from these: the document was refused at the door.
INTAKE: Final = frozenset(
    """
    too_large malformed_json invalid_unicode duplicate_key non_finite_number out_of_range too_deep
    control_character unknown_kind unknown_field wrong_type invalid_identifier invalid_parameter
    V-PROP-001 V-PROP-002 V-PROP-003 V-PROP-004 V-PROP-005 V-PROP-006
    V-PROP-010 V-PROP-011 V-PROP-012 V-PROP-013 V-PROP-014 implausible_time
    unknown_tool tool_mismatch rollback_not_available digest_not_allowed unknown_agent not_a_source
    actor_mismatch id_conflict previously_rejected too_many_open
    stability_failure locality_failure descent_failure glue_non_contractible
    adjoint_triple_coherence_failure proposal_invalid_shape proposal_invalid_kind
    proposal_invalid_target proposal_invalid_target_judgment proposal_invalid_step
    proposal_unbound_policy proposal_nondeterministic proposal_kcir_ref_mismatch
    proposal_binding_mismatch proposal_discharge_failed
    instruction_filename_invalid instruction_envelope_invalid_shape instruction_invalid_schema
    instruction_invalid_intent instruction_invalid_normalizer instruction_invalid_policy_digest
    instruction_scope_missing instruction_scope_invalid instruction_requested_checks_invalid
    instruction_unknown_policy instruction_check_not_allowed instruction_normalizer_not_allowed
    instruction_instruction_type_invalid instruction_typing_policy_invalid
    instruction_capability_claims_invalid instruction_unknown_unroutable
    """.split()
)

AUTHORITY: Final = frozenset(
    """
    default_policy_allow missing_role insufficient_justification missing_tenant_attribute
    invalid_constraint rate_limited
    """.split()
)

#: In the order of the table of the nine rules: the first hard one names the reason.
RULES: Final = (
    "prohibited_content",
    "recipients_allowed",
    "deploy_target_allowed",
    "amount_within_limit",
    "secrets_absent",
    "blast_radius_bounded",
    "reversible_when_required",
    "preconditions_hold",
    "change_window_open",
)

FINDINGS: Final = frozenset(
    """
    prohibited_phrase leftover_escape not_plain_address domain_not_allowed target_not_allowed
    ambiguous_amount amount_not_positive amount_missing no_limit_for_currency action_limit
    daily_limit secret_found effect_not_allowed too_many_records field_not_allowed
    constraint_not_enforced path_outside_root not_reversible precondition_false evidence_missing
    evidence_stale evidence_untrusted change_freeze outside_hours rule_error rule_timeout
    """.split()
)

REVIEW: Final = frozenset(
    """
    not_a_reviewer own_proposal owner_of_agent not_auto_approvable wrong_place stale_card
    unknown_proposal ambiguous_id already_decided already_counted duplicate_event window_closed
    not_fully_shown reason_required not_the_proposer not_an_operator unknown_command
    """.split()
)

COMPLETED: Final = frozenset("tool_succeeded window_closed_unopposed approved_early".split())
REJECTED: Final = frozenset(
    """
    rejected_by_person rejected_by_orchestrator withdrawn expired tool_blocked policy_changed
    permit_expired digest_mismatch
    """.split()
) | frozenset(RULES)
ROLLED_BACK: Final = frozenset(
    """
    rolled_back_by_person rolled_back_by_sentinel tool_failed did_not_happen digest_mismatch
    """.split()
)

ATTENTION: Final = frozenset(
    """
    outcome_unknown rollback_incomplete commit_failed card_undelivered envelope_exceeded overdue
    """.split()
)
EXECUTION: Final = frozenset(
    "frozen audit_unavailable still_running nothing_to_settle illegal_transition".split()
)
PERMIT: Final = frozenset(
    """
    permit_expired permit_not_yet_valid permit_mismatch permit_already_consumed
    permit_signature_invalid digest_mismatch proposal_not_referenced proposal_not_found
    invalid_proposal invalid_r3_document invalid_r3_uri invalid_r3_authorization
    proposal_operation_mismatch proposal_parameter_mismatch
    """.split()
)

ALL: Final = (
    INTAKE
    | AUTHORITY
    | frozenset(RULES)
    | FINDINGS
    | REVIEW
    | COMPLETED
    | REJECTED
    | ROLLED_BACK
    | ATTENTION
    | EXECUTION
    | PERMIT
)

_LATER: Final = frozenset(
    """
    rate_limited too_many_open previously_rejected frozen audit_unavailable rule_timeout
    change_window_open
    """.split()
)
_NEVER: Final = frozenset(
    """
    unknown_agent actor_mismatch not_a_source missing_role missing_tenant_attribute tool_blocked
    permit_already_consumed
    """.split()
)


def retry_of(code: str) -> Retry:
    """Return whether an agent may try again after `code` (codes.md, last paragraph)."""
    if code in _LATER:
        return Retry.LATER
    if code in _NEVER:
        return Retry.NEVER
    return Retry.AFTER_CHANGE
