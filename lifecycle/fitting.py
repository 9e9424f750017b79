"""Judges whether a row still is what was proposed: its bytes, its digests, and its columns."""

from __future__ import annotations

import orjson

from lifecycle.canonical import canonical_bytes, digest_of, s256
from lifecycle.document import ProposalDocument
from lifecycle.proposal import Proposal


def fits_its_digest(proposal: Proposal) -> bool:
    """Return whether the stored bytes fit their digest, and the columns the bytes; False if masked.

    The R3 document is compared too: an agent's parameters are compared with it.
    """
    return proposal.fits(_fits)


def _fits(proposal: Proposal) -> bool:
    if proposal.masked or digest_of(proposal.document) != proposal.digest:
        return False
    try:
        return _says_the_same(proposal, proposal.read())
    except (ValueError, TypeError, KeyError):
        return False  # somebody wrote what is no document, with digests that match it


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
