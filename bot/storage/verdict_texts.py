"""Turns a verdict into the text of its column and back, and remembers the short ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bot.row_kinds import of_its_kinds
from bot.storage.json_text import dump, load
from lifecycle.policy import Level
from lifecycle.verdict import Finding, RuleResult, Verdict

#: The longest text whose verdict is kept in memory, in characters. A verdict without findings has a
#: few hundred; one over a hostile document may have a hundred thousand, and is seldom read again.
_LONGEST_KEPT: Final = 8_192


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as JSON, exactly as it is; its wire form fills in levels and sorts."""
    results = [
        [r.rule, r.level, [[f.code, f.path, f.words, f.level] for f in r.findings]]
        for r in verdict.results
    ]
    return dump(
        {"at_ms": verdict.at_ms, "policy_digest": verdict.policy_digest, "results": results}
    )


def verdict_of(text: str) -> Verdict:
    """Return the verdict that a text holds.

    A verdict is read at every move of its proposal and cannot be changed, so one from a short text
    is kept. Raises ValueError, TypeError or KeyError if the text holds no verdict.
    """
    if len(text) > _LONGEST_KEPT:
        return _read(text)
    return _kept(text)


def _read(text: str) -> Verdict:
    value = load(text)
    results = tuple(
        of_its_kinds(RuleResult(rule, Level(level), tuple(_finding(*each) for each in findings)))
        for rule, level, findings in value["results"]
    )
    at_ms, policy_digest = value["at_ms"], value["policy_digest"]
    if type(at_ms) is not int or type(policy_digest) is not str:
        raise TypeError("its verdict tells no time, or no policy")
    return Verdict(results, at_ms, policy_digest)


_kept: Final = lru_cache(maxsize=1024)(_read)


def _finding(code: str, path: str, words: str, level: str | None) -> Finding:
    finding = Finding(code, path, words, Level(level) if level is not None else None)
    return of_its_kinds(finding)
