"""Where a config says nothing, or only a part, the policy is the careful one that the page tells;
and who counts as able to propose is who authority lets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.config import ConfigInvalid, load_config
from lifecycle.policy import (
    ApprovalClass,
    Limits,
    Safety,
    Sensitivity,
)

Write = Callable[..., Path]
LIMITS = "limits:\n  proposal_ttl_s: 86400\n  rate: {read: 60, write: 10, destructive: 2}\n"
RATES = {Safety.READ: 60, Safety.WRITE: 10, Safety.DESTRUCTIVE: 2}


@pytest.mark.parametrize("said", ["", "limits: {}\n", "limits: {rate: {}}\n"])
def test_limits_that_nobody_wrote_are_those_of_the_page(write_config: Write, said: str) -> None:
    assert load_config(write_config((LIMITS, said))).policy.limits == Limits()
    assert Limits() == Limits(86_400, 3_600, 600, 604_800, RATES)


@pytest.mark.parametrize("safety", Safety)
def test_a_rate_of_one_class_leaves_the_others_as_they_are(
    write_config: Write, safety: Safety
) -> None:
    said = f"limits: {{rate: {{{safety.value}: 1}}}}\n"

    assert load_config(write_config((LIMITS, said))).policy.limits.rate == RATES | {safety: 1}


def test_a_tool_of_which_little_is_said_has_no_window_no_quorum_and_no_second_call(
    write_config: Write,
) -> None:
    tool = load_config(write_config()).policy.tools["issue-refund"]

    assert (tool.quorum_class, tool.quorum_required) == (ApprovalClass.NONE, 0)
    assert (tool.window_s, tool.reversible, tool.deferred, tool.idempotent) == (
        None,
        False,
        False,
        False,
    )
    assert (tool.reviewers, tool.timeout_s, tool.rate) == ("approvers", 30, None)
    assert (tool.safety, tool.sensitivity) == (Safety.WRITE, Sensitivity.NONE)


def test_a_person_and_an_agent_of_whom_nothing_is_said_may_do_little(write_config: Write) -> None:
    config = load_config(
        write_config(("people:\n", "people:\n  zoe: {}\n"), ("agents:\n", "agents:\n  rex: {}\n"))
    )
    zoe, rex = config.policy.people["zoe"], config.policy.agents["rex"]

    for each in (zoe, rex):
        assert (each.accounts, each.roles, each.attributes) == ({}, frozenset(), {})
        assert (each.open_limit, each.terminal) == (10, False)
    assert zoe.groups == frozenset()
    assert (rex.owner, rex.token_env, rex.callback_url) == (None, None, None)


@pytest.mark.parametrize(
    ("safety", "sensitivity", "roles"),
    [
        ("read", "none", "[]"),
        ("write", "none", "[writer]"),
        ("write", "none", "[admin]"),
        ("destructive", "none", "[admin]"),
        ("read", "secrets", "[secrets_reader]"),
        ("write", "secrets", "[secrets_reader, writer]"),
    ],
)
def test_an_owner_who_would_be_the_last_reviewer_is_refused_whatever_lets_the_agent_propose(
    write_config: Write, safety: str, sensitivity: str, roles: str
) -> None:
    tool = (
        f"  vault: {{tier: CONFIRM, action_type: write, safety: {safety}, kind: agent, "
        f"sensitivity: {sensitivity}, quorum: {{class: dual}}}}\n"
    )
    agent = f"  rex: {{owner: ben, roles: {roles}}}\n"
    path = write_config(("tools:\n", f"tools:\n{tool}"), ("agents:\n", f"agents:\n{agent}"))

    with pytest.raises(ConfigInvalid, match=r"agents.rex.owner: ben owns rex .* vault"):
        load_config(path)
