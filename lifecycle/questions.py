"""A refinement plan is a question: posted to people, answered by the first reviewer (section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.answers import Answer, AuthorityOutcome, Reply, Sender
from lifecycle.callbacks import call_back
from lifecycle.door import announce, record
from lifecycle.errors import Fault, Refused, ReviewRefused
from lifecycle.llm.ingest import Question
from lifecycle.masking import mask_text
from lifecycle.moment import Moment, rfc3339
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind
from lifecycle.records import Message

_LONGEST_ANSWER: Final = 4_000
_GROUP: Final = "approvers"


def question_id(question: Question, sender: Sender) -> str:
    """Return the id under which people answer: one a plan and proposer."""
    return f"q-{question.digest.removeprefix('prop1_')[:16]}-{sender.id}"[:64]


def ask(tx: Transaction, moment: Moment, question: Question, sender: Sender) -> Answer:
    """Post a question on every surface, once; raises Refused too_many_open."""
    asked_id = question_id(question, sender)
    kept = tx.flags.get(_flag(asked_id))
    if kept is not None:
        return answer_to(kept, deduplicated=True)
    _make_room(tx, moment, sender, asked_id)
    asked: dict[str, Any] = {
        "question_id": asked_id,
        "actor": sender.id,
        "surface": sender.surface,
        "intent": mask_text(question.intent),
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
        "question_asked",
        sender.identity,
        sender=sender,
        details={"question_id": asked_id, "witness": asked["witness"]},
    )
    announce(tx, moment, f"question:{asked_id}", _words(asked))
    return answer_to(asked)


def answer_question(
    tx: Transaction, moment: Moment, asked_id: str, sender: Sender, words: str
) -> Reply:
    """Take the first reply of a reviewer and give it to the agent; raises ReviewRefused."""
    asked = tx.flags.get(_flag(asked_id))
    if asked is None:
        raise ReviewRefused("unknown_proposal", "No question has this id.")
    if sender.kind is not ActorKind.PERSON or sender.id not in moment.policy.group(_GROUP):
        raise ReviewRefused("not_a_reviewer", "Only a reviewer answers questions of agents.")
    if not words.strip():
        raise ReviewRefused("reason_required", f"Write: answer {asked_id} <words>")
    if asked["answer"] is not None:
        raise ReviewRefused(
            "already_decided", f"{asked['answered_by']} answered this question before you."
        )
    answered = asked | {
        "answer": words.strip()[:_LONGEST_ANSWER],
        "answered_by": sender.id,
        "answered_at_ms": moment.now_ms,
    }
    tx.flags.put(_flag(asked_id), answered)
    record(
        tx,
        moment,
        "question_answered",
        sender.identity,
        sender=sender,
        details={"question_id": asked_id, "answer": answered["answer"]},
    )
    _tell(tx, moment, answered)
    return Reply(f"{answered['actor']} gets your answer.")


def question_of(tx: Transaction, asked_id: str) -> Mapping[str, Any] | None:
    """Return a question as it stands, None where no question has this id."""
    found: Mapping[str, Any] | None = tx.flags.get(_flag(asked_id))
    return found


def question_json(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question as its agent sees it; `answer` is null until a reviewer replied."""
    at_ms = asked["answered_at_ms"]
    return {
        "question_id": asked["question_id"],
        "intent": asked["intent"],
        "target": asked["target"],
        "asked_at": rfc3339(asked["asked_at_ms"]),
        "witness": asked["witness"],
        "answer": asked["answer"],
        "answered_by": asked["answered_by"],
        "answered_at": rfc3339(at_ms) if at_ms is not None else None,
    }


def answer_to(asked: Mapping[str, Any], *, deduplicated: bool = False) -> Answer:
    """Return the answer object for a question: nothing is proposed, and nothing refused."""
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


def _make_room(tx: Transaction, moment: Moment, sender: Sender, asked_id: str) -> None:
    """Count the proposer's open questions like open proposals; an old one lapses by itself."""
    proposer = moment.policy.agents.get(sender.id or "") or moment.policy.people.get(
        sender.id or ""
    )
    limit = proposer.open_limit if proposer else 0
    since_ms = moment.now_ms - moment.policy.limits.proposal_ttl_s * 1000
    name = f"questions:{sender.id}"
    open_ids = [each for each in tx.flags.get(name) or [] if _open(tx, each, since_ms)]
    if len(open_ids) >= limit:
        raise Refused(
            [
                Fault(
                    "too_many_open",
                    required=f"at most {limit} open questions",
                    actual=f"{len(open_ids)} open",
                    suggestion="Wait until people have answered some of your questions.",
                )
            ],
            retry_after_s=60,
        )
    tx.flags.put(name, [*open_ids, asked_id])


def _open(tx: Transaction, asked_id: str, since_ms: int) -> bool:
    asked = tx.flags.get(_flag(asked_id))
    return asked is not None and asked["answer"] is None and asked["asked_at_ms"] > since_ms


def _tell(tx: Transaction, moment: Moment, answered: Mapping[str, Any]) -> None:
    tx.outbox.add(
        Message(
            key=f"answer:{answered['question_id']}",
            surface=answered["surface"],
            recipient=answered["actor"],
            kind="note",
            body={
                "text": f"{answered['answered_by']} answers {answered['question_id']}: "
                f"{answered['answer']}",
                "question": question_json(answered),
            },
            created_at_ms=moment.now_ms,
        )
    )
    key = f"answer:{answered['question_id']}"
    call_back(tx, moment, answered["actor"], key, "answered", question_json(answered))


def _words(asked: Mapping[str, Any]) -> str:
    return (
        f"QUESTION from agent {asked['actor']} about {asked['target']!r}: {asked['intent']!r}. "
        f"Nothing is executed. Reply with: answer {asked['question_id']} <words>"
    )


def _flag(asked_id: str) -> str:
    return f"question:{asked_id}"
