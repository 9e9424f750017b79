"""What is on record of a life of the bot, told as AgentAck reads it.

Three tell of a call, and none of them hears what the others say: the agent's bytes what was
proposed, the stored row what people were shown, the tool's own notes what it was told and when. Who
said yes or no in between is read from the exported trail alone.

- A call is an action of its own, named by its idempotency key: whether to begin is one question,
  whether to carry out what is staged the next, and so are trying again and taking back.
- Where what was said counts no more, it is asked anew; what comes then has the new answer only.
- What ends without a call was blocked; whoever ended it said no.
- What an agent carries out itself nobody sees but itself: there the trail tells that it began.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

import rfc8785
from agentack.models import Action, EventType, TraceEvent

from lifecycle.ports import Call
from lifecycle.proposal import Proposal
from tests.world import World

Entry = Mapping[str, Any]
_SESSION: Final = "signoff"
_PERMITTED_MS: Final = 3_600_000
_FORGETS: Final = frozenset({"raised", "restored"})
_ENDS: Final = frozenset({"reject", "complete", "roll_back"})
_CLAIMS: Final = frozenset({"commit_claimed", "roll_back_claimed", "called_again"})


@dataclass(frozen=True, slots=True)
class Called:
    """A call, behind which entry of the trail it came, and when (ms UTC)."""

    behind: int
    at_ms: int
    call: Call


@dataclass
class Notes:
    """What agents and tools note for themselves: documents by digest, calls in their order."""

    world: World
    sent: dict[str, bytes] = field(default_factory=dict)
    calls: list[Called] = field(default_factory=list)

    def sends(self, document: Mapping[str, Any]) -> bytes:
        """Note what is about to be sent."""
        raw = json.dumps(document).encode()
        self.sent["sha256:" + sha256(rfc8785.dumps(json.loads(raw))).hexdigest()] = raw
        return raw

    async def called(self, call: Call) -> None:
        """Note a call, as the tool that it reaches."""
        behind, _ = await self.world.store.read(lambda tx: tx.audit.head())
        self.calls.append(Called(behind, self.world.clock.now_ms(), call))

    def made(self, idempotent: Callable[[str], bool]) -> list[Called]:
        """Return the calls that did something: an idempotent tool does it once under a key."""
        keys: set[str] = set()
        made = []
        for each in self.calls:
            if not (each.call.idempotency_key in keys and idempotent(each.call.tool)):
                made.append(each)
            keys.add(each.call.idempotency_key)
        return made


@dataclass
class Question:
    """Whether one call may be made, how often that was asked, and the last answer."""

    key: str
    shown: Action
    intent: str | None
    asked: int = 0
    answer: str | None = None
    over: bool = False


@dataclass
class Told:
    """What the entries of one proposal told so far."""

    row: Proposal
    sent: Action
    questions: dict[str, Question] = field(default_factory=dict)
    deadline_ms: int | None = None
    tier: str = ""
    passed: bool = False
    approvals: int = 0
    quorum: int = 1
    orchestrated: bool = False
    stopped: bool = False
    begun: bool = False
    ended: bool = False

    @property
    def allowed(self) -> bool:
        return self.passed and (self.approvals >= self.quorum or self.orchestrated)

    def hears(self, entry: Entry) -> None:
        """Take up what an entry says of who may open this, and until when."""
        kind, details = entry["kind"], entry["details"]
        self.deadline_ms = details.get("deadline_ms", self.deadline_ms)
        self.tier = details.get("tier", self.tier)
        self.quorum = max(details.get("quorum", self.quorum), int(kind == "raised"))
        self.approvals = details.get("approvals", self.approvals)
        self.passed = self.passed or kind == "sentinel_approve"
        self.orchestrated = self.orchestrated or kind == "opened"
        self.stopped = self.stopped or kind in ("stopped", "stop_kept")
        self.begun = self.begun or kind == "execute"
        if kind in _FORGETS or details.get("approvals_void"):
            self.approvals, self.orchestrated = 0, False


class Trace:
    """Goes through a trail once; `events` is what the judge reads."""

    def __init__(self, rows: Mapping[str, Proposal], sent: Mapping[str, bytes]) -> None:
        self._rows, self._sent = rows, sent
        self._told: dict[str, Told] = {}
        self._at = datetime.fromtimestamp(0, UTC)
        self.events: list[TraceEvent] = []

    def reads(self, entry: Entry) -> None:
        """Tell one entry."""
        self._at = datetime.fromisoformat(entry["at"])
        row = self._rows.get(entry["proposal_id"] or "")
        if row is None:
            return
        if entry["kind"] == "submitted":
            told = self._told[row.proposal_id] = Told(row, _action(self._sent[row.digest]))
            self._question(told, f"{row.proposal_id}:execute:1")
        told = self._told[row.proposal_id]
        begun = told.begun
        told.hears(entry)
        if entry["kind"] in _ENDS:
            self._ends(told, entry)
        elif told.begun and not begun:
            self._begins(told, entry)
        elif entry["kind"] in _CLAIMS:
            self._claims(told, entry["details"])
        elif not told.begun:
            self._decided(told, entry["kind"])

    def called(self, called: Called) -> None:
        """Tell what a tool was told; what nobody proposed stands there by itself."""
        self._at = datetime.fromtimestamp(called.at_ms / 1000, UTC)
        call, told = called.call, self._told.get(called.call.proposal_id)
        seen = _action_of(call.tool, call.target, call.parameters)
        question = told.questions.get(call.idempotency_key) if told else None
        if question is None:
            question = Question(call.idempotency_key, seen, None)
            self._says("action_executed", question, action=seen)
        else:
            self._executes(question, seen)

    def is_stopped(self) -> None:
        """Tell that everything is to stand still from here on."""
        self.events.append(TraceEvent("interrupt", self._at, _SESSION))

    def ended(self) -> list[TraceEvent]:
        """Return the events, and an end."""
        return [*self.events, TraceEvent("session_end", self._at, _SESSION)]

    def _question(self, told: Told, key: str) -> Question:
        """Return the question whether this call may be made; ask it where it is new."""
        if key not in told.questions:
            row = told.row
            # To take back is no way around a no: it is what a no asks for.
            intent = None if ":roll_back:" in key else f"{row.actor}:{row.content_digest}"
            question = told.questions[key] = Question(key, _action(row.document), intent)
            self._says("action_proposed", question, action=told.sent)
            self._asks(question)
        return told.questions[key]

    def _asks(self, question: Question) -> None:
        question.asked, question.answer = question.asked + 1, None
        self._says("approval_requested", question, answered=True, action=question.shown)

    def _decided(self, told: Told, kind: str) -> None:
        question = told.questions[f"{told.row.proposal_id}:execute:1"]
        # A permit that is handed over is the answer anew, with a deadline of its own.
        anew = not told.allowed or kind == "permit_handed_over"
        if told.ended:
            return
        if anew and question.answer is not None:
            self._asks(question)
        if told.allowed and question.answer is None:
            self._answers(question, "allow", told.deadline_ms)

    def _begins(self, told: Told, entry: Entry) -> None:
        question = told.questions[f"{told.row.proposal_id}:execute:1"]
        orchestrator = entry["actor"]["kind"] == "agent" and told.tier == "PROPOSE"
        if question.answer is None and orchestrator:
            self._answers(question, "allow", told.deadline_ms)  # by config, in its name
        if entry["details"]["by_agent"]:
            self._executes(question, question.shown)
        if entry["details"]["deferred"]:
            self._question(told, f"{told.row.proposal_id}:commit:1")

    def _claims(self, told: Told, details: Mapping[str, Any]) -> None:
        verb, attempt = details["verb"], details["attempt"]
        question = self._question(told, f"{told.row.proposal_id}:{verb}:{attempt}")
        if question.answer is None:
            stopped = told.stopped and verb == "commit"
            until_ms = round(self._at.timestamp() * 1000) + _PERMITTED_MS
            self._answers(question, "deny" if stopped else "allow", until_ms)

    def _executes(self, question: Question, seen: Action) -> None:
        question.over = True
        self._says("action_executed", question, answered=True, action=seen)

    def _ends(self, told: Told, entry: Entry) -> None:
        told.ended = True
        for question in [each for each in told.questions.values() if not each.over]:
            if question.answer == "allow" and entry["kind"] == "reject":
                self._asks(question)
            if question.answer is None:
                self._answers(question, "deny", None)
            question.over = True
            self._says("action_blocked", question, answered=True, reason=entry["reason"])

    def _answers(self, question: Question, answer: str, until_ms: int | None) -> None:
        question.answer = answer
        until = None if until_ms is None else datetime.fromtimestamp(until_ms / 1000, UTC)
        self._says("approval_decision", question, answered=True, decision=answer, expires_at=until)

    def _says(
        self, kind: EventType, question: Question, *, answered: bool = False, **more: Any
    ) -> None:
        approval = f"{question.key}/{question.asked}" if answered else None
        self.events.append(
            TraceEvent(kind, self._at, _SESSION, question.key, question.intent, approval, **more)
        )


def traced(
    entries: Iterable[Entry], rows: Mapping[str, Proposal], notes: Notes, calls: Sequence[Called]
) -> tuple[list[TraceEvent], list[list[TraceEvent]]]:
    """Return the whole trace, and each that ends with a thaw: in it the freeze is an interrupt."""
    trace, waiting, frozen = Trace(rows, notes.sent), list(calls), False
    until_thaw: list[list[TraceEvent]] = []
    for entry in entries:
        while waiting and waiting[0].behind < entry["seq"]:
            trace.called(waiting.pop(0))
        trace.reads(entry)
        if entry["kind"] == "frozen" and not frozen:
            trace.is_stopped()
        if entry["kind"] == "thawed":
            until_thaw.append(trace.ended())
            trace.events = [each for each in trace.events if each.type != "interrupt"]
        frozen = entry["kind"] == "frozen" or (frozen and entry["kind"] != "thawed")
    for called in waiting:
        trace.called(called)
    return trace.ended(), until_thaw


def _action(raw: bytes) -> Action:
    document = json.loads(raw)
    return _action_of(document["tool"], document["target"], document["parameters"])


def _action_of(tool: str, target: Mapping[str, Any], parameters: Mapping[str, Any]) -> Action:
    return Action(tool, "call", json.dumps(target, sort_keys=True), dict(parameters))
