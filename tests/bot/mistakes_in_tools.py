"""Mistakes in what a config says of tools: tiers, kinds, quorums, windows, shapes, addresses."""

from __future__ import annotations

SEARCH = "search: {tier: AUTO, action_type: read, kind: command,"
REFUND = "issue-refund: {tier: CONFIRM, action_type: transact, roles: [writer], kind: agent}"

#: what is exchanged, for what, the key that is named, a piece of the sentence
IN_TOOLS = {
    "misspelt key of a tool": (
        "    window_s: 900",
        "    windows: 900",
        "tools.send-email.windows",
        'did you mean "window_s"?',
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
    "tier in small letters": (
        "tier: AUTO,",
        "tier: auto,",
        "tools.search.tier",
        '"auto" is not known here; did you mean "AUTO"?',
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
    "tool without kind, with keys of one": (
        "    kind: email\n",
        '    class: "our_tools.crm:UpdateContact"\n    options: {region: eu}\n',
        "tools.send-email",
        "send-email needs a kind (email, webhook, command, python, agent)",
    ),
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
        'no person has the group "aprovers"; did you mean "approvers"?',
    ),
    "reviewers nobody is in, where no quorum is needed": (
        f"{SEARCH} execute",
        f"{SEARCH} reviewers: aprovers, execute",
        "tools.search.reviewers",
        'did you mean "approvers"?',
    ),
    "sender of mails that is no address": (
        "    effects: [email]",
        "    smtp: {host: mail.shop.example, from: agents}",
        "tools.send-email.smtp.from",
        "a mail address alone is needed",
    ),
    "sender of mails with a name": (
        "    effects: [email]",
        "    from: Agents <agents@shop.example>",
        "tools.send-email.from",
        "a mail address alone is needed",
    ),
    "mails handed over to nowhere": (
        "    effects: [email]",
        "    smtp: {host: '', from: agents@shop.example}",
        "tools.send-email.smtp.host",
        "the name or address of one host",
    ),
    "TLS from the first byte and later": (
        "    effects: [email]",
        "    smtp: {host: m.example, from: a@shop.example, tls: true, start_tls: true}",
        "tools.send-email.smtp.start_tls",
        "keep one of them",
    ),
    "a password of nobody": (
        "    effects: [email]",
        "    smtp: {host: m.example, from: a@shop.example, password_env: SMTP_PASSWORD}",
        "tools.send-email.smtp",
        "username_env and password_env: write both, or neither",
    ),
    "a user without a password": (
        "    effects: [email]",
        "    smtp: {host: m.example, from: a@shop.example, username_env: SMTP_USER}",
        "tools.send-email.smtp",
        "username_env and password_env: write both, or neither",
    ),
    "tool id of dots": (SEARCH, SEARCH.replace("search", '".."'), "tools", "dots alone are no id"),
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
    "negative time": ("timeout_s: 10", "timeout_s: -10", "tools.search.timeout_s", "at least 1"),
    "URL of another scheme": (
        "http://127.0.0.1:9000/deploy",
        "file:///etc/passwd",
        "tools.production-deploy.url",
        "begins with http",
    ),
    "URL of a host that is no name": (
        "http://127.0.0.1:9000/deploy",
        "https://xn--ls8h.example/deploy",
        "tools.production-deploy.url",
        "no name that there can be",
    ),
    "URL of a host with a letter that no name has": (
        "http://127.0.0.1:9000/deploy",
        "https://☃.example/deploy",
        "tools.production-deploy.url",
        "no name that there can be",
    ),
    "URL of another scheme that names a host": (
        "http://127.0.0.1:9000/deploy",
        "ftp://deploy.example/deploy",
        "tools.production-deploy.url",
        "begins with http",
    ),
    "URL without a host": (
        "http://127.0.0.1:9000/deploy",
        "http:///deploy",
        "tools.production-deploy.url",
        "names a host",
    ),
    "window of more than a week": (
        "    window_s: 900",
        "    window_s: 604801",
        "tools.send-email.window_s",
        "at most 604800",
    ),
    "window of no time": (
        "    window_s: 900",
        "    window_s: 0",
        "tools.send-email.window_s",
        "at least 1",
    ),
    "one role twice": (
        "    roles: [writer]\n    reviewers",
        "    roles: [writer, writer]\n    reviewers",
        "tools.send-email.roles",
        "stands here twice",
    ),
    "call of more than an hour": (
        "timeout_s: 10",
        "timeout_s: 3601",
        "tools.search.timeout_s",
        "at most 3600",
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
    "a target that can never be named": (
        "    effects: [email]",
        "    match: {domain: ''}",
        "tools.send-email.match.domain",
        "no blanks around it",
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
}
