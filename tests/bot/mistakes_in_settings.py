"""Mistakes in the rest of a config: who is who, where people meet, limits, secrets, database."""

from __future__ import annotations

#: what is exchanged, for what, the key that is named, a piece of the sentence
IN_SETTINGS = {
    "misspelt top-level key": (
        "solo_operator: false",
        "solo_operater: false",
        "solo_operater",
        'did you mean "solo_operator"?',
    ),
    "misspelt key of a person": (
        "    terminal: true\n    groups",
        "    terminals: true\n    groups",
        "people.ana.terminals",
        'did you mean "terminal"?',
    ),
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
    "agent id of dots": ("  nour: {disc", '  "..": {disc', "agents", "dots alone are no id"),
    "person id of dots": ("  cal: {disc", '  "..": {disc', "people", "dots alone are no id"),
    "group that is called and nobody is in": (
        "  approvers: {discord_role",
        "  aprovers: {discord_role",
        "groups.aprovers",
        'no person has the group "aprovers"; did you mean "approvers"?',
    ),
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
    "negative limit": (
        "proposal_ttl_s: 86400",
        "proposal_ttl_s: -1",
        "limits.proposal_ttl_s",
        "at least 1",
    ),
    "negative rate": ("write: 10", "write: -10", "limits.rate.write", "at least 1"),
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
    "no database": (
        "sqlite:///data/signoff.db",
        "sqlite://",
        "database",
        "write sqlite:///data/signoff.db",
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
