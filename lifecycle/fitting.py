"""Whether a stored row still is what was proposed: bytes, digests, and the columns beside them."""

from __future__ import annotations

import orjson

from lifecycle.canonical import canonical_bytes, digest_of, s256
from lifecycle.document import ProposalDocument
from lifecycle.proposal import Proposal


def fits_its_digest(proposal: Proposal) -> bool:
    """Say whether the stored bytes still are what was digested, and the columns what they say.

    The R3 document is judged with them: it is what an agent's parameters are compared with.
    """
    return proposal.fits(_fits)


def _fits(proposal: Proposal) -> bool:
    if proposal.masked or digest_of(proposal.document) != proposal.digest:
        return False
    try:
        return _says_the_same(proposal, proposal.read())
    except (ValueError, TypeError, KeyError):
        return False  # with digests to match, somebody wrote there what no document is


def _says_the_same(proposal: Proposal, document: ProposalDocument) -> bool:
    return (
        document.proposal_id == proposal.proposal_id
        and document.actor == proposal.actor.id
        and document.tool in (None, proposal.tool)
        and s256(proposal.r3_document) == proposal.r3_s256
        and _r3_parameters(proposal) == canonical_bytes(document.parameters)
    )


def _r3_parameters(proposal: Proposal) -> bytes:
    return canonical_bytes(orjson.loads(proposal.r3_document)["parameters"])
