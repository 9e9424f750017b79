"""Turns a proposal into a row and back. A field with columns of its own is read from them alone;
the column `rest` holds the other fields as JSON."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, asdict, fields, replace
from typing import Any, Final

from bot.row_kinds import Kinds, of_its_kinds, times_of_a_blocked
from bot.storage.json_text import dump, load
from bot.storage.verdict_texts import verdict_of, verdict_text
from lifecycle.ports import RowUnreadable
from lifecycle.proposal import (
    ActorKind,
    Attention,
    Cause,
    Execution,
    Identity,
    KeptStop,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.state import State
from lifecycle.tier import Puller, Tier

#: Fields that are stored unchanged in a column of the same name.
_AS_THEY_ARE: Final = (
    "proposal_id",
    "version",
    "state",
    "tier",
    "tool_tier",
    "tool",
    "digest",
    "content_digest",
    "likeness_digest",
    "policy_digest",
    "document",
    "r3_document",
    "r3_s256",
    "surface",
    "created_at_ms",
    "deadline_ms",
    "reason",
    "explanation",
    "decided_at_ms",
    "permit_waits",
    "attention",
    "reminded_at_ms",
    "reason_due_ms",
    "retry_at_ms",
    "checked_policy_digest",
)
#: Those of them that are enums, which are stored as text.
_ENUMS: Final = frozenset({"state", "tier", "tool_tier", "attention"})
#: Fields that are stored in columns in another form.
_TRANSLATED: Final = frozenset(
    {"actor", "verdict", "decided_by", "opener", "execution", "kept_stop"}
)
#: A row of SQLite, or its columns in a dictionary.
Row = sqlite3.Row | Mapping[str, Any]

_EXECUTION_COLUMNS: Final = frozenset({"verb", "attempt", "outcome", "window_closes_at_ms"})


def _defaults(kind: Any, elsewhere: frozenset[str]) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, _default(f)) for f in fields(kind) if f.name not in elsewhere)


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


#: All other fields with their defaults, also those that Proposal may gain later.
_REST: Final = _defaults(Proposal, frozenset(_AS_THEY_ARE) | _TRANSLATED)
_EXECUTION_REST: Final = _defaults(Execution, _EXECUTION_COLUMNS)
_FIELDS: Final = tuple(f.name for f in fields(Proposal))
#: The name under which `_columns_of` writes a field; fields that are not here are in `rest`.
_STANDS_IN: Final = {name: name for name in (*_AS_THEY_ARE, *_TRANSLATED)}
_HOLDS_JSON: Final = frozenset({"execution", "frame", "extra"})
_KINDS: Final = Kinds(Proposal)


def row_of(proposal: Proposal) -> dict[str, Any]:
    """Return the columns of a proposal by name."""
    return _columns_of(proposal, (*_AS_THEY_ARE, *_TRANSLATED, "rest"))


def changes_of(proposal: Proposal, before: Proposal) -> dict[str, Any]:
    """Return the columns in which a proposal differs from `before`, by name.

    A field that holds JSON counts as changed if it is another object: in Python 1 == True.
    """
    held, was = proposal.__dict__, before.__dict__
    others = [name for name in _FIELDS if held[name] is not was[name]]  # cheap: most are the same
    changed = dict.fromkeys(
        _STANDS_IN.get(name, "rest")
        for name in others
        if name in _HOLDS_JSON or held[name] != was[name]
    )
    if "execution" in changed:
        changed["rest"] = None
    return _columns_of(proposal, changed)


def _columns_of(proposal: Proposal, names: Iterable[str]) -> dict[str, Any]:
    """Return the columns of these fields by name; the name `rest` stands for that column."""
    held = proposal.__dict__
    row: dict[str, Any] = {}
    for name in names:
        match name:
            case "rest":
                row["rest"] = _rest_of(proposal)
            case "actor" | "decided_by" | "opener":
                row[f"{name}_kind"], row[name] = _pair(held[name])
            case "verdict":
                row["verdict"] = verdict_text(proposal.verdict) if proposal.verdict else None
            case "kept_stop":
                stop = proposal.kept_stop
                row["kept_stop"] = dump(asdict(stop)) if stop else None
            case "execution":
                row.update(_execution_columns(proposal.execution))
            case _ if name in _ENUMS:
                row[name] = str(held[name]) if held[name] is not None else None
            case _:
                row[name] = held[name]
    return row


def own_copy(proposal: Proposal, most_bytes: int) -> Proposal | None:
    """Return an equal proposal whose content nobody else can change, None if it is too large.

    Only JSON values can be changed; they are copied by writing and reading them as a row does.
    """
    size = len(proposal.document) + len(proposal.r3_document)
    for result in proposal.verdict.results if proposal.verdict else ():
        size += sum(len(finding.path) + len(finding.words) for finding in result.findings)
    execution = proposal.execution
    receipt, standing = (execution.receipt, execution.still_stands) if execution else (None, ())
    if not (receipt or standing or proposal.frame or proposal.extra):
        return proposal if size <= most_bytes else None
    text = dump([receipt, standing, proposal.frame, proposal.extra])
    if size + len(text) > most_bytes:
        return None
    receipt, standing, frame, extra = load(text)
    if execution is not None:
        execution = replace(execution, receipt=receipt, still_stands=tuple(standing))
    return proposal.but(execution=execution, frame=frame, extra=extra)


def _execution_columns(execution: Execution | None) -> dict[str, Any]:
    if execution is None:
        return dict.fromkeys(_EXECUTION_COLUMNS)
    return {
        "verb": str(execution.verb),
        "attempt": execution.attempt,
        "outcome": str(execution.outcome),
        "window_closes_at_ms": execution.window_closes_at_ms,
    }


def _rest_of(proposal: Proposal) -> str:
    held = proposal.__dict__
    rest = {n: v for n, d in _REST if (v := held[n]) is not d and v != d}
    if proposal.execution is not None:
        rest["execution"] = _rest_of_execution(proposal.execution)
    return dump(rest)


def proposal_of(row: Row) -> Proposal:
    """Return the proposal in a row. Raises RowUnreadable if the row cannot be a proposal."""
    # sqlite3.Row searches its columns for each name, a dictionary does not.
    columns = dict(zip(row.keys(), row, strict=True)) if isinstance(row, sqlite3.Row) else row
    try:
        return _proposal_of(columns)
    except (ValueError, TypeError, KeyError) as error:
        words = f"The row of {row['proposal_id']} in the database cannot be read: {error}."
        raise RowUnreadable(words) from error


def _proposal_of(row: Mapping[str, Any]) -> Proposal:
    # The columns come last: `rest` must not hide what the queries ask of them.
    values = {**load(row["rest"]), **{name: row[name] for name in _AS_THEY_ARE}}
    attention, kept_stop, puller = row["attention"], row["kept_stop"], values.get("opener_puller")
    values |= {
        "state": State(row["state"]),
        "tier": Tier(row["tier"]),
        "tool_tier": Tier(row["tool_tier"]),
        "actor": of_its_kinds(Identity(ActorKind(row["actor_kind"]), row["actor"])),
        "document": _bytes(row["document"]),
        "r3_document": _bytes(row["r3_document"]),
        "verdict": verdict_of(row["verdict"]) if row["verdict"] is not None else None,
        "decided_by": _identity(row["decided_by_kind"], row["decided_by"]),
        "opener": _identity(row["opener_kind"], row["opener"]),
        "opener_puller": Puller(puller) if puller is not None else None,
        "permit_waits": _flag(row["permit_waits"]),
        "attention": Attention(attention) if attention is not None else None,
        "kept_stop": _stop_of(kept_stop) if kept_stop is not None else None,
        "execution": _execution_of(row, values.get("execution", {})),
    }
    values |= times_of_a_blocked(values) if values["tier"] is Tier.BLOCK else {}
    made = Proposal.of(values)
    _KINDS.check(made.__dict__)
    return made


def _bytes(column: bytes | str) -> bytes:
    """Return stored bytes. A person who edits a row with SQL functions leaves text; its bytes are
    returned, and the digest shows what they are worth. Raises TypeError for any other type."""
    if isinstance(column, bytes):
        return column
    if not isinstance(column, str):
        raise TypeError("its document is a number")
    return column.encode()


def _flag(column: Any) -> bool:
    if column not in (0, 1):  # the queries compare with 0, and nothing else may count as False
        raise TypeError("its permit_waits is neither 0 nor 1")
    return bool(column)


def _stop_of(column: str) -> KeptStop:
    return of_its_kinds(KeptStop(**load(column)))


def _pair(identity: Identity | None) -> tuple[str | None, str | None]:
    return (str(identity.kind), identity.id) if identity else (None, None)


def _identity(kind: str | None, name: str | None) -> Identity | None:
    if kind is None and name is None:
        return None
    return of_its_kinds(Identity(ActorKind(kind or ""), name or ""))


def _rest_of_execution(execution: Execution) -> dict[str, Any]:
    rest = {n: v for n, d in _EXECUTION_REST if (v := getattr(execution, n)) != d}
    if execution.cause is not None:
        cause = execution.cause
        rest["cause"] = {**asdict(cause), "by": cause.by.as_json()}
    return rest


def _execution_of(row: Mapping[str, Any], rest: Mapping[str, Any]) -> Execution | None:
    if row["verb"] is None:
        return None
    values = dict(rest)
    if "still_stands" in values:
        values["still_stands"] = tuple(values["still_stands"])
    if "cause" in values:
        values["cause"] = _cause_of(values["cause"])
    execution = Execution(
        verb=Verb(row["verb"]),
        attempt=row["attempt"],
        outcome=Outcome(row["outcome"]),
        window_closes_at_ms=row["window_closes_at_ms"],
        **values,
    )
    return of_its_kinds(execution)


def _cause_of(value: Mapping[str, Any]) -> Cause:
    by = of_its_kinds(Identity(ActorKind(value["by"]["kind"]), value["by"]["id"]))
    return of_its_kinds(Cause(by, Puller(value["puller"]), value["reason"], value["words"]))
