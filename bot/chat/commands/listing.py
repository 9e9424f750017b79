"""Writes the answers to those who look: lists, one proposal, its trail, tools, rules, policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bot.chat.cards.card_facts import state_words
from bot.chat.cards.content import CardContent
from bot.chat.cards.neutral import neutral, neutral_value, one_line
from bot.chat.cards.spans import about, moment_words
from bot.chat.commands.replies import CommandReply, Table
from bot.views import MOST_ATTEMPTS, PendingPage
from lifecycle.policy import Policy
from lifecycle.proposal import Proposal

_TITLE: Final = 80
_ATTEMPTS_LEFT_OUT: Final = (
    f"Of attempts without effect the newest {MOST_ATTEMPTS} are shown; signoff audit export has "
    "all of them."
)


def pending_reply(page: PendingPage, now_ms: int) -> CommandReply:
    """Return `N pending` with ten a page, and ten of what executes in a group of its own.

    What executes and needs a person stands before all that waits: nobody reads to the end of a long
    list for it.
    """
    where = f", page {page.number} of {page.pages}" if page.pages > 1 else ""
    blocks: list[str | Table] = [f"{page.total} pending{where}"]
    stuck = [each for each in page.executing if each.attention]
    others = [each for each in page.executing if not each.attention]
    if stuck:
        blocks += [f"{page.executing_total} executing. Needs a person:", _executing(stuck, now_ms)]
    if page.waiting:
        rows = tuple(_waiting_row(each, now_ms) for each in page.waiting)
        waiting = Table("", ("id", "who", "tool", "what", "state", "deadline"), rows)
        blocks += ["Waiting:", waiting] if stuck else [waiting]
    if others:
        heading = "Executing:" if stuck else f"{page.executing_total} executing"
        blocks += [heading, _executing(others, now_ms)]
    if page.number < page.pages:
        blocks.append(f"More: pending {page.number + 1}")
    return CommandReply(tuple(blocks))


def _executing(proposals: Sequence[Proposal], now_ms: int) -> Table:
    rows = tuple(_executing_row(each, now_ms) for each in proposals)
    return Table("", ("id", "who", "tool", "what", "state", "window"), rows)


def card_reply(content: CardContent) -> CommandReply:
    """Return one proposal in words: everything that its card says, with nothing cut."""
    facts = tuple((each.label, each.text) for each in content.facts)
    written = tuple((each.label, each.text) for each in content.written)
    blocks: list[str | Table] = [content.title, Table("", ("", ""), facts)]
    blocks += [f"{content.written_by}:", Table("", ("", ""), written)]
    blocks += [*content.warnings, *content.commands, content.footer]
    return CommandReply(tuple(blocks), card=content)


def explained_reply(found: Mapping[str, Any]) -> CommandReply:
    """Return every rule's verdict and every condition of authority in words."""
    reason = f" ({found['reason']})" if found["reason"] else ""
    head = f"{found['proposal_id']} is {found['state']}{reason}"
    why = neutral(found["explanation"]).text if found["explanation"] else ""
    blocks: list[str | Table] = [f"{head}. {why}" if why else f"{head}."]
    verdict, authority = found["verdict"], found["authority"]
    if verdict is None:
        blocks.append("Sentinel has not judged it.")
    else:
        rows = tuple(row for result in verdict["results"] for row in _rule_rows(result))
        blocks.append(Table("Sentinel", ("rule", "level", "verdict"), rows))
    if authority is None:
        blocks.append("Its tool or its proposer is no longer configured.")
    else:
        rows = tuple(_condition_row(each) for each in authority["conditions"])
        blocks.append(Table(f"Authority: {authority['rule']}", ("condition", "", "needs"), rows))
    return CommandReply(tuple(blocks))


def trail_reply(
    given: str, entries: Sequence[Mapping[str, Any]], *, more: bool = False
) -> CommandReply:
    """Return the audit trail of one proposal, oldest first; `more`: attempts were left out."""
    rows = tuple(_entry_row(entry) for entry in entries)
    columns = ("entry", "at", "what", "who", "why", "hash")
    table = Table(f"Trail of {neutral(given).text}", columns, rows)
    return CommandReply((_ATTEMPTS_LEFT_OUT, table) if more else (table,))


def tools_reply(policy: Policy) -> CommandReply:
    """Return every tool with its tier and who reviews it."""
    rows = tuple(
        (
            tool.name,
            tool.tier.value,
            tool.action_type.value,
            f"reviewers {tool.reviewers}",
            "can be rolled back" if tool.reversible else "cannot be rolled back",
        )
        for tool in sorted(policy.tools.values(), key=lambda each: each.name)
    )
    return CommandReply((Table("Tools", ("tool", "tier", "action", "who", "undo"), rows),))


def rules_reply(policy: Policy, summaries: Mapping[str, str]) -> CommandReply:
    """Return every rule with its level and its law."""
    rows = tuple(
        (rule, settings.level.value, summaries.get(rule, ""))
        for rule, settings in policy.rules.items()
    )
    return CommandReply((Table("Rules", ("rule", "level", "the law"), rows),))


def rule_reply(rule: str, policy: Policy, summaries: Mapping[str, str]) -> CommandReply:
    """Return one rule with its settings."""
    settings = policy.rules[rule]
    rows = tuple((name, neutral_value(value).text) for name, value in settings.settings.items())
    law = summaries.get(rule, "")
    head = f"{rule} ({settings.level}): {law}" if law else f"{rule} ({settings.level})"
    return CommandReply((head, Table("", ("setting", "value"), rows)) if rows else (head,))


def policy_reply(policy: Policy) -> CommandReply:
    """Return the digest of the policy in force, and how many of each it knows."""
    auto = ", ".join(sorted(policy.auto_approval_tiers)) or "nothing"
    by = policy.orchestrator or "nobody"
    limits = policy.limits
    return CommandReply.words(
        f"Policy {policy.digest}",
        f"{len(policy.tools)} tools, {len(policy.rules)} rules, {len(policy.people)} people, "
        f"{len(policy.agents)} agents, {len(policy.sources)} sources",
        f"Auto-approval: {auto}, in the name of {by}",
        f"A proposal waits {limits.proposal_ttl_s} s; a refusal binds {limits.refusal_binds_s} s",
    )


def _waiting_row(proposal: Proposal, now_ms: int) -> tuple[str, ...]:
    at_ms = proposal.deadline_ms
    deadline = f"until {moment_words(at_ms)} ({about(at_ms, now_ms)})"
    return (*_head(proposal), deadline)


def _executing_row(proposal: Proposal, now_ms: int) -> tuple[str, ...]:
    closes_ms = proposal.execution.window_closes_at_ms if proposal.execution else None
    if closes_ms is None:
        return (*_head(proposal), "no window")
    return (*_head(proposal), f"closes {moment_words(closes_ms)} ({about(closes_ms, now_ms)})")


def _head(proposal: Proposal) -> tuple[str, ...]:
    attention = f"⚠️ {proposal.attention}: " if proposal.attention else ""
    return (
        proposal.proposal_id,
        str(proposal.actor),
        f"{proposal.tool} ({proposal.tier})",
        what_of(proposal),
        f"{attention}{state_words(proposal)}",
    )


def what_of(proposal: Proposal) -> str:
    """Return in a few neutral words what is proposed: subject, title, name or else target."""
    if proposal.masked:
        return "(masked)"
    try:
        document = proposal.read()
    except ValueError:
        return "(changed by somebody, and not readable)"
    for name in ("subject", "title", "name"):
        value = document.parameters.get(name)
        if isinstance(value, str) and value:
            return one_line(value, _TITLE)
    return one_line(f"{document.target.resource_id} at {document.target.domain}", _TITLE)


def _rule_rows(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    if not result["findings"]:
        yield result["rule"], result["level"], "passed"
    for finding in result["findings"]:
        where = f" at {neutral(finding['path']).text}" if finding["path"] else ""
        words = f"{finding['code']}{where}: {neutral(finding['words']).text}"
        yield result["rule"], finding["level"], words


def _condition_row(condition: Mapping[str, Any]) -> tuple[str, ...]:
    held = "holds" if condition["held"] else f"fails ({condition['code']})"
    return condition["name"], held, f"{condition['required']}; found: {condition['actual']}"


def _entry_row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    moved = f"{entry['from'] or '—'} → {entry['to']}" if entry["to"] else entry["kind"]
    actor = entry["actor"]
    who = f"{actor['kind']} {actor['id']}" if actor else ""
    details = entry["details"]
    words = details.get("explanation") or details.get("why") or ""
    why = "; ".join(filter(None, (entry["reason"], one_line(words) if words else "")))
    surface = f" ({entry['surface']})" if entry["surface"] else ""
    return str(entry["seq"]), entry["at"], moved, who + surface, why, entry["entry_hash"][:12]
