"""Writes the bot's own fields of a card: tier, verdict, reviewers, deadline, decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never

from bot.chat.cards.beside import Beside
from bot.chat.cards.content import Field
from bot.chat.cards.neutral import neutral, neutral_value
from bot.chat.cards.spans import about, moment_words, span_words
from lifecycle.counting import approvals
from lifecycle.policy import Policy, ToolPolicy
from lifecycle.proposal import Execution, Outcome, Proposal
from lifecycle.quorum import eligible
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.tier import TIER_POLICIES, CardKind, Puller
from lifecycle.verdict import Verdict

#: Constraints that are enforced whichever the tool; others only if its config names them.
_ENFORCED: Final = frozenset({"max_rows"})
#: These are enforced for a proposal with a risk envelope alone.
_BY_ENVELOPE: Final = frozenset({"allowed_fields", "forbidden_fields"})
_MOST_NAMED: Final = 12
#: The label of the field that says where a proposal stands.
STATE: Final = "State"
#: Labels of the fields that say why a person must look, and until when people may decide.
ATTENTION: Final = "⚠️ Needs a person"
DEADLINE: Final = "Deadline"
#: What follows where the config calls the tool otherwise than when it began (ADR 0026).
_STAGED_OTHERWISE: Final = (
    "Nothing is carried out by itself any more, for the config calls its tool otherwise now. ❌ "
    "takes it back until the window closes; then a person decides."
)
_DONE_OTHERWISE: Final = (
    "The config calls its tool otherwise now, so after ❌ it is not taken back before a person "
    "says `retry`; once the window has closed, not from here."
)
#: The surface without emoji: what was approved there was typed.
_TYPED_AT: Final = "terminal"


def facts_of(proposal: Proposal, beside: Beside) -> tuple[Field, ...]:
    """Return the bot's own fields in the order in which people read them."""
    tool = beside.policy.tools.get(proposal.tool)
    return tuple(
        found
        for found in (
            _attention(proposal),
            Field("Action", _action(proposal, tool)),
            Field("Tier", _tier(proposal)),
            Field(STATE, state_words(proposal)),
            _verdict(proposal.verdict),
            _reviewers(proposal, beside, tool),
            _deadline(proposal, beside.now_ms),
            _window(proposal, beside.now_ms),
            Field("Cannot be undone", undone_words(proposal, tool, beside)),
            _decided(proposal, beside),
            _added(beside.defaults),
            _unenforced(proposal, tool),
            _refused_before(proposal),
        )
        if found is not None
    )


def people_needed(proposal: Proposal) -> bool:
    """Say whether the proposal waits for a person's decision now."""
    live = TIER_POLICIES[proposal.tier].card is CardKind.LIVE
    return live and proposal.state is State.SENTINEL_APPROVED and proposal.opener is None


def state_words(proposal: Proposal) -> str:
    """Return the state, with what it means at this moment."""
    match proposal.state:
        case State.PENDING:
            return "pending: Sentinel is checking"
        case State.SENTINEL_APPROVED if proposal.waiting_for:
            return f"sentinel_approved: approved, waits for {neutral(proposal.waits_for).text}"
        case State.SENTINEL_APPROVED if proposal.opener is not None:
            return "sentinel_approved: approved, about to begin"
        case State.SENTINEL_APPROVED:
            return "sentinel_approved: waits for people"
        case State.EXECUTING:
            return f"executing: {_execution_words(proposal.execution)}"
        case State.COMPLETED | State.ROLLED_BACK | State.REJECTED:
            return f"{proposal.state} ({proposal.reason})"
        case _:
            assert_never(proposal.state)


def undone_words(proposal: Proposal, tool: ToolPolicy | None, beside: Beside) -> str:
    """Say from when on, and whether, what is done can no longer be taken back."""
    if tool is None or not tool.reversible or not proposal.window_s:
        return "Once it is done, it cannot be taken back from here."
    begun = proposal.execution  # by the config of then: a later one changes nothing of it
    staged = tool.deferred if begun is None else begun.stages(by_config=tool.deferred)
    if beside.calls_otherwise(tool):
        return _STAGED_OTHERWISE if staged else _DONE_OTHERWISE
    if staged:
        return (
            "Nothing is carried out before the window closes; after that it cannot be taken back."
        )
    return (
        "It acts at once and can be taken back until the window closes; after that not from here."
    )


def _void_words(review: Review, asked: bool) -> str:
    why = neutral(review.void_why or "").text
    again = asked and review.decision is Decision.APPROVE
    if not again or review.void_why == "taken back":
        return why
    if review.surface == _TYPED_AT:
        return f"{why}; approve again"
    return f"{why}; a ✅ that still stands must be taken off and given anew"


def review_words(review: Review, *, asked: bool = True) -> str:
    """Return who decided what, when, where and why, in one line.

    `asked` says that people are still asked: whose approval counts no longer may give it anew.
    """
    verb = {
        Decision.APPROVE: "approved",
        Decision.REJECT: "rejected",
        Decision.ROLL_BACK: "roll back asked for",  # whether it was done, the state says
    }[review.decision]
    late = ", found late" if review.found_late else ""
    void = f" [no longer counts: {_void_words(review, asked)}]" if review.void_why else ""
    why = f': "{neutral(review.reason).text}"' if review.reason else ""
    at = moment_words(review.at_ms)
    return f"{verb} by person {review.person}, {at} ({review.surface}{late}){why}{void}"


def end_words(proposal: Proposal) -> str:
    """Return how it ended: state, reason, by whom, when, and the explanation."""
    by = proposal.decided_by or "nobody"
    at = moment_words(proposal.decided_at_ms or proposal.created_at_ms)
    why = f": {neutral(proposal.explanation).text}" if proposal.explanation else ""
    return f"{proposal.state} ({proposal.reason}) by {by}, {at}{why}"


def verdict_lines(verdict: Verdict | None) -> tuple[str, ...]:
    """Return one line for each finding, hard ones first; one line also if nothing was found."""
    if verdict is None:
        return ("not checked yet",)
    found = tuple(
        f"{fault.level}: {fault.rule} {fault.code}{_at(fault.path)}: "
        f"{neutral(fault.suggestion or '').text}"
        for fault in verdict.faults()
    )
    return found or (f"all {len(verdict.results)} rules passed",)


def _at(path: str) -> str:
    return f" at {neutral(path).text}" if path else ""


def _attention(proposal: Proposal) -> Field | None:
    if proposal.attention is None:
        return None
    why = f": {neutral(proposal.attention_why).text}" if proposal.attention_why else ""
    return Field(ATTENTION, f"{proposal.attention}{why}")


def _action(proposal: Proposal, tool: ToolPolicy | None) -> str:
    return f"{proposal.tool} ({tool.action_type})" if tool else proposal.tool


def _tier(proposal: Proposal) -> str:
    if proposal.tier is proposal.tool_tier:
        return proposal.tier.value
    return f"{proposal.tier} (the tool is {proposal.tool_tier})"


def _verdict(verdict: Verdict | None) -> Field:
    return Field("Sentinel", "\n".join(verdict_lines(verdict)))


def _reviewers(proposal: Proposal, beside: Beside, tool: ToolPolicy | None) -> Field | None:
    if tool is None or TIER_POLICIES[proposal.tier].card is not CardKind.LIVE:
        return None
    may = sorted(eligible(beside.policy, tool, proposal.actor.id))
    named = ", ".join(may[:_MOST_NAMED]) or "nobody"
    more = f" and {len(may) - _MOST_NAMED} more" if len(may) > _MOST_NAMED else ""
    return Field("Reviewers", f"{tool.reviewers}: {named}{more}\n{_quorum_words(proposal, beside)}")


def _quorum_words(proposal: Proposal, beside: Beside) -> str:
    counted = approvals(beside.reviews, beside.policy, proposal)
    if not counted and _auto_approval(proposal, beside.policy):
        return "auto-approval stands for the quorum"
    by = f" ({', '.join(counted)})" if counted else ""
    words = f"approved by {len(counted)} of {proposal.quorum}{by}"
    waits = proposal.state is State.SENTINEL_APPROVED and proposal.opener is None
    if counted and waits and len(counted) >= proposal.quorum:
        words += "; not all of them are confirmed as members, so that others must approve it"
    return words


def _deadline(proposal: Proposal, now_ms: int) -> Field | None:
    match proposal.state:
        case State.PENDING | State.SENTINEL_APPROVED:
            at_ms = proposal.deadline_ms
            text = f"{moment_words(at_ms)} ({about(at_ms, now_ms)})"
            return Field(DEADLINE, text, at_ms=at_ms)
        case State.EXECUTING | State.COMPLETED | State.ROLLED_BACK | State.REJECTED:
            return None
        case _:
            assert_never(proposal.state)


def _window(proposal: Proposal, now_ms: int) -> Field | None:
    if not proposal.window_s:
        return None
    length = span_words(proposal.window_s)
    closes_ms = proposal.execution.window_closes_at_ms if proposal.execution else None
    if closes_ms is None:
        text = f"⏱️ {length} rollback window after approval"
        return None if proposal.terminal else Field("Window", text)
    text = f"⏱️ {length}, closes {moment_words(closes_ms)}"
    if proposal.terminal:
        return Field("Window", text.replace("closes", "until"))
    return Field("Window", f"{text} ({about(closes_ms, now_ms)})", at_ms=closes_ms)


def _decided(proposal: Proposal, beside: Beside) -> Field | None:
    lines = list(_decisions(proposal, beside))
    return Field("Decisions", "\n".join(lines)) if lines else None


def _decisions(proposal: Proposal, beside: Beside) -> Iterator[str]:
    if orchestrated := _auto_approval(proposal, beside.policy):
        yield orchestrated
    asked = people_needed(proposal)
    yield from (review_words(review, asked=asked) for review in beside.reviews)
    if proposal.kept_stop is not None:
        yield f"❌ by person {proposal.kept_stop.person} is kept until {_known_when(proposal)}"
    if proposal.terminal:
        yield end_words(proposal)


def _known_when(proposal: Proposal) -> str:
    """Say when it will be known whether there is something to take back."""
    execution = proposal.execution
    doubtful = execution is not None and execution.outcome is Outcome.UNKNOWN
    return "somebody settles whether it happened" if doubtful else "the tool has answered"


def _auto_approval(proposal: Proposal, policy: Policy) -> str | None:
    """Return who opened it in place of people, and when it began if it has; also after its end."""
    execution = proposal.execution
    if execution is not None and execution.early:
        by = proposal.opener or f"agent {policy.orchestrator or 'of the orchestrator'}"
        when = moment_words(execution.window_opens_at_ms or execution.began_at_ms)
        return f"opened by {by} (auto-approval), {when}"
    if proposal.opener is not None and proposal.opener_puller is Puller.ORCHESTRATOR:
        return f"opened by {proposal.opener} (auto-approval)"
    return None


def _added(defaults: Mapping[str, Any]) -> Field | None:
    if not defaults:
        return None
    lines = (
        f"{neutral(str(key)).text}: {neutral_value(value).text}" for key, value in defaults.items()
    )
    return Field("The tool adds", "\n".join(lines))


def _unenforced(proposal: Proposal, tool: ToolPolicy | None) -> Field | None:
    if tool is None or proposal.masked:
        return None
    try:
        document = proposal.read()
    except ValueError:
        return None  # somebody changed the row, which is told elsewhere
    asked = document.target.constraints.keys() - _ENFORCED - set(tool.constraints)
    if document.risk_envelope is not None:
        asked -= _BY_ENVELOPE
    if not asked:
        return None
    names = ", ".join(neutral(name).text for name in sorted(asked))
    return Field("Nobody enforces", f"the proposer's constraints {names}")


def _refused_before(proposal: Proposal) -> Field | None:
    if not proposal.resembles_refused:
        return None
    return Field("Note", f"people refused {proposal.actor} something like this lately")


def _execution_words(execution: Execution | None) -> str:
    if execution is None:
        return "about to begin"
    return f"{execution.verb} {execution.outcome} (attempt {execution.attempt})"
