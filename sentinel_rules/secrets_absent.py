"""No credential stands in a proposal.

What it checks:
    Every text in every field, names of parameters too: tokens, keys and passwords by their shape,
    in addresses and after `name = value`, also with one level of escapes decoded; and every value
    whose field is named like a credential (`api_key`, `clientSecret`, `Authorization` …) unless it
    only stands for one (`${TOKEN}`, `vault://…`, `***`).

Why:
    A proposal is shown in a chat, kept in a store and in a trail. Chat is not a vault; a tool gets
    its credentials from its own environment.

Settings:
    none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Final

from lifecycle.document import ProposalDocument
from lifecycle.folding import visible
from lifecycle.markup import decoded
from lifecycle.paths import Parts, dotted
from lifecycle.patterns import compiled
from lifecycle.secrets_found import find_secrets, named_beside, secret_named, stand_in
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.values import texts_of
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
#: Between texts that are looked at together: no credential and no assignment reaches across it.
#: The quotes close one that a text left open.
_APART: Final = '\n";"\n'
#: An AWS key, an API key, an age key; all other kinds begin with a consonant.
_ARTICLES: Final = {"A": "an", "a": "an"}


@cache
def _known_shapes() -> Any:
    """Return one RE2 pattern of everything that the detectors of detect-secrets know."""
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
    version: ClassVar[int] = 1
    timeless = True
    summary: ClassVar[str] = "No key, token or password stands in a proposal."

    class Options(RuleOptions):
        """Nothing can be set."""

    def __init__(self, options: Options) -> None:
        self._shapes = _known_shapes()

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Say yes: a credential may hide in any proposal."""
        return True

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Find every credential by its shape or by the name of its field, never repeating it."""
        return said(self._findings(proposal))

    def _findings(self, proposal: ProposalDocument) -> Iterator[Finding]:
        told: set[Parts] = set()
        for parts in _named_secrets_in(proposal):
            told.add(parts)
            yield _finding(parts, "a credential by the name of its field")
        places = texts_of(proposal)
        # Nearly every proposal holds none: one look at all texts settles it.
        if self._kind_in(_APART.join(place.value for place in places)) is None:
            return
        for place in places:
            if place.parts not in told and (kind := self._kind_in(place.value)):
                told.add(place.parts)
                yield _finding(place.parts, kind)

    def _kind_in(self, text: str) -> str | None:
        shown = visible(text)
        opened = decoded(shown) if "%" in shown or "&" in shown or "\\" in shown else shown
        for each in dict.fromkeys((text, shown, opened)):
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
        RuleCase("what stands for one", {"parameters": {"api_key": "${PAYMENTS_KEY}"}}),
    )
    fails: ClassVar[tuple[RuleCase, ...]] = tuple(
        RuleCase(name, changes, code="secret_found")
        for name, changes in (
            ("a header", {"parameters": {"headers": {"Authorization": "Bearer abc.def"}}}),
            ("an address", {"parameters": {"dsn": "postgres://u:pw@h/d"}}),
            ("a name", {"parameters": {"api_key": "k-1234567890"}}),
            ("a name beside", {"parameters": {"env": [{"name": "DB_PASSWORD", "value": "hi4x"}]}}),
            ("what only begins like a variable", {"parameters": {"password": "$uper5ecret!9"}}),
            ("a shape in the justification", {"justification": "use AKIA" + "IOSFODNN7EXAMPLE"}),
            ("escaped", {"parameters": {"body": "postgres%3A%2F%2Fu%3Apw%40h/d"}}),
        )
    )


def _named_secrets_in(proposal: ProposalDocument) -> Iterator[Parts]:
    yield from _named_secrets(proposal.parameters, ("parameters",), is_secret=False)
    constraints = proposal.target.constraints
    yield from _named_secrets(constraints, ("target", "constraints"), is_secret=False)


def _named_secrets(value: Any, parts: Parts, *, is_secret: bool) -> Iterator[Parts]:
    """Yield the places of values below a name that says secret; flags and null hold none."""
    if isinstance(value, dict):
        beside = named_beside(value)
        for key, item in value.items():
            named = is_secret or secret_named(visible(key)) or (beside and key == "value")
            yield from _named_secrets(item, (*parts, key), is_secret=named)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _named_secrets(item, (*parts, index), is_secret=is_secret)
    elif is_secret and _is_credential(value):
        yield parts


def _is_credential(value: Any) -> bool:
    if isinstance(value, str):
        return not stand_in(value)
    return value is not None and not isinstance(value, bool)


def _finding(parts: Parts, kind: str) -> Finding:
    words = f"This holds {kind}: take it out, and let the tool read it from its own environment."
    return Finding("secret_found", dotted(parts), words)
