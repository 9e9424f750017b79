"""Writes the fields of a card that the proposer wrote: everything it sent, whole and neutral."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.chat.cards.content import Field
from bot.chat.cards.neutral import Shown, imitates_mask, masked_value, neutral
from bot.chat.cards.spans import moment_words
from lifecycle.canonical import canonical_bytes, digest_of, s256
from lifecycle.first_gate.digest_values import digests_in
from lifecycle.policy import Policy, ToolKind
from lifecycle.proposal import Proposal
from lifecycle.text.masking import mask_secrets

#: Parameters that people look for first, and those that are long and therefore stand last.
_FIRST: Final = ("to", "cc", "bcc", "reply_to", "recipient", "recipients", "subject")
_LAST: Final = ("body", "content", "text", "message")
#: Parameters that an email tool puts into the mail; others are checked and never sent.
_SENT: Final = frozenset({"to", "cc", "bcc", "reply_to", "subject", "body"})
_PLAIN_NAME: Final = re.compile(r"[\w.:/@+-]{1,253}")
_OTHERS: Final = (
    ("intent", "Intent"),
    ("preconditions", "Preconditions"),
    ("risk_envelope", "Risk envelope"),
    ("rollback_semantics", "Rollback asked for"),
    ("time_window", "Time window asked for"),
    ("approval_class", "Approval asked for"),
    ("evidence_bindings", "Evidence bindings"),
    ("binding", "Plan's binding"),
    ("task_id", "Task"),
    ("justification", "Justification"),
    ("evidence", "Evidence"),
)


#: A mask that the proposer typed: behind it no credential is, and the tool gets these very words.
_TYPED_MASK: Final = "the words of a mask, typed: no credential is hidden there"
_WINDOW: Final = ("valid_from_ms", "valid_until_ms", "max_duration_ms")


@dataclass(frozen=True, slots=True)
class Written:
    """The proposer's fields, and a pair (label, warnings) for each field that needs a warning."""

    fields: tuple[Field, ...]
    warnings: tuple[tuple[str, tuple[str, ...]], ...]


def written_of(proposal: Proposal, policy: Policy) -> Written:
    """Return everything that the proposer wrote, parameters whole (design section 6)."""
    document = _document(proposal)
    pairs = [*_target(document), *_parameters(proposal, document, policy), *_others(document)]
    if "plan" in proposal.extra and not proposal.masked:
        pairs.append(_field("Plan", proposal.extra["plan"]))
    untrue = {_TYPED_MASK} if proposal.masked else set()  # there the masks are ours
    warned = (
        (field, tuple(each for each in found if each not in untrue)) for field, found in pairs
    )
    return Written(
        tuple(field for field, _ in pairs),
        tuple((field.label[:80], found) for field, found in warned if found),
    )


def _document(proposal: Proposal) -> Mapping[str, Any]:
    """Return the stored document. A masked one may no longer have the model's shape."""
    try:
        document = json.loads(proposal.document)
    except ValueError:
        return {"evidence": proposal.document.decode("utf-8", "replace")}
    return document if isinstance(document, dict) else {"evidence": document}


_Pair = tuple[Field, tuple[str, ...]]


def _target(document: Mapping[str, Any]) -> Iterator[_Pair]:
    target = document.get("target")
    if not isinstance(target, Mapping):
        return
    kind, name, domain = (_token(mask_secrets(target.get(key, ""))) for key in _TARGET)
    text = masked_value(f"{kind} {name} at {domain}")
    yield Field("Target", text.text, text.text), (*text.warnings, *_typed_masks(target))
    if target.get("constraints"):
        yield _field("Target's constraints", target["constraints"])


_TARGET: Final = ("resource_type", "resource_id", "domain")


def _token(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if _PLAIN_NAME.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _parameters(proposal: Proposal, document: Mapping[str, Any], policy: Policy) -> Iterator[_Pair]:
    parameters = document.get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        yield Field("Parameters", "(none)", "(none)"), ()
        return
    tool = policy.tools.get(proposal.tool)
    mails = tool is not None and tool.kind is ToolKind.EMAIL
    masked = dict(zip(parameters, mask_secrets(parameters).items(), strict=True))
    unsent = parameters.keys() - _SENT if mails else frozenset()
    for key in sorted(parameters, key=lambda name: (name in unsent, _place(name))):
        name, shown = masked[key]
        label = _named(name)
        aside = " (not sent)" if key in unsent else ""
        value = _field(label.text + aside, parameters[key], shown)
        yield value[0], tuple(sorted({*label.warnings, *value[1]}))


def _named(name: str) -> Shown:
    """Return a name as a label; in quotes if blanks around it would not be seen, for another
    parameter may have the same name without them."""
    apart = name != name.strip(" ") or name.startswith('"')
    return neutral(json.dumps(name, ensure_ascii=False) if apart else name)


def _place(name: str) -> tuple[int, int]:
    if name in _FIRST:
        return 0, _FIRST.index(name)
    return (2, _LAST.index(name)) if name in _LAST else (1, 0)


def _others(document: Mapping[str, Any]) -> Iterator[_Pair]:
    for key, label in _OTHERS:
        value = document.get(key)
        if value in (None, [], {}) or (key, value) == ("approval_class", "none"):
            continue
        field, warnings = _field(label, value)
        if key == "time_window" and (words := _window_words(value)):
            field = replace(field, text=words, full=words)
        yield field, warnings


def _window_words(window: Any) -> str | None:
    """Return a time window as people read it, None if it is not of the known shape."""
    try:
        begins, ends, most = (int(window[key]) for key in _WINDOW)
        first, last = moment_words(begins), moment_words(ends)
    except (TypeError, KeyError, ValueError, OverflowError, OSError):
        return None
    return f"begins between {first} and {last}, runs {most} ms at most"


def _field(label: str, raw: Any, masked: Any = None) -> _Pair:
    """Show one value. If it holds a secret it gets no digest: a short one could be guessed."""
    shown_value = mask_secrets(raw) if masked is None else masked
    shown, kept_back = masked_value(shown_value), _kept_back(raw)
    text = kept_back + shown.text
    full = kept_back + masked_value(shown_value, lines=True).text
    digest = _digest(raw) if shown_value == raw else ""
    return Field(label, text, full, digest), (*shown.warnings, *_typed_masks(raw))


def _typed_masks(raw: Any) -> tuple[str, ...]:
    return (_TYPED_MASK,) if imitates_mask(raw) else ()


def _kept_back(raw: Any) -> str:
    """Return a note on how much of the value its digests hide from people; empty if none.

    The note stands first, so that no excerpt cuts it off. A digest tells no length; if its excerpt
    is the whole of what it stands for, nothing is hidden.
    """
    found = [value for _, value in digests_in({"": raw})]
    if not found:
        return ""
    noun = "a digest" if len(found) == 1 else f"{len(found)} digests"
    if all(map(_is_all, found)):
        return f"({noun}: 0 bytes are not shown) "
    return f"({noun}: how many bytes are not shown is known to the proposer alone) "


def _is_all(value: Mapping[str, Any]) -> bool:
    excerpt = value.get("excerpt")
    return isinstance(excerpt, str) and s256(excerpt.encode()) == value["s256"]


def _digest(raw: Any) -> str:
    return digest_of(raw.encode() if isinstance(raw, str) else canonical_bytes(raw))
