"""What must hold of each entry of the trail, judged by the book of what people did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from lifecycle.moment import ms_of
from lifecycle.policy import ApprovalClass, Level, Policy, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.tier import Tier
from tests.roads import trail_of
from tests.stories.any_book import Book

_DAY_MS = 86_400_000
_PEOPLE = {ApprovalClass.NONE: 0, ApprovalClass.SINGLE: 1, ApprovalClass.DUAL: 2}
_OPENS = ("execute", "called_again", "execute_happened")


class Laws:
    """Looks at what each unit has written, before anybody else does.

    `policies` are all that were ever in force, `open` the proposals that have not ended, `more`
    says what else is to be judged.
    """

    def __init__(self, book: Book, policy: Policy, now_ms) -> None:
        self.now_ms = now_ms
        self.book, self.wrong = book, list[str]()
        self.policies: dict[str, Policy] = {policy.digest: policy}
        self.closes_ms: dict[str, int | None] = {}
        self.open: set[str] = set()
        self.more = lambda tx, entry, row: ()

    def after(self, tx: Transaction, seq: int) -> None:
        """Judge what stands behind `seq`."""
        self.book.tick += 1
        for entry in tx.audit.exported(seq, 10_000):
            named = str(entry["proposal_id"] or "")
            row = tx.proposals.get(named) if named else None
            if row is None:
                continue
            for words in self._about(tx, entry, row):
                self.wrong.append(f"{words}: {entry['seq']} {entry['kind']} of {named}")
            self.book.stands[named] = asked_of(row)
            self.book.at[named, row.version] = asked_of(row)
            self.open.discard(named) if row.terminal else self.open.add(named)
        self.book.seq = tx.audit.head()[0]

    def in_force(self, tx: Transaction, row: Proposal) -> Policy | None:
        """Return the policy in force."""
        return self.policies.get(str(tx.flags.get("policy") or row.policy_digest))

    def _about(self, tx: Transaction, entry: Mapping[str, Any], row: Proposal) -> Iterator[str]:
        kind, told = entry["kind"], entry["details"]
        policy = self.in_force(tx, row)
        if kind in _OPENS and (kind == "execute" or told.get("verb", "execute") == "execute"):
            self.closes_ms[row.proposal_id] = told.get("window_closes_at_ms")
        if kind == "execute" and policy is not None:
            yield from self._begun(tx, entry, row, policy)
        closed = entry["reason"] == "window_closed_unopposed"
        if closed and kind in ("complete", "commit_claimed"):
            yield from self._closed(tx, entry, row, policy)
        yield from self.more(tx, entry, row)
        if kind == "complete" and entry["reason"] == "approved_early" and not _early(tx, row):
            yield "completed early although people opened it"

    # -- beginning --------------------------------------------------------------------------

    def _begun(
        self, tx: Transaction, entry: Mapping[str, Any], row: Proposal, policy: Policy
    ) -> Iterator[str]:
        tool, document = policy.tools.get(row.tool), json.loads(row.document)
        if tool is None or tool.tier is Tier.BLOCK:
            yield "begun with a tool that may not be used"
            return
        yield from self._in_time(tx, entry, row, document)
        yield from self._enough(entry, row, policy, tool, document)
        yield from self._window(entry, row, tool, document)
        yield from self._within_budget(tx, entry, row, document, policy)
        yield from self._on_evidence(tx, entry, document, policy)
        begun = [e for e in trail_of(tx, row.proposal_id) if e.event.kind == "execute"]
        if len(begun) > 1:
            yield "begun twice"

    def _in_time(
        self, tx: Transaction, entry: Mapping[str, Any], row: Proposal, document: Any
    ) -> Iterator[str]:
        at_ms, window = self.now_ms() - 30_000, document.get("time_window") or {}
        until_ms = window.get("valid_until_ms") or row.created_at_ms + _DAY_MS
        handed = [e for e in trail_of(tx, row.proposal_id) if e.event.kind == "permit_handed_over"]
        if handed and not window:
            until_ms = max(until_ms, ms_of(handed[-1].event.at) + 3_600_000)
        if at_ms >= until_ms:
            yield "begun after its deadline"
        if self.now_ms() < (window.get("valid_from_ms") or 0):
            yield "begun too early"

    def _enough(
        self,
        entry: Mapping[str, Any],
        row: Proposal,
        policy: Policy,
        tool: ToolPolicy,
        document: Any,
    ) -> Iterator[str]:
        asked, people = _asked(tool, document)
        soft = row.verdict is not None and row.verdict.needs_reason
        by_people = people or soft or tool.tier is Tier.CONFIRM
        asked = max(asked, 1 if by_people or tool.tier is Tier.PROPOSE else 0)
        if row.quorum < asked:
            yield f"asks for {row.quorum}, not for {asked}"
        if asked == 0:
            return
        by = entry["actor"]
        if by["kind"] == "agent" and not by_people:
            if by["id"] != policy.orchestrator:
                yield "opened by an agent that is no orchestrator"
            return
        counted = self._counted(row, policy, tool, soft=soft)
        if len(counted) < asked:
            yield f"{sorted(counted)} approved, {asked} must"
        elif by["kind"] != "person" or by["id"] not in counted:
            yield f"opened in the name of {by}, {sorted(counted)} approved"

    def _counted(self, row: Proposal, policy: Policy, tool: ToolPolicy, *, soft: bool) -> set[str]:
        owner = policy.owner_of(row.actor.id)
        found = set()
        for person, gave in self.book.standing(row.proposal_id).items():
            known = policy.people.get(person)
            able = known is not None and tool.reviewers in known.groups
            said_why = [g for g in gave if g.reason.strip() or not soft]
            asked_so = [g for g in said_why if g.asked_at_some_time(asked_of(row))]
            if able and asked_so and person not in (row.actor.id, owner):
                found.add(person)
        return found

    def _window(
        self, entry: Mapping[str, Any], row: Proposal, tool: ToolPolicy, document: Any
    ) -> Iterator[str]:
        proposing = tool.tier is Tier.PROPOSE
        least_s = (tool.window_s or (900 if proposing else 0)) if row.quorum or proposing else 0
        asked = document.get("rollback_semantics") or {}
        if least_s and asked.get("kind", "none") != "none":
            least_s = max(least_s, asked.get("window_s") or 0)
        closes_ms = entry["details"]["window_closes_at_ms"]
        given_s = (closes_ms - self.now_ms() + 30_000) / 1000 if closes_ms else 0
        if tool.reversible and given_s < least_s:
            yield f"a window of {given_s} s, not {least_s} s"

    def _within_budget(
        self,
        tx: Transaction,
        entry: Mapping[str, Any],
        row: Proposal,
        document: Any,
        policy: Policy,
    ) -> Iterator[str]:
        if row.tool != "issue-refund":
            return
        limit = Decimal(policy.rules["amount_within_limit"].settings["per_agent_day"]["USD"])
        at_ms, spent = ms_of(entry["at"]), Decimal(0)
        for named in self.book.stands:
            other = tx.proposals.get(named)
            if other is None or other.tool != "issue-refund" or other.actor != row.actor:
                continue
            since = (other.decided_at_ms or at_ms) > at_ms - _DAY_MS
            if other.state == "executing" or (other.state == "completed" and since):
                spent += Decimal(json.loads(other.document)["parameters"]["amount"])
        if spent > limit:
            yield f"{spent} USD spent in a day, {limit} allowed"

    def _on_evidence(
        self, tx: Transaction, entry: Mapping[str, Any], document: Any, policy: Policy
    ) -> Iterator[str]:
        if policy.rules["preconditions_hold"].level is not Level.HARD:
            return
        for each in document.get("preconditions") or ():
            packet = tx.evidence.get(each["evidence_ref"])
            if packet is None or packet.payload != {"ok": True}:
                yield "begun on evidence that says otherwise"
            elif self.now_ms() - packet.observed_at_ms > 330_000:
                yield "begun on old evidence"

    # -- the end ------------------------------------------------------------------------------

    def _closed(
        self, tx: Transaction, entry: Mapping[str, Any], row: Proposal, policy: Policy | None
    ) -> Iterator[str]:
        closes_ms = self.closes_ms.get(row.proposal_id)
        told = {each.event.kind for each in trail_of(tx, row.proposal_id)}
        claimed = entry["kind"] == "complete" and "commit_claimed" in told
        if "settled" in told or claimed:  # the commit is the point of no return
            return
        if closes_ms is None or ms_of(entry["at"]) < closes_ms:
            yield f"closed before its time ({closes_ms})"
        hard = policy is not None and policy.rules["preconditions_hold"].level is Level.HARD
        for each in json.loads(row.document).get("preconditions") or ():
            packet = tx.evidence.get(each["evidence_ref"])
            if hard and (packet is None or packet.payload != {"ok": True}):
                yield "closed over evidence that says otherwise"


def _asked(tool: ToolPolicy, document: Any) -> tuple[int, bool]:
    """Return how many people tool and document ask for by name, and whether they do."""
    classes = (tool.quorum_class, ApprovalClass(document.get("approval_class") or "none"))
    count = max(
        tool.quorum_required if each is ApprovalClass.THRESHOLD else _PEOPLE[each]
        for each in classes
    )
    return count, count > 0


def asked_of(row: Proposal) -> Any:
    """Return what people were asked: who decides, how many, and what can be taken back."""
    judged = None if row.verdict is None else row.quorum_needs_people
    return (judged, row.tier.value, row.quorum)


def _early(tx: Transaction, row: Proposal) -> bool:
    begun = [e for e in trail_of(tx, row.proposal_id) if e.event.kind == "execute"]
    return (
        bool(begun)
        and begun[-1].event.actor is not None
        and str(begun[-1].event.actor.kind) == "agent"
    )
