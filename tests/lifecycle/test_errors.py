"""An error says something wherever the program runs."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT

SAYS = """
from lifecycle.errors import AmbiguousId, IllegalTransition, ProposalNotFound, StaleProposal

for kind in (AmbiguousId, IllegalTransition, ProposalNotFound, StaleProposal):
    print(kind())
"""


def test_an_error_says_its_code_where_python_keeps_no_docstrings() -> None:
    """With `python -OO` it said nothing at all."""
    words = [sys.executable, "-OO", "-c", SAYS]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)

    codes = ["ambiguous_id", "illegal_transition", "unknown_proposal", "already_decided"]
    assert said.stdout.splitlines() == codes
