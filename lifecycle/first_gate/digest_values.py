"""Find digests that stand in place of large or sensitive values, and refuse misplaced ones (section
4)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from lifecycle.errors import Fault
from lifecycle.first_gate.reading import MOST_FAULTS
from lifecycle.paths import Parts, containers, dotted
from lifecycle.policy import ToolKind, ToolPolicy
from lifecycle.text.field_names import ends_in, readings_of
from lifecycle.text.recipients import RECIPIENTS, recipients_in
from lifecycle.tier import Tier

_KEYS: Final = frozenset({"s256", "excerpt", "media_type"})
_S256: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_STRICT_TIERS: Final = frozenset({Tier.CONFIRM, Tier.BLOCK})
#: Recipients, amounts and targets must be seen whole by people and rules.
_SEEN_WHOLE: Final = RECIPIENTS | frozenset(
    "amount amounts currency target targets host url domain path".split()
)


#: Stands for the text of a digest where it is asked whether that text is a recipient.
_SOMEBODY: Final = "somebody@somewhere.example"


def digests_in(parameters: Mapping[str, Any]) -> Iterator[tuple[Parts, Mapping[str, Any]]]:
    """Yield each digest that stands in place of a value, with its place below `parameters`."""
    for parts, value in containers(dict(parameters)):
        if parts and _is_digest(value):
            yield parts, value


def _is_digest(value: Any) -> bool:
    return isinstance(value, dict) and "s256" in value and _KEYS.issuperset(value)


def digest_faults(tool: ToolPolicy, tier: Tier, parameters: Mapping[str, Any]) -> list[Fault]:
    """Return `digest_not_allowed` for each digest where the value itself must stand.

    A digest may stand there for tools of kind `agent` at CONFIRM or above, never for recipients,
    amounts or targets, and only well-formed: 43 characters of base64url, with excerpt and media
    type as strings.
    """
    digests = list(digests_in(parameters))
    recipients = _recipients(parameters) if digests else frozenset()
    found = (
        _fault(parts, why)
        for parts, value in digests
        if (why := _why_not(tool, tier, parts, value, recipients))
    )
    return list(islice(found, MOST_FAULTS))


def _recipients(parameters: Mapping[str, Any]) -> frozenset[Parts]:
    """Return the places in which a text with an @ is a recipient to the rules (`to_email`, the
    `value` beside a `name` of `Bcc`): the rules judge a digest's text only when it is presented,
    and people, who approve before that, do not see it."""
    texts = {key: _with_texts(item) for key, item in parameters.items()}
    content = {"parameters": texts}
    return frozenset(place.parts[1:] for place in recipients_in(content))


def _with_texts(value: Any) -> Any:
    """Return the parameters with an address in place of each digest."""
    if _is_digest(value):
        return _SOMEBODY
    if isinstance(value, Mapping):
        return {key: _with_texts(item) for key, item in value.items()}
    return [_with_texts(item) for item in value] if isinstance(value, list) else value


def _why_not(
    tool: ToolPolicy,
    tier: Tier,
    parts: Parts,
    value: Mapping[str, Any],
    recipients: Collection[Parts],
) -> str | None:
    if tool.kind is not ToolKind.AGENT:
        return f"{tool.name} acts on the value itself: send it whole."
    if tier not in _STRICT_TIERS:
        return "Only what people confirm may carry digests: send the value whole."
    named = any(isinstance(part, str) and _must_be_seen(part) for part in parts)
    if named or parts in recipients:
        return "Recipients, amounts and targets are always sent whole."
    s256 = value["s256"]
    if not isinstance(s256, str) or not _S256.fullmatch(s256):
        return "Write s256 as 43 characters of base64url without padding."
    if not all(isinstance(value.get(key, ""), str) for key in _KEYS):
        return "Write excerpt and media_type as strings."
    return None


def _must_be_seen(name: str) -> bool:
    return ends_in(name, _SEEN_WHOLE) or any("amount" in words for words in readings_of(name))


def _fault(parts: Parts, why: str) -> Fault:
    return Fault(
        "digest_not_allowed",
        dotted(("parameters", *parts)),
        required="the value itself",
        actual="a digest",
        suggestion=why,
    )
