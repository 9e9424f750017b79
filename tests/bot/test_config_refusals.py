"""A config that does not say what it means is refused with file, line, key and a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import ConfigInvalid, load_config

SEARCH = "search: {tier: AUTO, action_type: read, kind: command,"
REFUND = "issue-refund: {tier: CONFIRM, action_type: transact, roles: [writer], kind: agent}"

#: what is exchanged, for what, the key that is named, a piece of the sentence
REFUSALS = {
    "misspelt top-level key": (
        "solo_operator: false",
        "solo_operater: false",
        "solo_operater",
        'did you mean "solo_operator"?',
    ),
    "misspelt key of a tool": (
        "    window_s: 900",
        "    windows: 900",
        "tools.send-email.windows",
        'did you mean "window_s"?',
    ),
    "misspelt key of a person": (
        "    terminal: true\n    groups",
        "    terminals: true\n    groups",
        "people.ana.terminals",
        'did you mean "terminal"?',
    ),
    "key of another kind": (
        "    kind: email\n",
        "    kind: email\n    url: http://x.example/\n",
        "tools.send-email.url",
        "there is no such key",
    ),
    "unknown tier": (
        "tier: AUTO,",
        "tier: AUTOMATIC,",
        "tools.search.tier",
        '"AUTOMATIC" is not known here; did you mean "AUTO"?',
    ),
    "unknown kind": (
        "kind: webhook",
        "kind: webhok",
        "tools.production-deploy.kind",
        'did you mean "webhook"?',
    ),
    "unknown action type": (
        "action_type: communicate",
        "action_type: mail",
        "tools.send-email.action_type",
        "not known here",
    ),
    "tool without kind": ("    kind: email\n", "", "tools.send-email", "send-email needs a kind"),
    "BLOCK tool re-tiered": (
        "financial-transfer: {tier: BLOCK, action_type: transact}",
        "financial-transfer: {tier: CONFIRM, action_type: transact, kind: agent}",
        "tools.financial-transfer.tier",
        "financial-transfer is always BLOCK",
    ),
    "BLOCK tool re-tiered by its absence": (
        "financial-transfer: {tier: BLOCK, action_type: transact}",
        "legal-action: {tier: AUTO, action_type: execute, kind: agent}",
        "tools.legal-action.tier",
        "legal-action is always BLOCK",
    ),
    "PROPOSE cannot roll back": (
        '    roll_back: ["true"]\n',
        "",
        "tools.staging-deploy.tier",
        "staging-deploy is PROPOSE but cannot roll back",
    ),
    "agent kind as PROPOSE": (
        REFUND,
        REFUND.replace("CONFIRM", "PROPOSE"),
        "tools.issue-refund.tier",
        "kind agent never can",
    ),
    "window that cannot roll back": (
        "    safety: destructive",
        "    window_s: 60",
        "tools.production-deploy.window_s",
        "cannot roll back",
    ),
    "reviewers nobody is in": (
        "    reviewers: approvers",
        "    reviewers: aprovers",
        "tools.send-email.reviewers",
        "nobody may review send-email",
    ),
    "quorum above the group": (
        "quorum: {class: single}",
        "quorum: {class: threshold, required: 3}",
        "tools.production-deploy.quorum",
        "needs 3 approvals",
    ),
    "threshold without a number": (
        "quorum: {class: single}",
        "quorum: {class: threshold}",
        "tools.production-deploy.quorum",
        "class threshold needs required: N",
    ),
    "unknown quorum class": (
        "quorum: {class: single}",
        "quorum: {class: singel}",
        "tools.production-deploy.quorum.class",
        'did you mean "single"?',
    ),
    "auto-approval of CONFIRM": (
        "tiers: [PROPOSE]",
        "tiers: [PROPOSE, CONFIRM]",
        "auto_approval.tiers[1]",
        "auto-approval is for PROPOSE alone",
    ),
    "auto-approval by nobody": ("by: nour", "by: noor", "auto_approval.by", 'did you mean "nour"?'),
    "auto-approval by a person": ("by: nour", "by: ana", "auto_approval.by", '"ana" is a person'),
    "unknown owner": ("owner: olga", "owner: olgar", "agents.leila.owner", 'did you mean "olga"?'),
    "two people, one account": (
        'ben: {discord: "1002"',
        'ben: {discord: "1001"',
        "people.ben.discord",
        "belongs to people.ana already",
    ),
    "agent with a person's account": (
        'nour: {discord: "912"',
        'nour: {discord: "1001"',
        "agents.nour.discord",
        "belongs to people.ana already",
    ),
    "agent with a person's id": (
        "  nour: {disc",
        "  cal: {disc",
        "agents.cal",
        "stands under people already",
    ),
    "agent id with a blank": ("  nour: {disc", '  "no ur": {disc', 'agents["no ur"]', "1 to 64 of"),
    "agent id too long": ("  nour: {disc", f"  {'n' * 65}: {{disc", "agents", "1 to 64 of"),
    "Discord account that is a mention": (
        'discord: "1005"',
        'discord: "<@1005>"',
        "people.olga.discord",
        "digits only",
    ),
    "Discord account without quotes": (
        'discord: "1005"',
        "discord: 1005",
        "people.olga.discord",
        "write it in quotes",
    ),
    "Slack account that is a name": (
        "user: UBEN",
        "user: ben",
        "people.ben.slack.user",
        "never a name",
    ),
    "Discord channel that is a name": (
        'channel: "701"',
        'channel: "#ops"',
        "chat.discord.channel",
        "digits only",
    ),
    "Slack channel that is a name": (
        "channel: C0OPS",
        'channel: "#ops"',
        "chat.slack.channel",
        "never a name",
    ),
    "missing rule": (
        "  secrets_absent: {level: hard}\n",
        "",
        "sentinel",
        "the rule secrets_absent is missing",
    ),
    "rule that is empty": (
        "secrets_absent: {level: hard}",
        "secrets_absent:",
        "sentinel.secrets_absent",
        "must be a mapping",
    ),
    "bad level": (
        "secrets_absent: {level: hard}",
        "secrets_absent: {level: harder}",
        "sentinel.secrets_absent.level",
        'did you mean "hard"?',
    ),
    "no level": (
        "secrets_absent: {level: hard}",
        "secrets_absent: {}",
        "sentinel.secrets_absent",
        "needs a level",
    ),
    "rule about no tool": (
        "targets: {staging-deploy:",
        "targets: {staging-deplay:",
        "sentinel.deploy_target_allowed.targets.staging-deplay",
        'did you mean "staging-deploy"?',
    ),
    "root of no tool": (
        "roots: {}",
        "roots: {delete: /srv}",
        "sentinel.blast_radius_bounded.roots.delete",
        "not under tools",
    ),
    "hours of no tool": (
        "    hours: {}",
        '    hours: {deploy: {zone: UTC, days: [mon], from: "08:00", to: "18:00"}}',
        "sentinel.change_window_open.hours.deploy",
        "not under tools",
    ),
    "misspelt setting of a rule": (
        "domains: [shop.example]",
        "domain: [shop.example]",
        "sentinel.recipients_allowed",
        "domains",
    ),
    "pattern that is no RE2": (
        "patterns: []",
        'patterns: ["(?<!a)b"]',
        "sentinel.prohibited_content.patterns",
        "prohibited_content",
    ),
    "amount that is a number": (
        'per_action: {USD: "10000.00"}',
        "per_action: {USD: 10000.00}",
        "sentinel.amount_within_limit.per_action",
        "amount_within_limit",
    ),
    "rule that nobody knows": (
        "secrets_absent: {level: hard}",
        "secrets_absent: {level: hard}\n  secrets_absnt: {level: hard}",
        "sentinel.secrets_absnt",
        "secrets_absent",
    ),
    "negative limit": (
        "proposal_ttl_s: 86400",
        "proposal_ttl_s: -1",
        "limits.proposal_ttl_s",
        "at least 1",
    ),
    "negative rate": ("write: 10", "write: -10", "limits.rate.write", "at least 1"),
    "negative time": ("timeout_s: 10", "timeout_s: -10", "tools.search.timeout_s", "at least 1"),
    "number that is text": (
        "open_limit: 10",
        'open_limit: "10"',
        "agents.leila.open_limit",
        "whole number",
    ),
    "truth that is a number": (
        "solo_operator: false",
        "solo_operator: 0",
        "solo_operator",
        "true or false",
    ),
    "secret instead of its name": (
        "permit_secret_env: SIGNOFF_PERMIT_SECRET",
        "permit_secret_env: s3cr3t-v4lu3",
        "permit_secret_env",
        "never the secret itself",
    ),
    "token instead of its name": (
        "token_env: DISCORD_TOKEN",
        "token_env: MTk4NjIyNDgz.Cl2FMQ",
        "chat.discord.token_env",
        "never the secret itself",
    ),
    "unknown surface": (
        "  terminal: {enabled: auto}",
        "  teams: {enabled: auto}",
        "chat.teams",
        "there is no such key",
    ),
    "switch that is no switch": (
        "{enabled: auto}",
        "{enabled: maybe}",
        "chat.terminal.enabled",
        "auto, true or false",
    ),
    "PostgreSQL": (
        "sqlite:///data/signoff.db",
        "postgresql://u:hunter2@db/x",
        "database",
        "PostgreSQL is not there yet",
    ),
    "database in memory without quotes": (
        "sqlite:///data/signoff.db",
        "memory:",
        "",
        'in quotes, as in database: "memory:"',
    ),
    "number without end": (
        "proposal_ttl_s: 86400",
        "proposal_ttl_s: .inf",
        "limits.proposal_ttl_s",
        "in decimal digits, finite",
    ),
    "number that is far too long": (
        "proposal_ttl_s: 86400",
        f"proposal_ttl_s: {'9' * 5000}",
        "limits.proposal_ttl_s",
        "in decimal digits, finite and shorter",
    ),
    "rule whose package is gone": (
        "  secrets_absent: {level: hard}\n",
        "  secrets_absent: {level: hard}\n  quarter_end_quiet: {level: hard}\n",
        "sentinel.quarter_end_quiet",
        "Remove it, or install its package.",
    ),
    "no database": (
        "sqlite:///data/signoff.db",
        "sqlite://",
        "database",
        "write sqlite:///data/signoff.db",
    ),
    "URL of another scheme": (
        "http://127.0.0.1:9000/deploy",
        "file:///etc/passwd",
        "tools.production-deploy.url",
        "begins with http",
    ),
    "URL with a password": (
        "http://127.0.0.1:9000/deploy",
        "http://u:hunter2@127.0.0.1/",
        "tools.production-deploy.url",
        "no user and no password",
    ),
    "empty command": (
        f'{SEARCH} execute: ["true"]',
        f"{SEARCH} execute: []",
        "tools.search.execute",
        "a list of words",
    ),
    "command as one text": (
        f'{SEARCH} execute: ["true"]',
        f"{SEARCH} execute: rm -rf",
        "tools.search.execute",
        "must be a list",
    ),
    "bad JSON Schema": (
        "    effects: [email]",
        "    parameters: {type: strin}",
        "tools.send-email.parameters.type",
        "no JSON Schema",
    ),
    "schema that reads elsewhere": (
        "    effects: [email]",
        "    parameters: {$ref: 'http://x.example/s'}",
        'tools.send-email.parameters["$ref"]',
        "nothing is fetched",
    ),
    "pattern in a schema that could run for ever elsewhere": (
        "    effects: [email]",
        "    parameters: {properties: {to: {pattern: '(?=a)b'}}}",
        "tools.send-email.parameters.properties.to.pattern",
        "RE2 cannot read",
    ),
    "keyword whose patterns backtrack": (
        "    effects: [email]",
        "    parameters: {patternProperties: {'^(a+)+$': {}}, unevaluatedProperties: false}",
        "tools.send-email.parameters.unevaluatedProperties",
        "not served",
    ),
    "mail that is no communication": (
        "action_type: communicate",
        "action_type: write",
        "tools.send-email.action_type",
        "a tool of kind email is communicate",
    ),
    "rate over more than is remembered": (
        "    safety: destructive",
        "    rate: {count: 1, per_s: 604800}",
        "tools.production-deploy.rate.per_s",
        "write at most 86400",
    ),
    "trusted source that is misspelt": (
        "trusted_sources: [crm-sensor]",
        "trusted_sources: [crm-sensor, crm-sensr]",
        "sentinel.preconditions_hold.trusted_sources[1]",
        'did you mean "crm-sensor"?',
    ),
    "trusted source that is an agent": (
        "trusted_sources: [crm-sensor]",
        "trusted_sources: [leila]",
        "sentinel.preconditions_hold.trusted_sources[0]",
        "not under sources",
    ),
    "freeze of no tool": (
        "freezes: []",
        "freezes: [{from: 2026-12-24T00:00:00Z, until: 2026-12-27T00:00:00Z, tools: []}]",
        "sentinel.change_window_open.freezes[0]",
        "leave `tools` out to freeze all",
    ),
    "target that is nothing": (
        "[staging.shop.example]",
        '[""]',
        "sentinel.deploy_target_allowed.targets.staging-deploy[0]",
        "the name of a place",
    ),
    "target that is an address": (
        "[staging.shop.example]",
        '["https://staging.shop.example"]',
        "sentinel.deploy_target_allowed.targets.staging-deploy[0]",
        "write what stands in target.domain",
    ),
    "limit of a day alone": (
        'per_agent_day: {USD: "25000.00"}',
        'per_agent_day: {USD: "25000.00", EUR: "5.00"}',
        "sentinel.amount_within_limit.per_agent_day",
        "EUR has no limit in per_action",
    ),
    "limit of an action alone": (
        'per_agent_day: {USD: "25000.00"}',
        "per_agent_day: {}",
        "sentinel.amount_within_limit.per_agent_day",
        "USD has no limit in per_agent_day",
    ),
    "zone of this machine": (
        "    hours: {}",
        '    hours: {search: {zone: localtime, days: [mon], from: "08:00", to: "18:00"}}',
        "sentinel.change_window_open.hours.search.zone",
        "another zone on every machine",
    ),
    "pattern that is nothing": (
        "patterns: []",
        'patterns: ["fine", ""]',
        "sentinel.prohibited_content.patterns[1]",
        "finds something in every text",
    ),
    "pattern that finds anything": (
        "patterns: []",
        'patterns: ["x*"]',
        "sentinel.prohibited_content.patterns[0]",
        "finds something in every text",
    ),
    "key twice": ("  cal: {disc", "  ben: {disc", "people.ben", "stands in line 11 already"),
    "key that is no text": ("  cal: {disc", "  17: {disc", "people", "no text"),
    "section that is a list": (
        "sources:\n  crm-sensor: {token_env: SIGNOFF_TOKEN_CRM_SENSOR, terminal: true}",
        "sources: []",
        "sources",
        "must be a mapping",
    ),
}


@pytest.mark.parametrize(("old", "new", "key", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_mistake_is_named_with_file_line_key_and_remedy(
    write_config, old: str, new: str, key: str, words: str
) -> None:
    path = write_config((old, new))

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    named = [problem for problem in refused.value.problems if problem.key.startswith(key)]
    assert [problem for problem in named if words in problem.words], str(refused.value)
    assert all(problem.file == str(path) and problem.line > 0 for problem in named)
    assert "hunter2" not in str(refused.value)
    assert "s3cr3t-v4lu3" not in str(refused.value)
    assert "MTk4NjIyNDgz" not in str(refused.value)


def test_the_line_is_the_one_with_the_mistake(write_config) -> None:
    path = write_config(("    window_s: 900", "    windows: 900"))
    line = path.read_text().splitlines().index("    windows: 900") + 1

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert str(refused.value).startswith(f"{path}:{line}: tools.send-email.windows: ")


def test_all_mistakes_are_told_at_once(write_config) -> None:
    path = write_config(
        ("solo_operator: false", "solo_operater: false"),
        ("tier: AUTO,", "tier: AUTOMATIC,"),
        ("owner: olga", "owner: nobody"),
        ("  secrets_absent: {level: hard}\n", ""),
    )

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert len(refused.value.problems) == 4


def test_an_owner_among_the_reviewers_can_put_a_quorum_out_of_reach(write_config) -> None:
    path = write_config(
        ("owner: olga", "owner: ana"), ("quorum: {class: single}", "quorum: {class: dual}")
    )

    with pytest.raises(
        ConfigInvalid, match=r"agents.leila.owner: ana owns leila.*production-deploy"
    ):
        load_config(path)


def test_a_solo_operator_may_own_the_agent_and_review_it(write_config) -> None:
    path = write_config(
        ("owner: olga", "owner: ana"),
        ("quorum: {class: single}", "quorum: {class: dual}"),
        ("solo_operator: false", "solo_operator: true"),
    )

    assert load_config(path).policy.solo_operator


#: what is exchanged, for what is allowed all the same
ALLOWED = {
    "a rate over a whole day": ("    safety: destructive", "    rate: {count: 1, per_s: 86400}"),
    "a blocked tool that would mail": (
        "financial-transfer: {tier: BLOCK, action_type: transact}",
        "financial-transfer: {tier: BLOCK, action_type: transact, kind: email}",
    ),
    "a freeze of all tools": (
        "freezes: []",
        "freezes: [{from: 2026-12-24T00:00:00Z, until: 2026-12-27T00:00:00Z, tools: }]",
    ),
    "a target that is no host": ("[staging.shop.example]", "[eu-west/staging:2]"),
    "nobody trusted": ("trusted_sources: [crm-sensor]", "trusted_sources: []"),
    "no money at all": (
        'per_action: {USD: "10000.00"}\n    per_agent_day: {USD: "25000.00"}',
        "per_action: {}",
    ),
    "an hour in universal time": (
        "    hours: {}",
        '    hours: {search: {zone: Etc/GMT+1, days: [mon], from: "08:00", to: "18:00"}}',
    ),
    "a pattern of white space": ("patterns: []", "patterns: ['\\A\\s+\\z']"),
}


@pytest.mark.parametrize(("old", "new"), ALLOWED.values(), ids=ALLOWED.keys())
def test_what_only_looks_like_a_mistake_loads(write_config, old: str, new: str) -> None:
    assert load_config(write_config((old, new))).policy.digest


#: the whole file, and a piece of the sentence
FILES = {
    "empty": (b"", "the file is empty"),
    "only a comment": (b"# nothing\n", "the file is empty"),
    "not YAML": (b"people: [ana\ntools: {}\n", "this is not YAML"),
    "a list": (b"- people\n", "must be a mapping"),
    "not UTF-8": (b"people: {}\nx: \xff\n", "not UTF-8"),
    "too large": (b"# " + b"x" * 300_000, "larger than 256 KiB"),
    "nested without end": (b"people: " + b"[" * 50_000, "nested too deeply"),
    "an alias of itself": (b"people: &a [*a]\n", "unfolds to more than"),
    "a bomb of aliases": (
        b"a: &a [x, x, x, x, x, x, x, x, x]\n"
        + b"".join(
            b"%c: &%c [%s]\n" % (i + 1, i + 1, b", ".join([b"*%c" % i] * 9)) for i in b"abcdefgh"
        ),
        "unfolds to more than",
    ),
    "a tag that makes objects": (b"people: !!python/object:os.system {}\n", "is not read here"),
    "two documents": (b"people: {}\n---\npeople: {}\n", "not YAML"),
}


@pytest.mark.parametrize(("data", "words"), FILES.values(), ids=FILES.keys())
def test_what_is_no_config_is_refused_with_a_sentence(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(data)

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert words in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"absent\.yaml: there is no such file"):
        load_config(tmp_path / "absent.yaml")


@pytest.mark.parametrize("key", ["people", "agents", "tools", "sentinel"])
def test_a_missing_section_is_named(tmp_path: Path, key: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "".join(f"{k}: {{}}\n" for k in ("people", "agents", "tools", "sentinel") if k != key)
    )

    with pytest.raises(ConfigInvalid, match=f"the key {key} is missing"):
        load_config(path)
