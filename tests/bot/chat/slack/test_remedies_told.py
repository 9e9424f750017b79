"""A remedy that is told on Slack can be typed there as it is told."""

from __future__ import annotations

import re

from tests.bot.chat.slack.counted import DEPLOY
from tests.builders import PROD
from tests.fakes.tools import raising
from tests.slack_stage import OnSlack, eventually, on_slack, shown, unescaped
from tests.stories.test_questions import asks


async def test_the_call_for_a_person_names_commands_as_they_are_typed_here() -> None:
    async with on_slack() as slack:
        slack.world.tool(DEPLOY).on["execute"] = raising(RuntimeError("the line was cut"))
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts)
        called = await eventually(lambda: slack.said("p1 (production-deploy) needs a person"))
        found = re.search(r"/signoff (settle p1 happened)", shown(called[0]))
        assert found is not None

        await slack.server.reacts("UBEN", card.ts)
        note = await eventually(lambda: [each for each in slack.hints() if "settle" in each])
        assert "/signoff settle p1 happened" in note[0]

        await slack.server.slash("UBEN", found[1])
        await slack.stands("p1", "completed")


async def test_whoever_types_a_command_in_vain_is_told_the_next_as_it_is_typed_here() -> None:
    async with on_slack() as slack:
        slack.world.tool(DEPLOY).on["execute"] = raising(RuntimeError("the line was cut"))
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: slack.said("p1 (production-deploy) needs a person"))

        await slack.server.slash("UBEN", "approve p1")
        await eventually(lambda: _responded(slack, "look, then: /signoff settle p1 happened"))
        await slack.server.says("UBEN", "<@USIGNOFF> reject p1")
        (told,) = await eventually(lambda: slack.said("Say why"))
        assert "Say why: /signoff reject p1 <reason>" in unescaped(told.text)


async def test_whoever_looks_is_told_the_commands_as_they_are_typed_here() -> None:
    async with on_slack() as slack:
        slack.world.tool(DEPLOY).on["execute"] = raising(RuntimeError("the line was cut"))
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: slack.said("p1 (production-deploy) needs a person"))

        await slack.server.slash("UBEN", "show p1")
        await eventually(lambda: _responded(slack, "look, then: /signoff settle p1 happened"))
        await eventually(lambda: _responded(slack, "\n/signoff retry p1\n"))
        await slack.server.slash("UBEN", "status")
        await eventually(lambda: _responded(slack, "Audit:"))
        assert "look, then: /signoff settle p1 happened" in slack.server.responses[-1]["text"]
        (on_card,) = (each for each in slack.server.workspace.messages if each.ts == card.ts)
        assert "look, then: /signoff settle p1 happened" in shown(on_card)


async def test_a_question_names_the_answer_as_it_is_typed_here() -> None:
    async with on_slack() as slack:
        asked = (await asks(slack.world, "May I refund order 17?")).result["question_id"]
        asks_it = (await eventually(lambda: slack.said("QUESTION")))[0]
        found = re.search(rf"/signoff (answer {asked}) <words>", unescaped(asks_it.text))
        assert found is not None
        await slack.server.reacts("UBEN", asks_it.ts)
        (note,) = await eventually(lambda: slack.hints(), "the note to ben")
        assert note.startswith("An emoji answers no question")
        assert note.endswith(found[0])

        await slack.server.slash("UBEN", f"{found[1]} Yes, but only once.")
        await eventually(lambda: _responded(slack, "gets your answer"))
        (entry,) = await slack.world.audit("question_answered")
        assert entry["details"]["answer"] == "Yes, but only once."


def _responded(slack: OnSlack, words: str) -> bool:
    return any(words in each["text"] for each in slack.server.responses)
