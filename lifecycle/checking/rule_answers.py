"""Remember for which documents timeless rules found nothing, so that they are not asked twice."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from lifecycle.document import ProposalDocument
from lifecycle.sentinel import Facts
from lifecycle.verdict import RuleResult

#: The number of documents remembered; each is small.
_MOST: Final = 512


class Answers:
    """Answers of rules, by document and facts.

    A proposal is judged when it comes in and again right before it begins. A rule that uses neither
    the time nor anything outside (a timeless one) answers the same if the document is the very same
    object and all other facts are equal.
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: OrderedDict[int, tuple[ProposalDocument, Facts, dict[str, RuleResult]]] = (
            OrderedDict()
        )

    def about(self, document: ProposalDocument, facts: Facts) -> dict[str, RuleResult]:
        """Return the answers known for this document and facts, by rule; callers add to them."""
        known = self._known.get(id(document))
        # The document is held here, so that no other one can have its id.
        if known is not None and known[0] is document and _same_but_for_the_time(known[1], facts):
            return known[2]
        answers: dict[str, RuleResult] = {}
        self._known[id(document)] = (document, facts, answers)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return answers


def _same_but_for_the_time(one: Facts, other: Facts) -> bool:
    return (
        one.tool is other.tool
        and one.tier is other.tier
        and one.proposer == other.proposer
        and one.spent == other.spent
        and one.evidence == other.evidence
        and one.executing == other.executing
        and one.started_in == other.started_in
    )
