"""Define the shapes of credentials: texts that are one wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

COMMAND_KIND: Final = "password of a command"
BASIC_KIND: Final = "basic credentials"
_BASIC: Final = r"(?i)\bbasic\s{1,8}(?P<secret>[a-z\d+/]{8,}+={0,2})"

#: Shapes that mean a credential wherever they stand. A group named `secret` narrows the span.
#: Every pattern starts at a literal or at the edge of a word, so that none is quadratic.
SHAPES: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "private key",
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?>(?:[^-]++|-(?!----END ))*)(?:-----END [A-Z0-9 ]{0,40}-----)?",
        ),
        (
            "JSON web token",
            # Anchored where the word begins: `eyJ-eyJ-…` must not be read from each `eyJ`.
            r"(?<![\w-])(?=[\w-]++\.[\w-]{4,}+\.)[\w-]*?"
            r"\b(?P<secret>eyJ[\w-]{5,}+\.[\w-]{4,}+\.[\w-]*+)",
        ),
        (
            "bearer token",
            r"(?i)\bbearer\s{1,8}(?P<secret>(?=[\w~+/=-]*[\d.~+/=_-]\w)[\w.~+/=-]{6,}+)",
        ),
        ("bearer token", r"(?i)\bbearer\s{1,8}(?P<secret>(?=[a-z.~+/_-]*[\d=])[\w.~+/=-]{6,}+)"),
        (BASIC_KIND, _BASIC),
        (
            "authorization header",
            # Bearer and Basic have shapes of their own; other words after the name are prose.
            r"(?i)\bauthorization\s{0,8}[:=]\s{0,8}[\"']?"
            r"(?:token|api-?key|key|bot|(?:sso|genie)-?key)"
            r"\s{1,8}(?P<secret>(?=[a-z.:~+/_-]*[\d=])[\w.:~+/=-]{8,}+)",
        ),
        (
            "signature in an address",
            # Such an address gives access to what it names in a cloud's store. Other signed links,
            # like one to unsubscribe from a newsletter, open nothing of ours.
            r"(?i)[?&;]x-(?:amz|goog)-signature=(?P<secret>[a-f\d]{32,}+)",
        ),
        (
            "signature in an address",
            r"(?i)\bsv=20\d\d-\d\d-\d\d[^\s\"'<>]{0,400}?[&;]sig=(?P<secret>[\w%+/~-]{20,}+={0,2})",
        ),
        (
            "password in an address",
            r"(?i)(?<![a-z\d+.-])[a-z][a-z\d+.-]*+://[^\s/:@\"'<>]*+:(?P<secret>[^\s/@\"'<>]++)@",
        ),
        (
            "token in an address",
            r"(?i)(?<![a-z\d+.-])(?:git\+)?https?://"
            r"(?P<secret>(?=[\w~+=-]*\d)(?=[\w~+=-]*[a-z])[\w~+=-]{10,}+)@",
        ),
        (
            COMMAND_KIND,
            r"\bsshpass\s{1,4}-p\s{0,4}[\"']?(?P<secret>[^\s\"'-][^\s\"']{1,200}+)",
        ),
        (
            "password of a statement",
            r"(?i)\b(?:identified\s{1,8}by|(?:with|set)\s{1,8}(?:encrypted\s{1,8})?password"
            r"(?:\s{0,8}=)?)\s{1,8}'(?P<secret>[^'\n]{1,200}+)'",
        ),
        ("AWS key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z\d]{16}\b"),
        ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z\d]{30,}+|github_pat_\w{22,}+)"),
        ("GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{20,}+"),
        ("Slack token", r"\bxox[a-z](?:-[A-Za-z\d]+)?-[\w-]{10,}+|\bxapp-\d-[\w-]{10,}+"),
        ("Slack webhook", r"\bhooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/-]{12,}+)"),
        ("Discord token", r"\b[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,}+"),
        ("Discord webhook", r"\bdiscord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[\w-]{20,}+)"),
        (
            "API key",
            # A word in an address may begin so, too (`sk-zimna-kolekcia-2026`). So a key of no
            # known make must have digits and capitals among its letters, or no hyphen.
            r"\bsk-(?:(?:ant|proj|svcacct)-(?=[\w-]{0,80}\d)[\w-]{20,}+|or-v\d-[\w-]{20,}+"
            r"|(?=[\w-]{0,80}\d)(?=[\w-]{0,80}[A-Z])[\w-]{20,}+|\w{20,}+(?!-))",
        ),
        (
            "payment key",
            r"\b[rsp]k_(?:live|test)_\w{8,}+|\bwhsec_[A-Za-z\d+/=]{16,}+"
            r"|\bsq0(?:csp|atp|idp)-[\w-]{22,}+",
        ),
        ("Google key", r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}+|\bGOCSPX-[\w-]{20,}+"),
        ("registry token", r"\bnpm_[A-Za-z\d]{36}|\bpypi-[\w-]{32,}+|\bhf_[A-Za-z\d]{30,}+"),
        ("mail key", r"\bSG\.[\w-]{16,}+\.[\w-]{16,}+"),
        # Without the name of its maker it looks like the checksum of any file.
        ("mail key", r"(?i:mailgun)[^\n]{0,80}?\b(?P<secret>key-[a-f\d]{32})\b"),
        ("mail key", r"\bapi:(?P<secret>key-[a-f\d]{32})\b"),
        ("mail key", r"\b[a-z\d]{32}-us\d{1,2}\b"),
        ("cloud token", r"\bdo[opr]_v1_[a-f\d]{32,}+|\bdapi[a-f\d]{32}\b"),
        ("shop token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F\d]{32}\b"),
        ("vault token", r"\bhv[sbr]\.[\w-]{20,}+"),
        ("Atlassian token", r"\bATATT3[\w=-]{20,}+"),
        ("tracker key", r"\blin_(?:api|oauth)_[A-Za-z\d]{30,}+"),
        ("secrets token", r"\bdp\.(?:pt|ct|sa|st|scim|audit)\.[\w.-]{20,}+"),
        ("telephony key", r"\bSK[a-f\d]{32}\b"),
        ("Telegram token", r"\b\d{8,10}:AA[\w-]{32,}+"),
        ("age key", r"\bAGE-SECRET-KEY-1[A-Z\d]{50,}+"),
    )
)

#: Commands: a name the text must hold, the option that gives a password, and the command with all
#: between it and the option. It is searched from the option back, so that a line with many names is
#: not read many times.
_COMMANDS: Final = (
    (
        ("curl",),
        re.compile(
            r"(?<=\s)(?:-u[\s=]{0,4}|(?:-[A-Za-z]{1,8}u|--user)[\s=]{1,4})"
            r"(?P<quote>[\"'])?[^\s:\"']{1,100}+:(?!//)"
            r"(?P<secret>(?(quote)[^\"'\n]{1,200}+|[^\s\"']{1,200}+))"
        ),
        re.compile(r"\bcurl\b[^\n]{0,300}\Z"),
    ),
    (
        ("mysql", "mariadb"),
        re.compile(
            r"(?<=\s)-p(?P<quote>[\"'])?"
            r"(?P<secret>(?(quote)[^\"'\n]{1,200}+|[^\s\"'-][^\s\"']{1,200}+))"
        ),
        # Options follow at once, or after a database; `mysql is slow -please …` is no command.
        re.compile(
            r"\b(?:mysql(?:dump|admin)?|mariadb(?:-dump|-admin)?)"
            r"(?=\s{1,4}(?:\w[\w.-]{0,63}\s{1,4})?(?:-|\Z))[^\n;|&]{0,200}\Z"
        ),
    ),
)
_FURTHEST_COMMAND: Final = 320


def typed_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of passwords given to a command: `curl -u pat:…`, `mysql -p…`."""
    for names, option, command in _COMMANDS:
        if any(name in text for name in names):
            for found in option.finditer(text):
                before = text[max(0, found.start() - _FURTHEST_COMMAND) : found.start()]
                if command.search(before):
                    yield found.span("secret")


#: A text of such a shape holds one of these; looking for them first spares most texts the pattern.
HOLDS: Final[dict[str, tuple[str, ...]]] = {
    "private key": ("-----BEGIN ",),
    "JSON web token": ("eyJ",),
    "AWS key": ("AKIA", "ASIA", "ABIA", "ACCA"),
    "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "GitLab token": ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-"),
    "Slack token": ("xox", "xapp-"),
    "Slack webhook": ("hooks.slack.com/",),
    "Discord webhook": ("/api/webhooks/",),
    "API key": ("sk-",),
    "payment key": ("k_live_", "k_test_", "whsec_", "sq0"),
    "Google key": ("AIza", "ya29.", "GOCSPX-"),
    "registry token": ("npm_", "pypi-", "hf_"),
    "mail key": ("SG.", "key-", "-us"),
    "cloud token": ("dop_v1_", "doo_v1_", "dor_v1_", "dapi"),
    "shop token": ("shpat_", "shpca_", "shppa_", "shpss_"),
    "vault token": ("hvs.", "hvb.", "hvr."),
    "Atlassian token": ("ATATT3",),
    "tracker key": ("lin_api_", "lin_oauth_"),
    "secrets token": ("dp.pt.", "dp.ct.", "dp.sa.", "dp.st.", "dp.scim.", "dp.audit."),
    "telephony key": ("SK",),
    "Telegram token": (":AA",),
    "age key": ("AGE-SECRET-KEY-1",),
    "password in an address": ("://",),
    "token in an address": ("://",),
    COMMAND_KIND: ("sshpass",),
}

#: It holds one of these as well, in small letters. Only texts in ASCII are asked, as beyond it more
#: than two letters may be the same without case.
NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "bearer token": ("bearer",),
    BASIC_KIND: ("basic",),
    "authorization header": ("authorization",),
    "signature in an address": ("sig",),
    "password in an address": ("@",),
    "token in an address": ("@",),
    "password of a statement": ("identified", "password"),
}
