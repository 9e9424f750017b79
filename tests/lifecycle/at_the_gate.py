"""What the tests of the gate begin with: its policy, what it accepts and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.errors import Refused
from lifecycle.first_gate.gate import Accepted, accept
from lifecycle.policy import ActionType
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_document, a_policy, a_tool, the_tools

POLICY = a_policy()


def accepted(base: dict[str, Any] = MAIL, /, **changes: Any) -> Accepted:
    return accept(a_document(base, **changes), POLICY)


def faults_of(document: dict[str, Any], policy: Any = POLICY) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as caught:
        accept(document, policy)
    return [(fault.code, fault.path) for fault in caught.value.faults]


def with_tool(**changes: Any) -> Any:
    tool = a_tool("probe", Tier.AUTO, ActionType.EXECUTE, **changes)
    return a_policy(tools=the_tools() | {"probe": tool})


def probe(**changes: Any) -> dict[str, Any]:
    return a_document(PROD, tool="probe", **changes)
