"""No credential stands in a proposal.

What it checks:
    Every text in every field, names of parameters too: tokens, keys and passwords by their shape,
    in addresses and after `name = value`, also with one level of escapes decoded, in letters of
    full width and with markup inside; and every value whose field is named like a credential
    (`api_key`, `clientSecret`, `Authorization` …, in any letter case), or stands beside or behind
    such a name (`{"name": "DB_PASSWORD", "value": …}`, `["--password", …]`), unless it only stands
    for one (`${TOKEN}`, `vault://kv/smtp`, `***`).

Why:
    A proposal is shown in a chat, kept in a store and in a trail. Chat is not a vault; a tool gets
    its credentials from its own environment.

Settings:
    none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Final

from lifecycle.document import ProposalDocument
from lifecycle.paths import Parts, dotted
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.text.disguises import all_forms, has_markup, unescaped_forms
from lifecycle.text.patterns import compiled
from lifecycle.text.secret_values import is_credential
from lifecycle.text.secrets_beside import told_within
from lifecycle.text.secrets_found import find_secrets
from lifecycle.text.values import texts_of
from lifecycle.verdict import Finding

#: Detectors of detect-secrets whose patterns mean a credential wherever they stand.
_DETECTORS: Final = (
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("openai", "OpenAIDetector"),
    ("private_key", "PrivateKeyDetector"),
    ("pypi_token", "PypiTokenDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"),
)
_IGNORES_CASE: Final = 2
#: The separator of texts that are searched as one: no credential and no assignment spans it. Its
#: quotes close a quotation that a text left open.
_APART: Final = '\n";"\n'
#: For an AWS key, an API key, an age key; all other kinds begin with a consonant.
_ARTICLES: Final = {"A": "an", "a": "an"}


@cache
def _known_shapes() -> Any:
    """Return one RE2 pattern with everything that the detectors of detect-secrets know."""
    sources = []
    for module, name in _DETECTORS:
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
        for shape in detector.denylist:
            flag = "(?i)" if shape.flags & _IGNORES_CASE else ""
            sources.append(f"(?:{flag}{shape.pattern})")
    return compiled("|".join(sources))


class SecretsAbsent:
    """No credential in parameters or texts."""

    id: ClassVar[str] = "secrets_absent"
    version: ClassVar[int] = 10
    timeless = True
    summary: ClassVar[str] = "No key, token or password stands in a proposal."

    class Options(RuleOptions):
        """Nothing can be set."""

    def __init__(self, options: Options) -> None:
        self._shapes = _known_shapes()

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True: a credential may hide in any proposal."""
        return True

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return each credential, known by its shape or its field's name, without repeating it."""
        return said(self._findings(proposal))

    def _findings(self, proposal: ProposalDocument) -> Iterator[Finding]:
        told: set[Parts] = set()
        for parts in _named_secrets_in(proposal):
            told.add(parts)
            yield _finding(parts, "a credential by the name of its field")
        places = texts_of(proposal)
        if not self._may_be_in([place.value for place in places]):
            return
        for place in places:
            if place.parts not in told and (kind := self._kind_in(all_forms(place.value))):
                told.add(place.parts)
                yield _finding(place.parts, kind)

    def _may_be_in(self, texts: list[str]) -> bool:
        """Return False if no text holds a credential; that is settled at once for nearly every
        proposal.

        All texts are searched as one. Markup is taken out of each text by itself, since it must not
        span two.
        """
        if self._kind_in(unescaped_forms(_APART.join(texts))) is not None:
            return True
        bare = [all_forms(text)[-1] for text in texts if has_markup(text)]
        return bool(bare) and self._kind_in([_APART.join(bare)]) is not None

    def _kind_in(self, forms: Iterable[str]) -> str | None:
        for each in dict.fromkeys(forms):
            if found := find_secrets(each):
                return f"{_ARTICLES.get(found[0].kind[0], 'a')} {found[0].kind}"
            if self._shapes.search(each):
                return "a credential"
        return None

    passes: ClassVar[tuple[RuleCase, ...]] = (
        RuleCase("a plain mail"),
        RuleCase(
            "words about credentials",
            {"parameters": {"note": "api key rotation plan", "next_page_token": "b2Zmc2V0"}},
        ),
        RuleCase(
            "what only sounds like one",
            {"parameters": {"tokens": 512, "cookies": "necessary", "note": "PIN: 560001"}},
        ),
        RuleCase(
            "a link that a newsletter signed",
            {"parameters": {"body": "https://a.example/off?u=7&sig=a1B2c3d4E5f6g7H8i9j0"}},
        ),
        RuleCase("code that reads one", {"parameters": {"body": 'api_key = os.environ["KEY"]'}}),
        RuleCase("what stands for one", {"parameters": {"api_key": "${PAYMENTS_KEY}"}}),
    )
    fails: ClassVar[tuple[RuleCase, ...]] = tuple(
        RuleCase(name, changes, code="secret_found")
        for name, changes in (
            ("a header", {"parameters": {"headers": {"Authorization": "Bearer abc.def"}}}),
            ("an address", {"parameters": {"dsn": "postgres://u:pw@h/d"}}),
            (
                "an address that opens by itself",
                {
                    "parameters": {
                        "url": "https://a.example/f?sv=2026-04-06&sig=a1B2%2Fd4E5f6g7H8i9j"
                    }
                },
            ),
            ("a name in odd case", {"parameters": {"pASSWORD": "hunter2xyz"}}),
            ("markup inside", {"parameters": {"body": "AKI<b></b>A" + "IOSFODNN7EXAMPLE"}}),
            (
                "full width",
                {"parameters": {"body": "\uff21\uff2b\uff29\uff21" + "IOSFODNN7EXAMPLE"}},
            ),
            ("a command", {"parameters": {"body": "curl -u pat:hunter2 https://x.example"}}),
            ("a name", {"parameters": {"api_key": "k-1234567890"}}),
            ("a name beside", {"parameters": {"env": [{"name": "DB_PASSWORD", "value": "hi4x"}]}}),
            ("what only begins like a variable", {"parameters": {"password": "$uper5ecret!9"}}),
            ("a shape in the justification", {"justification": "use AKIA" + "IOSFODNN7EXAMPLE"}),
            (
                "a word of a mail's head",
                {"parameters": {"body": "=?utf-8?Q?postgres://u:pw=40h/d?="}},
            ),
            ("a user's", {"parameters": {"login": {"user": "pat", "pass": "hi4x"}}}),
            ("an option", {"parameters": {"args": ["--password", "hi4x"]}}),
            ("a pair", {"parameters": {"headers": [["X-Api-Key", "k-1234567890"]]}}),
            (
                "a pair among effects",
                {
                    "risk_envelope": {
                        "allowed_side_effects": ["token", "k-1234567890"],
                        "forbidden_effects": [],
                        "max_affected_records": 1,
                        "reversible_required": False,
                    }
                },
            ),
            ("a sentence", {"parameters": {"body": "The password is hunter2."}}),
            ("a name beside in odd case", {"parameters": {"env": {"Name": "PIN", "Value": "hi4"}}}),
            ("escaped", {"parameters": {"body": "postgres%3A%2F%2Fu%3Apw%40h/d"}}),
        )
    )


def _named_secrets_in(proposal: ProposalDocument) -> Iterator[Parts]:
    yield from _named_secrets(proposal.parameters, ("parameters",), None)
    yield from _named_secrets(proposal.target.constraints, ("target", "constraints"), None)
    for index, condition in enumerate(proposal.preconditions):
        asked = {"field": condition.field, "value": condition.value}
        yield from _named_secrets(asked, ("preconditions", index), None)
    if proposal.risk_envelope is not None:
        yield from _named_secrets(proposal.risk_envelope.model_dump(), ("risk_envelope",), None)


def _named_secrets(value: Any, parts: Parts, said: str | None) -> Iterator[Parts]:
    """Yield the places of credentials below a name that says secret; `said` is that name."""
    if isinstance(value, (dict, list)):
        for place, item, name in told_within(value, said):
            yield from _named_secrets(item, (*parts, place), name)
    elif said is not None and is_credential(said, value):
        yield parts


def _finding(parts: Parts, kind: str) -> Finding:
    words = f"This holds {kind}: take it out, and let the tool read it from its own environment."
    return Finding("secret_found", dotted(parts), words)
