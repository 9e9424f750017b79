"""Makes the JSON Schema of a proposal from the model, for `schema/proposal.schema.json`."""

from __future__ import annotations

import json
from typing import Any, Final

from lifecycle.document import ProposalDocument
from lifecycle.first_gate.structure import BINDING_TYPES, OPERATORS
from lifecycle.policy import ApprovalClass
from lifecycle.windows import COMPENSATED, DEFERRED, NONE

_ID: Final = {"type": "string", "pattern": r"^(?!\.+$)[A-Za-z0-9._-]{1,64}$"}
#: For readers who see the schema alone, such as the model of an agent.
_PROPOSAL: Final = "One action that an agent asks for. Rules check it, and people sign off."
_FIELDS: Final = {
    "proposal_id": "An id of its own; the same id again means the same proposal.",
    "ts_ms": "When it was written, in milliseconds since 1970, UTC; never an old time.",
    "actor": "Your own id, the one that the bot knows you by.",
    "tool": "The name of a tool, as the list of tools has it.",
    "justification": "Why this is wanted; people read it. A change needs 15 characters or more.",
    "evidence": "What speaks for it, in words; people read it, nobody has checked it.",
}
_PARTS: Final = {
    "ActionType": "What kind of action it is.",
    "Binding": "The normaliser and the policy that a plan was made under.",
    "Precondition": "What must be true in the evidence that it refers to.",
}


def proposal_schema() -> dict[str, Any]:
    """Return the schema (2020-12) of what an agent may send as a Proposal (design section 4).

    It says what the gate says as far as JSON Schema can; tools, evidence and time are judged there.
    """
    schema = ProposalDocument.model_json_schema(mode="validation")
    fields = schema["properties"]
    del fields["intent"]  # a KernelRequest's, kept to be shown
    fields["proposal_id"] |= _ID
    fields["actor"] |= _ID
    fields["ts_ms"] |= {"minimum": 1}
    fields["task_id"]["anyOf"][0] |= _ID
    fields["approval_class"] |= {"enum": [*(str(each) for each in ApprovalClass), None]}
    parts = schema["$defs"]
    parts["Precondition"]["properties"]["operator"] |= {"enum": list(OPERATORS)}
    # It may be absent here, which is V-PROP-013 later on; what stands there is an id.
    parts["Precondition"]["properties"]["evidence_ref"] |= _ID
    del parts["Precondition"]["properties"]["evidence_ref"]["default"]
    parts["RiskEnvelope"]["properties"]["max_affected_records"] |= {"minimum": 1}
    parts["TimeWindow"]["properties"]["max_duration_ms"] |= {"minimum": 1}
    parts["EvidenceBinding"]["properties"]["binding_type"] |= {"enum": list(BINDING_TYPES)}
    parts["EvidenceBinding"]["properties"]["evidence_id"] |= _ID
    parts["RollbackSemantics"]["properties"]["kind"] |= {"enum": [DEFERRED, COMPENSATED, NONE]}
    for told, into in ((_FIELDS, fields), (_PARTS, parts)):
        for name, words in told.items():
            into[name] |= {"description": words}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Proposal",
        "description": _PROPOSAL,
    }


def schema_text() -> str:
    """Return the shipped file's text."""
    return json.dumps(proposal_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
