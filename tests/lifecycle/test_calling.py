"""Every call ends done, failed or unknown, in words that leak nothing (design section 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from lifecycle.calls.calling import call_tool
from lifecycle.ports import Call, ToolDoubtful, ToolFailed
from lifecycle.proposal import Outcome, Verb

CALL = Call(
    verb="execute",
    proposal_id="p1",
    digest="sha256:aa",
    idempotency_key="p1:execute:1",
    tool="staging-deploy",
    target={},
    parameters={},
    receipt=None,
    permit="t",
    limit_s=5,
)


class Answers:
    """Answers every verb alike: returns a value, raises an error, or never ends."""

    def __init__(self, answer=None, *, raises=None, hangs=False):
        self.answer, self.raises, self.hangs = answer, raises, hangs
        self.verbs = []

    async def _act(self, verb):
        self.verbs.append(verb)
        if self.hangs:
            await asyncio.Event().wait()
        if self.raises is not None:
            raise self.raises
        return self.answer

    async def execute(self, call):
        return await self._act("execute")

    async def commit(self, call):
        return await self._act("commit")

    async def roll_back(self, call):
        return await self._act("roll_back")


@pytest.mark.parametrize("verb", ["execute", "commit", "roll_back"])
async def test_the_verb_of_the_call_is_called_once(verb):
    tool = Answers({})

    result = await call_tool(tool, replace(CALL, verb=verb))

    assert (result.outcome, tool.verbs) == (Outcome.DONE, [verb])


async def test_a_verb_that_no_tool_has_is_unknown_and_calls_nothing():
    tool = Answers({})

    result = await call_tool(tool, replace(CALL, verb="explode"))

    assert (result.outcome, tool.verbs) == (Outcome.UNKNOWN, [])


async def test_tool_failed_means_failed_and_its_words_are_masked():
    result = await call_tool(Answers(raises=ToolFailed("no\nway: password=hunter2 " * 99)), CALL)

    assert result.outcome is Outcome.FAILED
    assert "hunter2" not in result.explanation
    assert "\n" not in result.explanation
    assert len(result.explanation) < 400


@pytest.mark.parametrize(("said", "words"), [("", "."), ("gone", ": gone."), ("Why?", ": Why?")])
async def test_a_failure_is_told_in_a_sentence_and_by_what_it_left(said, words):
    failing = Answers(raises=ToolFailed(said))
    executed = await call_tool(failing, CALL)
    taken_back = await call_tool(failing, replace(CALL, verb=Verb.ROLL_BACK.value))

    assert executed.explanation == f"{CALL.tool} failed and left nothing behind{words}"
    assert taken_back.explanation == f"{CALL.tool} took nothing back{words}"


async def test_any_other_error_is_unknown_and_only_its_name_is_told():
    result = await call_tool(Answers(raises=RuntimeError("postgres://u:pw@h/d")), CALL)

    assert result.outcome is Outcome.UNKNOWN
    assert "RuntimeError" in result.explanation
    assert "pw" not in result.explanation


async def test_a_timeout_of_the_tools_own_is_unknown():
    result = await call_tool(Answers(raises=TimeoutError()), CALL)

    assert (result.outcome, "within" in result.explanation) == (Outcome.UNKNOWN, False)
    assert "ended with TimeoutError; what it did is not known" in result.explanation


async def test_no_answer_within_the_limit_is_unknown():
    result = await call_tool(Answers(hangs=True), replace(CALL, limit_s=0.01))

    assert result.outcome is Outcome.UNKNOWN
    assert "within 0.01 s" in result.explanation


class Unreadable(Mapping):
    """A receipt of a tool's own making, which fails when it is looked at."""

    def __init__(self, error):
        self.error = error

    def __getitem__(self, key):
        raise self.error

    def __iter__(self):
        raise self.error

    def __len__(self):
        raise self.error


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("it changed"), AttributeError("no")])
async def test_a_receipt_that_cannot_be_looked_at_is_unknown(error):
    result = await call_tool(Answers(Unreadable(error)), CALL)

    assert result.outcome is Outcome.UNKNOWN
    assert type(error).__name__ in result.explanation


class Untold:
    """What an error tells is an object of the tool's own, and that fails."""

    def __str__(self):
        raise RecursionError


@pytest.mark.parametrize("error", [ToolDoubtful, ToolFailed])
async def test_an_error_whose_words_cannot_be_read_leaves_it_unknown_what_was_done(error):
    result = await call_tool(Answers(raises=error(Untold())), CALL)

    assert (result.outcome, "RecursionError" in result.explanation) == (Outcome.UNKNOWN, True)


class AnswersMeanwhile(Answers):
    """Answers while nobody can look: some turns of the loop are needed to take its answer."""

    def __init__(self, answer, stop):
        super().__init__(answer)
        self.stop = stop

    async def _act(self, verb):
        self.stop(90)
        for _ in range(20):
            await asyncio.sleep(0)
        return await super()._act(verb)


async def test_an_answer_that_came_while_the_process_was_stopped_is_taken(stopped_for):
    result = await call_tool(AnswersMeanwhile({"id": 7}, stopped_for), CALL)

    assert (result.outcome, result.receipt) == (Outcome.DONE, {"id": 7})


async def test_a_tool_that_gave_none_meanwhile_is_not_waited_for_long(stopped_for):
    calling = asyncio.create_task(call_tool(Answers(hangs=True), CALL))
    await asyncio.sleep(0)
    for _ in range(3):
        stopped_for(90)
        for _ in range(3):
            await asyncio.sleep(0)

    assert calling.done()
    assert "did not answer within 5 s" in calling.result().explanation


async def test_a_cancellation_while_an_answer_is_taken_is_passed_on(stopped_for):
    calling = asyncio.create_task(call_tool(Answers(hangs=True), CALL))
    await asyncio.sleep(0)
    stopped_for(90)
    for _ in range(3):
        await asyncio.sleep(0)
    assert not calling.done()
    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_a_cancellation_of_the_caller_is_passed_on():
    task = asyncio.create_task(call_tool(Answers(hangs=True), CALL))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
