"""Whatever comes to the gate is accepted or refused, each time alike, and never loosened."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.gate import Accepted, accept
from lifecycle.tier import Tier
from tests.builders import MAIL, a_document
from tests.lifecycle.at_the_gate import POLICY, faults_of

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = (
    sorted(MAIL)
    + """
    time_window risk_envelope preconditions evidence_bindings rollback_semantics binding task_id
    request_id tool_call params proposal evidence
""".split()
)


def outcome_of(document: dict[str, Any]) -> Accepted | tuple[Fault, ...]:
    try:
        return accept(document, POLICY)
    except Refused as refused:
        return refused.faults


@example({"proposal": {}, "note": float(2**53)})
@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=6), JSON, max_size=6))
@settings(max_examples=150)
def test_any_object_is_accepted_or_refused_and_nothing_else(changes: dict[str, Any]) -> None:
    assert outcome_of(changes)
    assert outcome_of(MAIL | changes)


@given(JSON, st.sampled_from(["none", "single", "dual", None]), st.text(max_size=20))
@settings(max_examples=60)
def test_the_gate_is_deterministic_and_never_loosens(
    note: Any, asked: str | None, justification: str
) -> None:
    document = a_document(
        parameters=MAIL["parameters"] | {"note": note},
        approval_class=asked,
        justification=justification,
    )
    first = outcome_of(document)
    assert outcome_of(dict(reversed(document.items()))) == first
    if not isinstance(first, Accepted):
        return
    assert first.tier in (Tier.PROPOSE, Tier.CONFIRM)
    assert first.quorum >= 1
    assert first.window_s >= 900


@pytest.mark.parametrize("tool", [MAIL["tool"], None])
@pytest.mark.parametrize("part", ["target", "action_type", "task_id"])
@pytest.mark.parametrize("value", [None, 5, {}, []])
def test_thousands_of_unknown_fields_are_refused_with_the_first_whatever_else_is_wrong(
    part: str, value: Any, tool: str | None
) -> None:
    """The tool was compared with a target that nobody had judged, and the gate failed."""
    many = {f"x{number:04}": 1 for number in range(5_000)}
    faults = faults_of(a_document(**{part: value}, tool=tool) | many)
    assert faults == [("unknown_field", f"x{number:04}") for number in range(32)]
