"""What stands in the config stands in the policy: no key is read and then left out."""

from __future__ import annotations

from dataclasses import fields

import pytest

from bot.config import load_config
from lifecycle.policy import (
    ActionType,
    Agent,
    ApprovalClass,
    Limits,
    Person,
    Rate,
    Safety,
    Sensitivity,
    Source,
    ToolKind,
    ToolPolicy,
)
from lifecycle.tier import Tier

#: A tool that says everything, each time something else than where nothing is said.
TOOL = """  vault-write:
    tier: PROPOSE
    action_type: write
    kind: command
    match: {action_type: write, resource_type: secret, domain: vault.example}
    roles: [writer, admin]
    reviewers: operators
    window_s: 1200
    idempotent: true
    timeout_s: 77
    effects: [vault]
    safety: read
    sensitivity: secrets
    quorum: {class: threshold, required: 2}
    rate: {count: 3, per_s: 50}
    parameters: {type: object}
    constraints: [max_rows]
    execute: ["true"]
    roll_back: ["true"]
    commit: ["true"]
    env: [VAULT_TOKEN]
"""
SAID = ToolPolicy(
    name="vault-write",
    tier=Tier.PROPOSE,
    action_type=ActionType.WRITE,
    kind=ToolKind.COMMAND,
    match={"action_type": "write", "resource_type": "secret", "domain": "vault.example"},
    roles=frozenset({"writer", "admin"}),
    reviewers="operators",
    window_s=1200,
    reversible=True,
    deferred=True,
    idempotent=True,
    timeout_s=77,
    effects=("vault",),
    safety=Safety.READ,
    sensitivity=Sensitivity.SECRETS,
    quorum_class=ApprovalClass.THRESHOLD,
    quorum_required=2,
    rate=Rate(3, 50),
    parameters={"type": "object"},
    constraints=("max_rows",),
    settings={
        "execute": ["true"],
        "roll_back": ["true"],
        "commit": ["true"],
        "env": ["VAULT_TOKEN"],
    },
)
ZOE = """  zoe:
    discord: "1009"
    slack: {team: T1, user: UZOE}
    terminal: true
    groups: [approvers, operators]
    roles: [admin]
    attributes: {tenant: north}
    open_limit: 3
"""
REX = """  rex:
    discord: "919"
    slack: {team: T1, user: UREX}
    terminal: true
    token_env: REX_TOKEN
    callback_url: http://127.0.0.1:9009/told
    callback_secret_env: REX_SECRET
    roles: [reader]
    attributes: {tenant: north}
    owner: olga
    open_limit: 4
"""
EYE = """  eye:
    discord: "929"
    slack: {team: T1, user: UEYE}
    terminal: true
    token_env: EYE_TOKEN
"""
ACCOUNTS = {"zoe": ("1009", "T1/UZOE"), "rex": ("919", "T1/UREX"), "eye": ("929", "T1/UEYE")}


def accounts(name: str) -> dict[str, str]:
    return dict(zip(("discord", "slack"), ACCOUNTS[name], strict=True))


@pytest.mark.parametrize("said", [SAID], ids=lambda it: it.name)
def test_everything_that_a_tool_says_decides(write_config, said: ToolPolicy) -> None:
    two = ("people:\n", "people:\n" + ZOE)
    config = load_config(write_config(two, ("tools:\n", "tools:\n" + TOOL)))

    found = config.policy.tools[said.name]

    assert {f.name: getattr(found, f.name) for f in fields(ToolPolicy)} == {
        f.name: getattr(said, f.name) for f in fields(ToolPolicy)
    }
    silent = ToolPolicy("search", Tier.AUTO, ActionType.READ)
    unsaid = [
        f.name for f in fields(ToolPolicy) if getattr(said, f.name) == getattr(silent, f.name)
    ]
    assert unsaid == [], "the test says nothing of these"


def test_everything_that_is_said_of_people_agents_and_sources_decides(write_config) -> None:
    policy = load_config(
        write_config(
            ("people:\n", "people:\n" + ZOE),
            ("agents:\n", "agents:\n" + REX),
            ("sources:\n", "sources:\n" + EYE),
        )
    ).policy

    north = {"tenant": "north"}
    everywhere = frozenset({"approvers", "operators"})
    assert policy.people["zoe"] == Person(
        "zoe", accounts("zoe"), everywhere, frozenset({"admin"}), north, 3, terminal=True
    )
    assert policy.agents["rex"] == Agent(
        "rex",
        accounts("rex"),
        frozenset({"reader"}),
        north,
        owner="olga",
        open_limit=4,
        terminal=True,
        token_env="REX_TOKEN",
        callback_url="http://127.0.0.1:9009/told",
        callback_secret_env="REX_SECRET",
    )
    assert policy.sources["eye"] == Source(
        "eye", accounts("eye"), terminal=True, token_env="EYE_TOKEN"
    )


def test_every_limit_that_is_said_decides(write_config) -> None:
    limits = """limits:
  refusal_binds_s: 120
  clock_skew_s: 30
  longest_window_s: 7200
  proposal_ttl_s: 600
  rate: {read: 6, write: 5, destructive: 4}
solo_operator: true
"""
    whole = "limits:\n  proposal_ttl_s: 86400\n  rate: {read: 60, write: 10, destructive: 2}\n"
    changes = ((whole, limits), ("solo_operator: false\n", ""))

    policy = load_config(write_config(*changes)).policy

    rate = {Safety.READ: 6, Safety.WRITE: 5, Safety.DESTRUCTIVE: 4}
    assert policy.limits == Limits(
        proposal_ttl_s=600,
        refusal_binds_s=120,
        clock_skew_s=30,
        longest_window_s=7200,
        rate=rate,
    )
    assert policy.solo_operator
    assert (policy.orchestrator, policy.auto_approval_tiers) == ("nour", frozenset({Tier.PROPOSE}))


def test_the_values_of_a_schema_stay_what_was_written(write_config) -> None:
    said = "parameters: {enum: [1.5, -0.25, 9007199254740991, 1_000, yes, 2026-01-01, null, true]}"

    tool = load_config(write_config(("    effects: [email]", f"    {said}"))).policy.tools

    kept = [1.5, -0.25, 2**53 - 1, 1000, "yes", "2026-01-01", None, True]
    assert tool["send-email"].parameters == {"enum": kept}


@pytest.mark.parametrize("way", ["tls", "start_tls"])
def test_a_mail_server_may_be_spoken_to_in_either_way_that_nobody_reads(
    write_config, way: str
) -> None:
    smtp = f"kind: email\n    smtp: {{host: m.example, from: a@shop.example, {way}: true}}\n"

    tool = load_config(write_config(("kind: email\n", smtp))).policy.tools["send-email"]

    assert tool.settings["smtp"][way] is True
