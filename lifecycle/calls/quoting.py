"""What a tool was given and may not quote where people and agents read it (case M08)."""

from __future__ import annotations

from lifecycle.proposal import Proposal
from lifecycle.text.quoted_secrets import Secrets, secrets_in

_RULE = "secrets_absent"


def secrets_of(proposal: Proposal) -> Secrets:
    """Return the credentials that the proposal's tool is called with.

    There are none unless the rule has found some and let them pass; then its verdict says so, and
    nobody else waits for a search.
    """
    verdict = proposal.verdict
    if verdict is None or verdict.clean or proposal.masked:
        return ()
    if not any(each.findings for each in verdict.results if each.rule == _RULE):
        return ()
    try:
        document = proposal.read()
    except ValueError:
        return ()  # somebody changed the row, which is dealt with elsewhere
    return secrets_in([document.parameters, document.target.model_dump()])
