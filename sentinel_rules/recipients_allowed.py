"""Whoever a message goes to, or claims to come from, belongs to an allowed domain.

What it checks:
    In `communicate` tools and those of kind `email`, at any depth of parameters and constraints:
    every value of a field whose name is or ends in `to cc bcc recipient(s) from sender` (so
    `reply_to` and `X-Forward-To` too, in any letter case), and every value under `headers`. Each
    must be one plain address with an ASCII local part, and its domain must be allowed. `date_to`
    and `period.from` are no recipients as long as no @ stands there, and the same is true of names
    that end in one of these and some of `address(es) addr(s) email(s) mail(s) list`, like `cc_list`
    and `to_email_address`, of names like `mailto` and `ccemail`, and of a `value` or an `email`
    beside a `name` or `type` like `Bcc`. No text of one line, other than a `body`, `html` or
    `text`, holds a word as the head of a mail has it (`=?utf-8?Q?...?=`).

Why:
    A copy, a reply address or a header of one's own is as good a way out as the main recipient.
    Names, comments, routes and lists in one field are read differently by different programs. A
    mail program decodes a word of a mail's head, and a line break in it begins a header that nobody
    has judged.

Settings:
    domains: [partner.example, .partner.example]   whole names. `partner.example` admits no
        subdomain, `.partner.example` admits all of them (and not itself). Empty: nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final

import idna
from pydantic import AfterValidator

from lifecycle.document import ProposalDocument
from lifecycle.policy import ActionType, ToolKind
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.text.patterns import compiled
from lifecycle.text.recipients import recipients_in
from lifecycle.text.values import content_of, texts_of
from lifecycle.verdict import Finding

_LOCAL: Final = re.compile(r"[A-Za-z0-9_'+=&~-]+(?:\.[A-Za-z0-9_'+=&~-]+)*")
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
#: The sign in an address, also as it is written in full or small width, or with an escape.
_AT: Final = re.compile(r"[@\uff20\ufe6b]|%40|&#(?:0*64|x0*40);|&commat;", re.IGNORECASE)
#: Anything that some program takes for the beginning of an encoded word.
_ENCODED_WORD: Final = compiled(r"=\?[^?]*\?[bBqQ]\?")
_BODIES: Final = frozenset({"body", "html", "text"})
_LONGEST_ADDRESS: Final = 254
_LONGEST_LOCAL: Final = 64
_LONGEST_SHOWN: Final = 80


def _ascii_domain(written: str) -> str | None:
    """Return a domain in small ASCII letters, None if it is no plain domain."""
    try:
        domain = written if written.isascii() else idna.encode(written).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return None
    lower = domain.lower()
    return lower if _DOMAIN.fullmatch(lower) else None


def _allowed_domain(written: str) -> str:
    domain = _ascii_domain(written.removeprefix("."))
    if domain is None:
        raise ValueError(
            f"{written!r} is no domain: write partner.example, or .partner.example for all its "
            "subdomains"
        )
    return f".{domain}" if written.startswith(".") else domain


def _domain_of(address: Any) -> str | None:
    """Return the domain of one plain address, None for anything else."""
    if not isinstance(address, str) or len(address) > _LONGEST_ADDRESS:
        return None
    local, at, domain = address.partition("@")
    if not at or len(local) > _LONGEST_LOCAL or _LOCAL.fullmatch(local) is None:
        return None
    return _ascii_domain(domain)


def _not_plain(value: Any) -> str:
    """Say how to write a recipient, and where nothing looks like an address, how not to name one.

    Under another name an address would be looked at no more.
    """
    words = "This is not one plain address: write name@domain alone, one in each item."
    if isinstance(value, str) and _AT.search(value):
        return words
    return f"{words} The name of this field says recipient: rename it if it is none."


def _encoded_words(proposal: ProposalDocument) -> Iterator[Finding]:
    """Yield a finding for each encoded word in a text that may become a line of a mail's head.

    Texts of several lines cannot.
    """
    for place in texts_of(proposal):
        is_line = "\n" not in place.value and place.parts[-1] not in _BODIES
        if (
            is_line
            and place.parts[0] in ("parameters", "target")
            and _ENCODED_WORD.search(place.value)
        ):
            words = "Mail programs decode this, a hidden recipient with it: write the text itself."
            yield Finding("not_plain_address", place.path, words)


class RecipientsAllowed:
    """Every recipient is a plain address of an allowed domain."""

    id: ClassVar[str] = "recipients_allowed"
    version: ClassVar[int] = 10
    timeless = True
    summary: ClassVar[str] = "Every recipient and sender is one plain address of an allowed domain."

    class Options(RuleOptions):
        """The domains that mail may go to and come from."""

        domains: tuple[Annotated[str, AfterValidator(_allowed_domain)], ...] = ()

    def __init__(self, options: Options) -> None:
        self._exact = frozenset(d for d in options.domains if not d.startswith("."))
        self._below = tuple(d for d in options.domains if d.startswith("."))

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True if the tool sends something to somebody."""
        said = (proposal.action_type, facts.tool.action_type)
        return ActionType.COMMUNICATE in said or facts.tool.kind is ToolKind.EMAIL

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return a finding for each recipient that is not one plain, allowed address."""
        return said([*self._findings(proposal), *_encoded_words(proposal)])

    def _findings(self, proposal: ProposalDocument) -> Iterator[Finding]:
        for place in recipients_in(content_of(proposal)):
            domain = _domain_of(place.value)
            if domain is None:
                yield Finding("not_plain_address", place.path, _not_plain(place.value))
            elif not self._allows(domain):
                yield Finding(
                    "domain_not_allowed",
                    place.path,
                    f"{domain[:_LONGEST_SHOWN]} is not an allowed domain: write to "
                    f"{self._choice()}.",
                )

    def _allows(self, domain: str) -> bool:
        return domain in self._exact or domain.endswith(self._below)

    def _choice(self) -> str:
        below = [f"any subdomain of {d[1:]}" for d in self._below]
        return ", ".join([*sorted(self._exact), *below]) or "nobody: no domain is allowed"

    passes: ClassVar[tuple[RuleCase, ...]] = (
        RuleCase("an allowed domain", settings={"domains": ["partner.example"]}),
        RuleCase(
            "a subdomain where all are admitted",
            {"parameters": {"to": ["pat@eu.partner.example"], "cc": None}},
            {"domains": [".partner.example"]},
        ),
        RuleCase(
            "a tool that sends nothing",
            {"action_type": "read", "parameters": {"to": "eve@evil.test"}},
            {"domains": []},
            {"kind": ToolKind.WEBHOOK},
        ),
        RuleCase(
            "the ends of a time",
            {"parameters": {"date_to": "2026-03-31", "period": {"from": "1.3.", "to": "31.3."}}},
        ),
        RuleCase("the address of a house", {"parameters": {"from_address": "12 Main Street"}}),
        RuleCase(
            "a raw mail in the body",
            {"parameters": {"body": "You wrote:\nSubject: =?utf-8?Q?Hi?="}},
        ),
    )
    fails: ClassVar[tuple[RuleCase, ...]] = (
        RuleCase(
            "a tool that mails, whatever its action is called",
            {"action_type": "write", "parameters": {"to": "eve@evil.test"}},
            {"domains": ["partner.example"]},
            code="domain_not_allowed",
        ),
        *(
            RuleCase(name, {"parameters": parameters}, {"domains": domains}, code=code)
            for name, parameters, domains, code in (
                ("no domain allowed", {"to": "pat@partner.example"}, [], "domain_not_allowed"),
                ("a name in odd case", {"bcC": "eve@evil.test"}, [], "domain_not_allowed"),
                ("an address as a time", {"date_to": "eve@evil.test"}, [], "domain_not_allowed"),
                (
                    "a look-alike suffix",
                    {"to": "pat@evilpartner.example"},
                    ["partner.example", ".partner.example"],
                    "domain_not_allowed",
                ),
                (
                    "a subdomain nobody admitted",
                    {"to": "pat@sub.partner.example"},
                    ["partner.example"],
                    "domain_not_allowed",
                ),
                (
                    "a header of one's own",
                    {"headers": {"X-Forward-To": "eve@evil.test"}},
                    ["partner.example"],
                    "domain_not_allowed",
                ),
                ("a list", {"cc_list": ["eve@evil.test"]}, [], "domain_not_allowed"),
                (
                    "a value beside its name",
                    {"fields": [{"name": "Bcc", "value": "eve@evil.test"}]},
                    [],
                    "domain_not_allowed",
                ),
                ("an address by its name", {"toEmail": "eve@evil.test"}, [], "domain_not_allowed"),
                (
                    "a header inside the subject",
                    {"subject": "=?utf-8?Q?Hi=0D=0ABcc:_eve@evil.test?="},
                    ["partner.example"],
                    "not_plain_address",
                ),
                (
                    "a name beside the address",
                    {"options": {"bcc": "Pat <pat@partner.example>"}},
                    ["partner.example"],
                    "not_plain_address",
                ),
            )
        ),
    )
