"""Mistakes in what a config says of the rules of Sentinel."""

from __future__ import annotations

#: what is exchanged, for what, the key that is named, a piece of the sentence
IN_RULES = {
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
    "misspelt rule": (
        "  secrets_absent: {level: hard}\n",
        "  secret_absent: {level: hard}\n",
        "sentinel.secret_absent",
        "Did you mean secrets_absent?",
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
    "misspelt level": (
        "secrets_absent: {level: hard}",
        "secrets_absent: {levle: hard}",
        "sentinel.secrets_absent.levle",
        'needs a level: hard, soft or advisory; did you mean "level"?',
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
    "root with two slashes": (
        "roots: {}",
        'roots: {staging-deploy: "//srv/work"}',
        "sentinel.blast_radius_bounded.roots.staging-deploy",
        "must be an absolute, plain path",
    ),
    "root that climbs": (
        "roots: {}",
        'roots: {staging-deploy: "/srv/../work"}',
        "sentinel.blast_radius_bounded.roots.staging-deploy",
        "must be an absolute, plain path",
    ),
    "root that is a number": (
        "roots: {}",
        "roots: {staging-deploy: 7}",
        "sentinel.blast_radius_bounded.roots.staging-deploy",
        "should be a valid string",
    ),
    "root of everything": (
        "roots: {}",
        'roots: {staging-deploy: "/"}',
        "sentinel.blast_radius_bounded.roots.staging-deploy",
        "the root / holds everything",
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
    "rule that is most like one that stands there": (
        "secrets_absent: {level: hard}",
        "secrets_absent: {level: hard}\n  secrets_absnt: {level: hard}",
        "sentinel.secrets_absnt",
        "Remove it, or install the package that brings it.",
    ),
    "rule whose package is gone": (
        "  secrets_absent: {level: hard}\n",
        "  secrets_absent: {level: hard}\n  quarter_end_quiet: {level: hard}\n",
        "sentinel.quarter_end_quiet",
        "Remove it, or install the package that brings it.",
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
    "freeze in digits, which are seconds since 1970": (
        "freezes: []",
        "freezes: [{from: '20261224', until: '20261227'}]",
        "sentinel.change_window_open.freezes[0].until",
        "write date, time and offset",
    ),
    "freeze in more digits, which are milliseconds": (
        "freezes: []",
        "freezes: [{from: '20261224000000', until: '20261227000000'}]",
        "sentinel.change_window_open.freezes[0].from",
        "write date, time and offset",
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
}
