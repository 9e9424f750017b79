"""Judges whether a document that was accepted is one that its tool still takes by its config."""

from __future__ import annotations

from lifecycle.document import ProposalDocument
from lifecycle.errors import Fault
from lifecycle.first_gate.digest_values import digest_faults
from lifecycle.first_gate.parameter_shapes import parameter_faults
from lifecycle.first_gate.tool_choice import mismatches
from lifecycle.policy import ToolPolicy
from lifecycle.quorum import effective_tier
from lifecycle.windows import rollback_fault


def misfit(tool: ToolPolicy, document: ProposalDocument) -> Fault | None:
    """Return the first fault for which the gate would refuse the document for this tool now.

    It was accepted under the config of then. An operator who narrows `match` or `parameters`, or
    gives the tool another action type or kind, means what waits as well; and what was asked to be
    done only so that it can be taken back does not begin by a tool that cannot.
    """
    fields = {
        "action_type": document.action_type.value,
        "target": document.target.model_dump(mode="json"),
    }
    parameters, tier = document.parameters, effective_tier(tool, document)
    asked = document.rollback_semantics
    rollback = rollback_fault(tool, None if asked is None else asked.model_dump(mode="json"))
    faults = [*mismatches(tool, fields), *([] if rollback is None else [rollback])]
    faults += digest_faults(tool, tier, parameters)
    if not faults:
        faults += parameter_faults(tool, parameters)
    return faults[0] if faults else None
