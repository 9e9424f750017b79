"""Know the shapes of credentials: texts that are one wherever they stand.

One row of `SHAPES` is one shape. To know a new one, add a row, and name in it what every such text
holds; that spares all other texts the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

COMMAND_KIND: Final = "password of a command"
BASIC_KIND: Final = "basic credentials"


class Shape(NamedTuple):
    """A shape: its kind in words, its pattern, and what every text of it holds.

    A group named `secret` narrows what is found. A text holds one of `holds`, and in small letters
    one of `needs`, unless these are empty. Only texts in ASCII are asked for `needs`, as beyond it
    more than two letters may be the same without case.
    """

    kind: str
    pattern: re.Pattern[str]
    holds: tuple[str, ...]
    needs: tuple[str, ...]


def _shape(kind: str, pattern: str, holds: str = "", needs: str = "") -> Shape:
    return Shape(kind, re.compile(pattern), tuple(holds.split()), tuple(needs.split()))


#: Every pattern starts at a literal or at the edge of a word, so that none is quadratic.
SHAPES: Final = (
    _shape(
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?>(?:[^-]++|-(?!----END ))*)(?:-----END [A-Z0-9 ]{0,40}-----)?",
        "-----BEGIN",
    ),
    _shape(
        "JSON web token",
        # Anchored where the word begins: `eyJ-eyJ-…` must not be read from each `eyJ`.
        r"(?<![\w-])(?=[\w-]++\.[\w-]{4,}+\.)[\w-]*?"
        r"\b(?P<secret>eyJ[\w-]{5,}+\.[\w-]{4,}+\.[\w-]*+)",
        "eyJ",
    ),
    _shape(
        "bearer token",
        r"(?i)\bbearer\s{1,8}(?P<secret>(?=[\w~+/=-]*[\d.~+/=_-]\w)[\w.~+/=-]{6,}+)",
        needs="bearer",
    ),
    _shape(
        "bearer token",
        r"(?i)\bbearer\s{1,8}(?P<secret>(?=[a-z.~+/_-]*[\d=])[\w.~+/=-]{6,}+)",
        needs="bearer",
    ),
    _shape(BASIC_KIND, r"(?i)\bbasic\s{1,8}(?P<secret>[a-z\d+/]{8,}+={0,2})", needs="basic"),
    _shape(
        "authorization header",
        # Bearer and Basic have shapes of their own; other words after the name are prose.
        r"(?i)\bauthorization\s{0,8}[:=]\s{0,8}[\"']?"
        r"(?:token|api-?key|key|bot|(?:sso|genie)-?key)"
        r"\s{1,8}(?P<secret>(?=[a-z.:~+/_-]*[\d=])[\w.:~+/=-]{8,}+)",
        needs="authorization",
    ),
    _shape(
        "signature in an address",
        # Such an address gives access to what it names in a cloud's store. Other signed links,
        # like one to unsubscribe from a newsletter, open nothing of ours.
        r"(?i)[?&;]x-(?:amz|goog)-signature=(?P<secret>[a-f\d]{32,}+)",
        needs="-signature=",
    ),
    _shape(
        "signature in an address",
        r"(?i)\bsv=20\d\d-\d\d-\d\d[^\s\"'<>]{0,400}?[&;]sig=(?P<secret>[\w%+/~-]{20,}+={0,2})",
        needs="sig=",
    ),
    _shape(
        "password in an address",
        r"(?i)(?<![a-z\d+.-])[a-z][a-z\d+.-]*+://[^\s/:@\"'<>]*+:(?P<secret>[^\s/@\"'<>]++)@",
        "://",
        "@",
    ),
    _shape(
        "token in an address",
        r"(?i)(?<![a-z\d+.-])(?:git\+)?https?://"
        r"(?P<secret>(?=[\w~+=-]*\d)(?=[\w~+=-]*[a-z])[\w~+=-]{10,}+)@",
        "://",
        "@",
    ),
    _shape(
        COMMAND_KIND,
        r"\bsshpass\s{1,4}-p\s{0,4}[\"']?(?P<secret>[^\s\"'-][^\s\"']{1,200}+)",
        "sshpass",
    ),
    _shape(
        "password of a statement",
        r"(?i)\b(?:identified\s{1,8}by|(?:with|set)\s{1,8}(?:encrypted\s{1,8})?password"
        r"(?:\s{0,8}=)?)\s{1,8}'(?P<secret>[^'\n]{1,200}+)'",
        needs="identified password",
    ),
    _shape("AWS key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z\d]{16}\b", "AKIA ASIA ABIA ACCA"),
    _shape(
        "GitHub token",
        r"\b(?:gh[pousr]_[A-Za-z\d]{30,}+|github_pat_\w{22,}+)",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    ),
    _shape(
        "GitLab token",
        r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{20,}+",
        "glpat- glptt- gldt- glrt- glcbt- glsoat-",
    ),
    _shape(
        "Slack token", r"\bxox[a-z](?:-[A-Za-z\d]+)?-[\w-]{10,}+|\bxapp-\d-[\w-]{10,}+", "xox xapp-"
    ),
    _shape(
        "Slack webhook",
        r"\bhooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/-]{12,}+)",
        "hooks.slack.com/",
    ),
    _shape("Discord token", r"\b[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,}+"),
    _shape(
        "Discord webhook",
        r"\bdiscord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[\w-]{20,}+)",
        "/api/webhooks/",
    ),
    _shape(
        "API key",
        # A word in an address may begin so, too (`sk-zimna-kolekcia-2026`). So a key of no
        # known make must have digits and capitals among its letters, or no hyphen.
        r"\bsk-(?:(?:ant|proj|svcacct)-(?=[\w-]{0,80}\d)[\w-]{20,}+|or-v\d-[\w-]{20,}+"
        r"|(?=[\w-]{0,80}\d)(?=[\w-]{0,80}[A-Z])[\w-]{20,}+|\w{20,}+(?!-))",
        "sk-",
    ),
    _shape(
        "payment key",
        r"\b[rsp]k_(?:live|test)_\w{8,}+|\bwhsec_[A-Za-z\d+/=]{16,}+"
        r"|\bsq0(?:csp|atp|idp)-[\w-]{22,}+",
        "k_live_ k_test_ whsec_ sq0",
    ),
    _shape(
        "Google key",
        r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}+|\bGOCSPX-[\w-]{20,}+",
        "AIza ya29. GOCSPX-",
    ),
    _shape(
        "registry token",
        r"\bnpm_[A-Za-z\d]{36}|\bpypi-[\w-]{32,}+|\bhf_[A-Za-z\d]{30,}+",
        "npm_ pypi- hf_",
    ),
    _shape("mail key", r"\bSG\.[\w-]{16,}+\.[\w-]{16,}+", "SG."),
    # Without the name of its maker it looks like the checksum of any file.
    _shape("mail key", r"(?i:mailgun)[^\n]{0,80}?\b(?P<secret>key-[a-f\d]{32})\b", "key-"),
    _shape("mail key", r"\bapi:(?P<secret>key-[a-f\d]{32})\b", "key-"),
    _shape("mail key", r"\b[a-z\d]{32}-us\d{1,2}\b", "-us"),
    _shape(
        "cloud token",
        r"\bdo[opr]_v1_[a-f\d]{32,}+|\bdapi[a-f\d]{32}\b",
        "dop_v1_ doo_v1_ dor_v1_ dapi",
    ),
    _shape("shop token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F\d]{32}\b", "shpat_ shpca_ shppa_ shpss_"),
    _shape("vault token", r"\bhv[sbr]\.[\w-]{20,}+", "hvs. hvb. hvr."),
    _shape("Atlassian token", r"\bATATT3[\w=-]{20,}+", "ATATT3"),
    _shape("tracker key", r"\blin_(?:api|oauth)_[A-Za-z\d]{30,}+", "lin_api_ lin_oauth_"),
    _shape(
        "secrets token",
        r"\bdp\.(?:pt|ct|sa|st|scim|audit)\.[\w.-]{20,}+",
        "dp.pt. dp.ct. dp.sa. dp.st. dp.scim. dp.audit.",
    ),
    _shape("telephony key", r"\bSK[a-f\d]{32}\b", "SK"),
    _shape("Telegram token", r"\b\d{8,10}:AA[\w-]{32,}+", ":AA"),
    _shape("age key", r"\bAGE-SECRET-KEY-1[A-Z\d]{50,}+", "AGE-SECRET-KEY-1"),
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


#: A text of ASCII without any of this (RE2) holds no credential by its shape. A Discord token has
#: nothing in common with others but its length.
FIRST_LOOK: Final = "|".join(
    (
        "(?i:" + "|".join(re.escape(e) for s in SHAPES if not s.holds for e in s.needs) + ")",
        *(re.escape(part) for shape in SHAPES for part in shape.holds),
        *(name for names, _, _ in _COMMANDS for name in names),
        r"[MNO][\w-]{23}",
    )
)
