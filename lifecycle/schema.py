"""The JSON Schema of a proposal, made from the model, for `schema/proposal.schema.json`."""

from __future__ import annotations

import json
from typing import Any, Final

from lifecycle.document import ProposalDocument
from lifecycle.first_gate.structure import BINDING_TYPES, OPERATORS
from lifecycle.policy import ApprovalClass

_ID: Final = {"type": "string", "pattern": r"^(?!\.+$)[A-Za-z0-9._-]{1,64}$"}


def proposal_schema() -> dict[str, Any]:
    """Return the schema (2020-12) of what an agent may send as a Proposal (design section 4).

    It says what the gate says where JSON Schema can; tools, evidence and time are judged there.
    """
    schema = ProposalDocument.model_json_schema(mode="validation")
    fields = schema["properties"]
    del fields["intent"]  # a KernelRequest's, kept to be shown
    fields["proposal_id"] |= _ID
    fields["actor"] |= _ID
    fields["ts_ms"] |= {"minimum": 1}
    fields["approval_class"] |= {"enum": [*(str(each) for each in ApprovalClass), None]}
    parts = schema["$defs"]
    parts["Precondition"]["properties"]["operator"] |= {"enum": list(OPERATORS)}
    parts["EvidenceBinding"]["properties"]["binding_type"] |= {"enum": list(BINDING_TYPES)}
    parts["EvidenceBinding"]["properties"]["evidence_id"] |= _ID
    parts["RollbackSemantics"]["properties"]["kind"] |= {
        "enum": ["deferred", "compensated", "none"]
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Proposal",
    }


def schema_text() -> str:
    """Return the shipped file's text."""
    return json.dumps(proposal_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
