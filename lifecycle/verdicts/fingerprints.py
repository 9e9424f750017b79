"""Fingerprints of the rules, tools and reviewers of a policy, with which a later one is compared.

They are kept in the store by policy digest, so that a restart under a new config knows what
changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Final

from lifecycle.canonical import canonical_bytes, sha256_hex
from lifecycle.moment import Moment
from lifecycle.policy import Policy, ToolPolicy
from lifecycle.ports import Transaction
from lifecycle.text.masking import plain_words

#: The flag that holds the digest of the policy in force.
POLICY_FLAG: Final = "policy"
#: The flag that holds the digests of the policies that are kept.
_KEPT_FLAG: Final = "standings"
_LAST: Final = 2
#: The findings of these rules depend on the hour or on evidence, not on the tool: a changed tool
#: alone does not make them run inside a window.
_OF_THE_MOMENT: Final = frozenset({"preconditions_hold", "change_window_open"})


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Fingerprints of one policy, by rule and by tool.

    `calls` are of what is called and what the config adds to it; `reviewers` are the ids
    themselves.
    """

    rules: Mapping[str, str]
    tools: Mapping[str, str]
    calls: Mapping[str, str]
    reviewers: Mapping[str, list[str]]

    def as_json(self) -> dict[str, Any]:
        """Return what is kept in the store."""
        return asdict(self)

    @classmethod
    def of_json(cls, value: Any) -> Fingerprints | None:
        """Read back what `as_json` wrote; None for anything else."""
        told = {"calls": {}, **value} if isinstance(value, Mapping) else {}
        parts: list[Any] = [told.get(each) for each in ("rules", "tools", "calls", "reviewers")]
        return cls(*parts) if all(isinstance(each, Mapping) for each in parts) else None


def keep_fingerprints(tx: Transaction, policy: Policy) -> None:
    """Write that this policy is in force from now on, with its fingerprints."""
    before = tx.flags.get(POLICY_FLAG)
    known = _kept(tx) or ([] if before is None else [before])
    tx.flags.put(_KEPT_FLAG, [*(each for each in known if each != policy.digest), policy.digest])
    tx.flags.put(_flag(policy.digest), fingerprints_of(policy).as_json())
    tx.flags.put(POLICY_FLAG, policy.digest)


def too_many_kept(tx: Transaction) -> bool:
    """Return whether more policies are kept than the last two."""
    return len(_kept(tx)) > _LAST


def forget_standings(tx: Transaction, needed: Collection[str]) -> None:
    """Keep the last two policies, and those under which something open was judged last (`needed`).

    The last but one is kept because something may have been judged under it while `needed` was
    read.
    """
    known = _kept(tx)
    left = [each for each in known if each in needed or each in known[-_LAST:]]
    for digest in known:
        if digest not in left:
            tx.flags.put(_flag(digest), None)
    if left != known:
        tx.flags.put(_KEPT_FLAG, left)


def fingerprints_under(tx: Transaction, digest: str) -> Fingerprints | None:
    """Return what is kept of a policy, None if it was forgotten or never in force."""
    return Fingerprints.of_json(tx.flags.get(_flag(digest)))


def _kept(tx: Transaction) -> list[str]:
    """Return the digests of what is kept, oldest first; empty if somebody wrote over them."""
    known = tx.flags.get(_KEPT_FLAG)
    return [each for each in known if isinstance(each, str)] if isinstance(known, list) else []


def _flag(digest: str) -> str:
    return f"standing:{digest}"


def digest_in_force(tx: Transaction) -> str:
    """Return the digest of the policy that was put in force last, as it may stand in the trail.

    Empty if there was none, or if somebody wrote over it what is no text.
    """
    known = tx.flags.get(POLICY_FLAG)
    return plain_words(known) if isinstance(known, str) else ""


def in_force(tx: Transaction, moment: Moment) -> bool:
    """Return whether the policy of this moment has not been replaced by now."""
    return tx.flags.get(POLICY_FLAG) in (None, moment.policy.digest)


def fingerprints_of(policy: Policy) -> Fingerprints:
    """Take the fingerprints of `policy`."""
    return Fingerprints(
        rules={
            rule: _print_of({"level": s.level.value, "settings": _plain(s.settings)})
            for rule, s in policy.rules.items()
        },
        tools={name: _print_of(_tool(tool)) for name, tool in policy.tools.items()},
        calls={name: call_print_of(tool) for name, tool in policy.tools.items()},
        reviewers={name: sorted(policy.reviewers_of(tool)) for name, tool in policy.tools.items()},
    )


def call_print_of(tool: ToolPolicy) -> str:
    """Return the fingerprint of what is called for a tool, and what the config adds to the call."""
    return _print_of({"kind": _plain(tool.kind), "settings": _plain(tool.settings)})


def changed_rules(before: Fingerprints, after: Fingerprints, tool: str) -> frozenset[str]:
    """Return the rules that may judge `tool` otherwise after than before: changed ones, or if the
    tool changed, all but those of the moment."""
    changed = {rule for rule, mark in after.rules.items() if before.rules.get(rule) != mark}
    if before.tools.get(tool) != after.tools.get(tool):
        changed |= after.rules.keys() - _OF_THE_MOMENT
    return frozenset(changed)


def _tool(tool: ToolPolicy) -> dict[str, Any]:
    return {
        name: _plain(getattr(tool, name))
        for name in ToolPolicy.__dataclass_fields__
        if name != "reviewers"
    }


def _plain(value: Any) -> Any:
    """Bring a config value into JSON's types, deterministically."""
    match value:
        case Mapping():
            return {str(k): _plain(v) for k, v in value.items()}
        case set() | frozenset():
            return sorted(map(str, value))
        case list() | tuple():
            return [_plain(item) for item in value]
        case Enum():
            return value.value
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _print_of(value: Any) -> str:
    return sha256_hex(canonical_bytes(value))
