"""Step 7 of the first gate judges whether this proposer may ask for this tool at all (seed 004).

The order of the conditions is that of agent-kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final, assert_never

from lifecycle.answers import AuthorityOutcome
from lifecycle.document import ProposalDocument
from lifecycle.errors import Fault
from lifecycle.first_gate.gate import Accepted
from lifecycle.first_gate.kind import Kind
from lifecycle.policy import (
    ADMINS,
    READERS_OF_SECRETS,
    WRITERS,
    Agent,
    Limits,
    Person,
    Policy,
    Rate,
    Safety,
    Sensitivity,
    ToolPolicy,
)
from lifecycle.text.folding import legible

ALLOWED: Final = "default_policy_allow"
MIN_JUSTIFICATION: Final = 15
MAX_ROWS: Final = 50
MAX_ROWS_OF_A_SERVICE: Final = 500
#: A proposer with the role `service` may do ten times as much by default, as in agent-kernel.
SERVICE: Final = "service"
_SERVICE_FACTOR: Final = 10
_NO_ROOM: Final = (
    "A KernelRequest has no room for a justification: send a Proposal with one, of "
    f"{MIN_JUSTIFICATION} characters or more; the same id may be used."
)
_MINUTE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of authority and whether it holds; `code` names its failure."""

    name: str
    held: bool
    code: str
    path: str
    required: str
    actual: str
    suggestion: str

    def fault(self) -> Fault:
        """Return the failure as an item of `errors[]`."""
        return Fault(self.code, self.path, self.required, self.actual, self.suggestion)


@dataclass(frozen=True, slots=True)
class Decision:
    """What authority says. `faults` are all failures; the first one gives the code.

    `retry_after_s` is set for `rate_limited`. The caller notes a use only if the outcome is allow.
    """

    outcome: AuthorityOutcome
    faults: tuple[Fault, ...] = ()
    retry_after_s: int | None = None

    @property
    def code(self) -> str:
        """The code of the first failure, `default_policy_allow` if there is none."""
        return self.faults[0].code if self.faults else ALLOWED


@dataclass(frozen=True, slots=True)
class Explanation:
    """All conditions that do not depend on the time, in the order in which they are judged."""

    rule_name: str
    conditions: tuple[Condition, ...]

    @property
    def failed(self) -> tuple[Condition, ...]:
        """The conditions that do not hold."""
        return tuple(each for each in self.conditions if not each.held)

    @property
    def denied(self) -> bool:
        """True if one of them does not hold."""
        return bool(self.failed)

    @property
    def reason_code(self) -> str | None:
        """The code of the first condition that does not hold, None if all hold."""
        return self.failed[0].code if self.failed else None


def decide(
    proposer: Agent | Person,
    accepted: Accepted,
    policy: Policy,
    uses: Sequence[int],
    now_ms: int,
) -> Decision:
    """Judge all conditions; the first that fails gives the code, and all failures are listed.

    `uses` are the times (ms UTC) of accepted evaluations of this proposer and tool, at least those
    within the rate's time. The rate is judged only if everything else holds, so that no failure
    consumes it.
    """
    tool, document = accepted.tool, accepted.document
    failed = [each for each in _lasting(proposer, tool, document) if not each.held]
    if failed:
        ask = failed[0].code == "insufficient_justification"
        outcome = AuthorityOutcome.ASK if ask else AuthorityOutcome.DENY
        return Decision(outcome, _told(failed, accepted))
    rate = rate_of(tool, policy, proposer)
    wait_s = _wait_s(rate, uses, now_ms)
    within = _rate(rate, wait_s)
    if not within.held:
        return Decision(AuthorityOutcome.DENY, (within.fault(),), wait_s)
    return Decision(AuthorityOutcome.ALLOW)


def _told(failed: Sequence[Condition], accepted: Accepted) -> tuple[Fault, ...]:
    """Return the failures as faults, with the path and a remedy for this kind of document."""
    faults = tuple(accepted.as_sent(each.fault()) for each in failed)
    if accepted.kind is not Kind.KERNEL_REQUEST:
        return faults
    unjustified = "insufficient_justification"
    return tuple(replace(f, suggestion=_NO_ROOM) if f.code == unjustified else f for f in faults)


def explain(proposer: Agent | Person, tool: ToolPolicy, document: ProposalDocument) -> Explanation:
    """Return every condition but the rate, which changes by the second; never raises."""
    conditions = tuple(_lasting(proposer, tool, document))
    first = next((each for each in conditions if not each.held), None)
    if first is None:
        return Explanation("allowed", conditions)
    return Explanation(f"{tool.safety.value}-{first.name.replace('_', '-')}", conditions)


def rate_of(tool: ToolPolicy, policy: Policy, proposer: Agent | Person | None = None) -> Rate:
    """Return how often one proposer may use `tool`; the tool's own rate comes before the limits."""
    if tool.rate is not None:
        return tool.rate
    count = policy.limits.rate.get(tool.safety, Limits().rate[tool.safety])
    factor = _SERVICE_FACTOR if proposer is not None and SERVICE in proposer.roles else 1
    return Rate(count * factor, _MINUTE_S)


def check_of(tool: str) -> str:
    """Return the name under which checks of a tool count for its rate, apart from proposals."""
    return f"check of {tool}"  # no tool has such a name


def granted_rows(proposer: Agent | Person, document: ProposalDocument) -> int | None:
    """Return how many rows a result may have, None if the constraint is no whole number."""
    most = MAX_ROWS_OF_A_SERVICE if SERVICE in proposer.roles else MAX_ROWS
    asked = document.target.constraints.get("max_rows", most)
    if not isinstance(asked, int) or isinstance(asked, bool):
        return None
    return min(max(asked, 0), most)


def _lasting(
    proposer: Agent | Person, tool: ToolPolicy, document: ProposalDocument
) -> Iterator[Condition]:
    """Yield the conditions of agent-kernel in its order, all but the rate."""
    justified = _justification(document)
    if tool.roles is not None:
        yield _roles(proposer, tool.roles)
    match tool.safety:
        case Safety.READ:
            pass
        case Safety.WRITE:
            yield from _of_class(proposer, tool, WRITERS)
            yield justified
        case Safety.DESTRUCTIVE:
            yield from _of_class(proposer, tool, ADMINS)
            yield justified
        case _:
            assert_never(tool.safety)
    match tool.sensitivity:
        case Sensitivity.NONE:
            pass
        case Sensitivity.PII | Sensitivity.PCI:
            yield _tenant(proposer)
        case Sensitivity.SECRETS:
            yield from _of_class(proposer, tool, READERS_OF_SECRETS)
            yield justified
        case _:
            assert_never(tool.sensitivity)
    yield _rows(proposer, document)


def _of_class(
    proposer: Agent | Person, tool: ToolPolicy, roles: frozenset[str]
) -> Iterator[Condition]:
    """Yield the roles that a class asks for, unless the tool names roles of its own."""
    if tool.roles is None:
        yield _roles(proposer, roles)


def _roles(proposer: Agent | Person, roles: frozenset[str]) -> Condition:
    wanted = " or ".join(sorted(roles)) or "a role that nobody has"
    return Condition(
        name="roles",
        held=not roles.isdisjoint(proposer.roles),
        code="missing_role",
        path="",
        required=wanted,
        actual=", ".join(sorted(proposer.roles)) or "no role",
        suggestion=f"Only the operator can help: {proposer.id} needs the role {wanted}.",
    )


def _justification(document: ProposalDocument) -> Condition:
    given = document.justification or ""
    length = len(legible(given))  # characters that nobody sees justify nothing
    unseen = " that can be seen" if length < len(given.strip()) else ""
    return Condition(
        name="min_justification",
        held=length >= MIN_JUSTIFICATION,
        code="insufficient_justification",
        path="justification",
        required=f"at least {MIN_JUSTIFICATION} characters",
        actual=f"{length} characters{unseen}",
        suggestion=f"Say in `justification`, in {MIN_JUSTIFICATION} characters or more, why this "
        "is needed, and send the proposal again; the same id may be used.",
    )


def _tenant(proposer: Agent | Person) -> Condition:
    there = bool(proposer.attributes.get("tenant"))
    return Condition(
        name="tenant_attribute",
        held=there,
        code="missing_tenant_attribute",
        path="",
        required="the attribute tenant",
        actual="present" if there else "absent",
        suggestion=f"Only the operator can help: {proposer.id} needs the attribute tenant.",
    )


def _rows(proposer: Agent | Person, document: ProposalDocument) -> Condition:
    asked: Any = document.target.constraints.get("max_rows")
    rows = granted_rows(proposer, document)
    return Condition(
        name="max_rows",
        held=rows is not None,
        code="invalid_constraint",
        path="target.constraints.max_rows",
        required="a whole number",
        actual="another type" if rows is None else ("absent" if asked is None else "a number"),
        suggestion="Write max_rows as a whole number, or leave it out.",
    )


def _wait_s(rate: Rate, uses: Sequence[int], now_ms: int) -> int | None:
    """Return in how many seconds the next use is within the rate, None if it is now.

    A use exactly `per_s` old does not count. Nor does one that lies as far ahead, noted by a clock
    that was set back since: else nothing more would be within the rate until that time comes again.
    """
    span_ms = rate.per_s * 1000
    within = sorted(at for at in uses if abs(now_ms - at) < span_ms)
    if len(within) < rate.count:
        return None
    if rate.count < 1:
        return rate.per_s
    return max(1, ceil((within[-rate.count] + span_ms - now_ms) / 1000))


def _rate(rate: Rate, wait_s: int | None) -> Condition:
    return Condition(
        name="rate",
        held=wait_s is None,
        code="rate_limited",
        path="",
        required=f"at most {rate.count} in {rate.per_s} s",
        actual="within" if wait_s is None else "used up",
        suggestion=f"Wait {wait_s or 0} s, then send the proposal again.",
    )
