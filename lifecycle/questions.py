"""A refinement plan is a question: posted to people, answered by the first reviewer (section 9).

Questions are kept in flags. `ask` and `answer_question` are units of the workflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final, TypeGuard

from lifecycle.announcing import announce
from lifecycle.answers import Answer, AuthorityOutcome, Reply, Sender
from lifecycle.callbacks import call_back
from lifecycle.canonical import canonical_bytes, digest_of, sha256_hex
from lifecycle.door import record
from lifecycle.errors import Fault, Refused, ReviewRefused
from lifecycle.event_kinds import EventKind
from lifecycle.llm.ingest import Question
from lifecycle.moment import Moment, is_moment, rfc3339
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind
from lifecycle.records import Message
from lifecycle.text.folding import seen
from lifecycle.text.masking import harmless, mask_secrets, mask_text

_LONGEST_ANSWER: Final = 4_000
_LONGEST_ID: Final = 64
_GROUP: Final = "approvers"
_TEXTS: Final = ("question_id", "actor", "surface", "intent", "target", "witness")
#: The key of the announcement that asks it.
_POSTED: Final = "question:"


def ask(tx: Transaction, moment: Moment, question: Question, sender: Sender) -> Answer:
    """Post a question on every surface, unless the same one of its proposer waits already.

    One that was answered, or has lapsed, is asked anew: people answered what they were asked then.
    Raises Refused too_many_open.
    """
    digest = _digest(question, sender)
    waiting = _waiting(tx, moment, sender)
    same = next((each for each in waiting if each.get("digest") == digest), None)
    if same is not None:
        return answer_to(same, deduplicated=True)
    _leave_room(moment, sender, len(waiting))
    asked_id = _new_id(tx, moment, digest, sender)
    tx.flags.put(_list(sender), [*(each["question_id"] for each in waiting), asked_id])
    asked: dict[str, Any] = {
        "question_id": asked_id,
        "digest": digest,
        "actor": sender.id,
        "surface": sender.surface,
        "intent": mask_text(question.intent),
        "scope": mask_secrets(question.scope),
        "target": mask_text(str(question.plan["target"])),
        "asked_at_ms": moment.now_ms,
        "witness": question.witness["witnessId"],
        "witness_record": dict(question.witness),
        "answer": None,
        "answered_by": None,
        "answered_at_ms": None,
    }
    tx.flags.put(_flag(asked_id), asked)
    record(
        tx,
        moment,
        EventKind.QUESTION_ASKED,
        sender.identity,
        sender=sender,
        details={"question_id": asked_id, "witness": asked["witness"], "asked": shown_of(asked)},
    )
    announce(tx, moment, f"{_POSTED}{asked_id}", _words(asked))
    return answer_to(asked)


def answer_question(
    tx: Transaction, moment: Moment, asked_id: str, sender: Sender, words: str
) -> Reply:
    """Take the first reply of a reviewer and give it to the agent; raises ReviewRefused."""
    asked = question_of(tx, asked_id)
    if asked is None:
        raise ReviewRefused("unknown_proposal", "No question has this id.")
    if not may_answer(moment, sender):
        raise ReviewRefused("not_a_reviewer", "Only a reviewer answers questions of agents.")
    if not seen(words):  # signs that nobody sees say nothing
        raise ReviewRefused("reason_required", f"Write: answer {asked_id} <words>")
    if asked["answer"] is not None:
        raise ReviewRefused(
            "already_decided", f"{asked['answered_by']} answered this question before you."
        )
    kept, lacks = _kept(words.strip())
    answered: dict[str, Any] = {
        **asked,
        "answer": kept,
        "answered_by": sender.id,
        "answered_at_ms": moment.now_ms,
        "answered_in": _place(sender.surface, sender.place or ""),
    }
    tx.flags.put(_flag(asked_id), answered)
    told = {"question_id": asked_id, "answer": kept}
    record(tx, moment, EventKind.QUESTION_ANSWERED, sender.identity, sender=sender, details=told)
    _tell(tx, moment, answered)
    return Reply(f"{answered['actor']} gets your answer{lacks}")


def _kept(words: str) -> tuple[str, str]:
    """Return an answer as the trail keeps it for good, and the end of a sentence on what it lacks:
    a condition may stand in what is cut off, and what the agent asked for in what is masked."""
    masked = mask_text(words)
    lacks = "." if masked == words else ". What looks like a credential in it is masked."
    left = len(masked) - _LONGEST_ANSWER
    if left <= 0:
        return masked, lacks
    told = f"… ({left} more characters were cut off)"
    return masked[:_LONGEST_ANSWER] + told, f" without its last {left} characters{lacks}"


def note_posted(tx: Transaction, message: Message, message_id: str) -> None:
    """Remember in which message a question stands, so that a reply to that is its answer."""
    key, _, _ = message.key.rpartition("@")
    if key.startswith(_POSTED):
        tx.flags.put(_place(message.surface, message_id), key.removeprefix(_POSTED))


def is_answered(tx: Transaction, message: Message) -> bool:
    """Return whether this message asks a question that somebody has answered."""
    key, _, _ = message.key.rpartition("@")
    asked = question_of(tx, key.removeprefix(_POSTED)) if key.startswith(_POSTED) else None
    return asked is not None and asked["answer"] is not None


def asked_in(tx: Transaction, surface: str, message_id: str) -> str | None:
    """Return the id of the question in this message if replies to it are meant to answer it.

    Below its answer they are talk, and this returns None. Where that does not stand, nobody can
    know of it: whoever replies there is to be told who was first.
    """
    place = _place(surface, message_id)
    asked_id = tx.flags.get(place)
    asked = question_of(tx, asked_id) if isinstance(asked_id, str) else None
    if asked is None or (asked["answer"] is not None and asked.get("answered_in", place) == place):
        return None
    return str(asked_id)


def may_answer(moment: Moment, sender: Sender) -> bool:
    """Return whether the sender is a reviewer, whose reply is an answer."""
    by_person = sender.kind is ActorKind.PERSON and sender.is_known_to(moment.policy)
    return by_person and sender.id in moment.policy.group(_GROUP)


def question_of(tx: Transaction, asked_id: str) -> Mapping[str, Any] | None:
    """Return a question as it stands, None if no question has this id, or if somebody wrote there
    what is none: that keeps its agent from asking no other."""
    found = tx.flags.get(_flag(asked_id))
    return found if _is_question(found) and found["question_id"] == asked_id else None


def _is_question(found: Any) -> TypeGuard[Mapping[str, Any]]:
    told = found if isinstance(found, Mapping) else {}
    texts = all(isinstance(told.get(name), str) for name in _TEXTS)
    answer = all(isinstance(told.get(name, 0), str | None) for name in ("answer", "answered_by"))
    at_ms = told.get("answered_at_ms", -1)
    return (
        texts
        and answer
        and is_moment(told.get("asked_at_ms"))
        and (at_ms is None or is_moment(at_ms))
    )


def shown_of(asked: Mapping[str, Any]) -> str:
    """Return the digest, as it stands in the trail, of who asked and of what people are shown."""
    shown = {name: asked[name] for name in ("actor", "intent", "scope", "target")}
    return digest_of(canonical_bytes(shown))


def question_json(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question as its agent sees it; `answer` is null until a reviewer replied."""
    at_ms = asked["answered_at_ms"]
    return {
        "question_id": asked["question_id"],
        "intent": asked["intent"],
        "target": asked["target"],
        "asked_at": rfc3339(asked["asked_at_ms"]),
        "witness": asked["witness"],
        "answer": mask_text(asked["answer"]) if asked["answer"] is not None else None,
        "answered_by": asked["answered_by"],
        "answered_at": rfc3339(at_ms) if at_ms is not None else None,
    }


def answer_to(asked: Mapping[str, Any], *, deduplicated: bool = False) -> Answer:
    """Return the answer object for a question; nothing is proposed or refused by it."""
    return Answer(
        proposal_id=None,
        state=None,
        tier=None,
        outcome=AuthorityOutcome.ALLOW,
        explanation=f"Posted as the question {asked['question_id']}; the first reply of a reviewer "
        "comes back to you. A refinement plan is never executed.",
        deduplicated=deduplicated,
        result=question_json(asked),
    )


def _digest(question: Question, sender: Sender) -> str:
    """Return the digest that identifies a question: of all that was asked, and of who asked."""
    return digest_of(
        canonical_bytes(
            {
                "plan": question.digest,
                "intent": question.intent,
                "scope": question.scope,
                "actor": str(sender.identity),
            }
        )
    )


def _new_id(tx: Transaction, moment: Moment, digest: str, sender: Sender) -> str:
    """Return an id under which no question was ever asked."""
    shorts = (sha256_hex(f"{digest}:{moment.now_ms}:{n}".encode())[:16] for n in count())
    ids = (f"q-{short}-{sender.id}"[:_LONGEST_ID] for short in shorts)
    return next(asked_id for asked_id in ids if tx.flags.get(_flag(asked_id)) is None)


def _waiting(tx: Transaction, moment: Moment, sender: Sender) -> Sequence[Mapping[str, Any]]:
    """Return the proposer's questions that nobody answered; old ones lapse by themselves."""
    since_ms = moment.now_ms - moment.policy.limits.proposal_ttl_s * 1000
    ids = tx.flags.get(_list(sender))
    listed = (question_of(tx, str(each)) for each in (ids if isinstance(ids, list) else []))
    asked = (each for each in listed if each is not None)
    return [each for each in asked if each["answer"] is None and each["asked_at_ms"] > since_ms]


def _leave_room(moment: Moment, sender: Sender, waiting: int) -> None:
    """Raise Refused if the proposer's open questions reach the limit of its open proposals."""
    proposer = moment.policy.agents.get(sender.id or "") or moment.policy.people.get(
        sender.id or ""
    )
    limit = proposer.open_limit if proposer else 0
    if waiting >= limit:
        raise Refused(
            [
                Fault(
                    "too_many_open",
                    required=f"at most {limit} open questions",
                    actual=f"{waiting} open",
                    suggestion="Wait until people have answered some of your questions.",
                )
            ],
            retry_after_s=60,
        )


def _tell(tx: Transaction, moment: Moment, answered: Mapping[str, Any]) -> None:
    tx.outbox.add(
        Message(
            key=f"answer:{answered['question_id']}",
            surface=answered["surface"],
            recipient=answered["actor"],
            kind="note",
            body={
                "text": f"{answered['answered_by']} answers {answered['question_id']}: "
                f"{harmless(answered['answer'])}",
                "question": question_json(answered),
            },
            created_at_ms=moment.now_ms,
        )
    )
    key = f"answer:{answered['question_id']}"
    call_back(tx, moment, answered["actor"], key, "answered", question_json(answered))


def _words(asked: Mapping[str, Any]) -> str:
    return (
        f"QUESTION from agent {asked['actor']} about {asked['target']!r} in "
        f"{_scope_words(asked['scope'])!r}: {asked['intent']!r}. "
        f"Nothing is executed. Answer with: answer {asked['question_id']} <words>"
    )


def _scope_words(scope: Any) -> str:
    return scope if isinstance(scope, str) else canonical_bytes(scope).decode()


def _list(sender: Sender) -> str:
    return f"questions:{sender.id}"


def _place(surface: str, message_id: str) -> str:
    return f"question_message:{surface}:{message_id}"


def _flag(asked_id: str) -> str:
    return f"question:{asked_id}"
