"""Sentinel asks every rule about a proposal, off the event loop; no failure of a rule counts as
passed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

from lifecycle.checking.rule_answers import Answers
from lifecycle.checking.rule_run import Run, Workers
from lifecycle.document import ProposalDocument
from lifecycle.located import located
from lifecycle.policy import Level
from lifecycle.sentinel import Facts, LoadedRule
from lifecycle.verdict import PASSED, Finding, RuleResult, Verdict
from lifecycle.verdicts.findings import LATE

log = logging.getLogger("signoff.sentinel")

#: A rule may take this long, in seconds of real time (design section 5).
RULE_LIMIT_S: Final = 0.2
#: Our own rules need about a millisecond for an ordinary document of this size, and some forty
#: for the most hostile one that was found: many tiny texts that are each written in escapes.
_SMALL_BYTES: Final = 4_096
_BY_HARDNESS: Final = list(Level)
#: One pool for the process: a reload makes a new Sentinel, not new threads.
_WORKERS: Final = Workers()


class Sentinel:
    """The gate that asks all rules about a proposal."""

    def __init__(
        self,
        rules: Sequence[LoadedRule],
        *,
        limit_s: float = RULE_LIMIT_S,
        ticks: Callable[[], float] = time.monotonic,
        workers: Workers = _WORKERS,
    ) -> None:
        """Take the loaded rules; `limit_s` is how long one may take, in seconds."""
        self.rules = tuple(rules)
        self._limit_s = limit_s
        self._ticks = ticks
        self._workers = workers
        self._all_own = all(rule.own for rule in self.rules)
        self._answers = Answers()

    async def check(
        self,
        document: ProposalDocument,
        facts: Facts,
        *,
        policy_digest: str,
        subset: Collection[str] | None = None,
    ) -> Verdict:
        """Return the verdict of all rules, or of those in `subset`, at `facts.now_ms`.

        A rule that raises, or answers anything but PASSED and findings, is `rule_error`. One that
        takes longer than the limit is `rule_timeout`. Both are hard. The verdict waits for neither,
        and every other rule is asked all the same.
        """
        results: list[RuleResult] = []
        waiting = self._asked(subset)
        while waiting:
            free = tuple(takewhile(self._is_free, waiting))
            found = (
                await self._in_one_hop(free, document, facts)
                if free
                else [_late(waiting[0], self._limit_s)]
            )
            results += found
            waiting = waiting[len(found) :]
        return Verdict(tuple(results), facts.now_ms, policy_digest)

    def check_at_once(
        self, document: ProposalDocument, facts: Facts, *, policy_digest: str, size_bytes: int
    ) -> Verdict | None:
        """Return the verdict of all rules on the calling thread, or None if that might take long.

        It is returned for a small document without evidence, if all rules come with Signoff (their
        time is bounded by the size of what they read) and none of them looks at a path outside. If
        a rule was late all the same, the machine stood still: the result is None, and the rules are
        asked again in the threads, under the same limit.
        """
        small = size_bytes <= _SMALL_BYTES and not facts.evidence
        if not small or not self._all_own or self._workers.any_stuck:
            return None
        outside = _Outside()
        inside = facts.looking(outside.refuse)
        known = self._answers.about(document, facts)
        results = []
        for rule in self.rules:
            result = known.get(rule.id) or self._in_time(rule, document, inside)
            if result is None or outside.asked:
                return None
            if rule.timeless and not result.findings:
                known[rule.id] = result
            results.append(result)
        return Verdict(tuple(results), facts.now_ms, policy_digest)

    def _in_time(
        self, rule: LoadedRule, document: ProposalDocument, facts: Facts
    ) -> RuleResult | None:
        began_s = self._ticks()
        result = judged(rule, document, facts)
        return result if self._ticks() - began_s < self._limit_s else None

    def _is_free(self, rule: LoadedRule) -> bool:
        """Return False for a rule that hangs in so many threads that it is asked in no other."""
        return not self._workers.is_stuck(rule.id)

    def _asked(self, subset: Collection[str] | None) -> tuple[LoadedRule, ...]:
        return tuple(rule for rule in self.rules if subset is None or rule.id in subset)

    async def _in_one_hop(
        self, rules: Sequence[LoadedRule], document: ProposalDocument, facts: Facts
    ) -> list[RuleResult]:
        """Return the results of the rules up to and including the first late one.

        If no thread began the run, all of these rules are late.
        """
        steps = [(rule.id, partial(judged, rule, document, facts)) for rule in rules]
        run = Run(steps, self._ticks)
        try:
            self._workers.take(run)
        except RuntimeError:
            return [_not_begun(rule) for rule in rules]
        try:
            if await run.finished(self._limit_s):
                return run.results
        finally:
            if run.leave():
                self._workers.left_behind(run)
        if not run.is_begun:
            return [_not_begun(rule) for rule in rules]
        return [*run.results, _late(rules[len(run.results)], self._limit_s)]


class _LooksOutside(LookupError):
    """A rule looked at a path where that would keep others waiting; it is not at fault."""


class _Outside:
    """Refuses every look at a path, and remembers that there was one."""

    def __init__(self) -> None:
        self.asked = False

    def refuse(self, path: str) -> str:
        self.asked = True
        raise _LooksOutside(path)


def judged(loaded: LoadedRule, document: ProposalDocument, facts: Facts) -> RuleResult:
    """Ask one rule and return its result, whatever the rule does."""
    try:
        applies = loaded.rule.applies_to(document, facts)
        answer = loaded.rule.check(document, facts) if applies is True else applies
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and _is_main():
            raise
        if not isinstance(error, _LooksOutside):  # it is asked again, in the threads
            log.error("the rule %s: %s", loaded.id, located(error))
        return _failed(loaded, f"raised {type(error).__name__}")
    if applies is False:
        return RuleResult(loaded.id, loaded.level)
    return _result(loaded, answer)


def _result(loaded: LoadedRule, answer: Any) -> RuleResult:
    if answer is PASSED:
        return RuleResult(loaded.id, loaded.level)
    found = (answer,) if isinstance(answer, Finding) else answer
    if not (isinstance(found, tuple) and found and all(map(_is_finding, found))):
        what = type(answer).__name__
        return _failed(loaded, f"answered with {what}, and neither PASSED nor findings")
    return RuleResult(loaded.id, loaded.level, tuple(_levelled(loaded, each) for each in found))


def _is_finding(value: Any) -> bool:
    return (
        isinstance(value, Finding)
        and all(isinstance(text, str) for text in (value.code, value.path, value.words))
        and bool(value.code)
        and (value.level is None or isinstance(value.level, Level))
    )


def _levelled(loaded: LoadedRule, finding: Finding) -> Finding:
    """Return the finding; it may be softer than its rule's level, but only the config hardens."""
    if finding.level is None or _hardness(finding.level) > _hardness(loaded.level):
        return finding
    return Finding(finding.code, finding.path, finding.words)


def _hardness(level: Level) -> int:
    return _BY_HARDNESS.index(level)


def _failed(loaded: LoadedRule, what: str) -> RuleResult:
    words = f"The rule {loaded.id} {what}, so it did not pass: an operator must mend the rule."
    finding = Finding("rule_error", "", words, Level.HARD)
    return RuleResult(loaded.id, loaded.level, (finding,))


def _late(loaded: LoadedRule, limit_s: float) -> RuleResult:
    return _timed_out(loaded, f"took longer than {limit_s * 1000:.0f} ms")


def _not_begun(loaded: LoadedRule) -> RuleResult:
    return _timed_out(loaded, "was not begun, for Sentinel has too much to check")


def _timed_out(loaded: LoadedRule, what: str) -> RuleResult:
    words = f"The rule {loaded.id} {what}, so it did not pass."
    return RuleResult(loaded.id, loaded.level, (Finding(LATE, "", words, Level.HARD),))


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
