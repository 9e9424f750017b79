"""Cases C10 and C11: a pattern holds nobody up, and one that cannot run never counts as passed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.bootstrap import App, opened
from bot.config import ConfigInvalid, load_config
from lifecycle.answers import Answer, CardPlace, Reply, Sender
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Level, RuleSettings
from lifecycle.proposal import ActorKind
from lifecycle.sentinel import LoadedRule
from lifecycle.verdict import PASSED
from sentinel_rules import RuleLoadError, load_rules
from tests.builders import MAIL, a_document, the_rules
from tests.checking import sentinel_with
from tests.fakes.clock import FakeClock
from tests.fakes.notifier import PlainNotifier
from tests.roads import adopted
from tests.world import World

BASE = Path(__file__).parents[1] / "bot" / "base.yaml"
HOSTILE = "a" * 30 + "!"
#: What Python's own `re` needs for the hostile text is counted in hours.
AT_ONCE_S = 1.0


async def rejected_at_once(world: World) -> Reply:
    """React with ❌ on the card of p1."""
    began_s = time.monotonic()
    async with asyncio.timeout(AT_ONCE_S):
        place = CardPlace("terminal", "m-p1")
        reply = await world.workflow.reject("p1", world.sender("ana"), card=place)
    assert time.monotonic() - began_s < AT_ONCE_S
    assert (await world.proposal("p1")).reason == "rejected_by_person"
    return reply


@pytest.mark.parametrize("body", ["Hello!", "a" * 60_000 + "!"], ids=["short", "long"])
@pytest.mark.parametrize(
    ("pattern", "state", "reason"),
    [
        (r"^(\w+\s?)*$", "rejected", "prohibited_content"),
        (r"^(a+)+b$", "sentinel_approved", None),
    ],
    ids=["finds something", "finds nothing"],
)
async def test_C10_a_nested_repetition_is_judged_at_once_and_holds_up_no_rejection(
    roomy: World, pattern: str, state: str, reason: str | None, body: str
) -> None:
    await roomy.submits(MAIL, proposal_id="p1")
    hostile = sentinel_with("prohibited_content", patterns=[pattern])
    await adopted(roomy.workflow, roomy.workflow.policy, hostile)
    parameters = MAIL["parameters"] | {"subject": HOSTILE, "body": body}

    judged = asyncio.create_task(roomy.submits(proposal_id="p2", parameters=parameters))
    await asyncio.sleep(0)
    assert (await rejected_at_once(roomy)).done
    answer = await judged

    assert (answer.state, answer.reason) == (state, reason)
    assert {fault.code for fault in answer.errors} <= {"prohibited_phrase"}


@pytest.fixture
def over() -> Iterator[threading.Event]:
    """What a hanging rule waits for; it comes at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def hanging(rule: LoadedRule, over: threading.Event, began: threading.Event) -> LoadedRule:
    """The rule, that notes its beginning and then sleeps."""

    def check(*_: Any) -> Any:
        began.set()
        over.wait(60)
        return PASSED

    odd = type("Hanging", (type(rule.rule),), {"check": check})(rule.options)
    return LoadedRule(odd, rule.level, rule.options)


async def test_C10_a_rule_that_sleeps_is_too_late_and_holds_up_no_rejection(
    roomy: World, over: threading.Event
) -> None:
    await roomy.submits(MAIL, proposal_id="p1")
    began = threading.Event()
    rules = [
        hanging(rule, over, began) if rule.id == "prohibited_content" else rule
        for rule in load_rules(the_rules())
    ]
    await adopted(roomy.workflow, roomy.workflow.policy, Sentinel(rules))
    parameters = MAIL["parameters"] | {"subject": HOSTILE}
    judged = asyncio.create_task(roomy.submits(proposal_id="p2", parameters=parameters))
    await asyncio.to_thread(began.wait, 10)
    assert (await rejected_at_once(roomy)).done
    answer = await judged

    assert (answer.state, answer.reason) == ("rejected", "prohibited_content")
    assert [(f.rule, f.code) for f in answer.errors] == [("prohibited_content", "rule_timeout")]
    assert answer.explanation.count("again") == 1, "told once, and that it needs a new id"


@pytest.mark.parametrize("pattern", ["(unclosed", "a{2,1}", "(?=ahead)", "[z-a]"])
def test_C11_a_bad_pattern_stops_the_start(pattern: str) -> None:
    settings = RuleSettings(Level.HARD, {"patterns": ["fine", pattern]})

    with pytest.raises(RuleLoadError) as caught:
        load_rules(the_rules() | {"prohibited_content": settings})

    [problem] = caught.value.problems
    assert problem.rule == "prohibited_content"
    assert problem.path == ("sentinel", "prohibited_content", "patterns", 1)
    assert pattern in problem.remedy


def test_C11_a_phrase_that_shows_nothing_stops_the_start() -> None:
    settings = RuleSettings(Level.HARD, {"phrases": ["\u200b"]})

    with pytest.raises(RuleLoadError, match="visible"):
        load_rules(the_rules() | {"prohibited_content": settings})


def written(path: Path, patterns: str) -> Path:
    """Write the working config with these patterns."""
    text = BASE.read_text(encoding="utf-8")
    assert text.count("patterns: []") == 1
    path.write_text(text.replace("patterns: []", f"patterns: {patterns}"), encoding="utf-8")
    return path


BAD = '["(unclosed"]'
KEY = "sentinel.prohibited_content.patterns[0]"


def test_C11_the_refused_start_names_the_file_the_line_and_the_rule(tmp_path: Path) -> None:
    path = written(tmp_path / "config.yaml", BAD)
    lines = path.read_text(encoding="utf-8").splitlines()

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    (problem,) = refused.value.problems
    assert (problem.file, problem.key) == (str(path), KEY)
    assert "prohibited_content" in lines[problem.line - 1]
    assert "(unclosed" in problem.words


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """A bot with the working config, put together by the composition root."""
    config = load_config(written(tmp_path / "config.yaml", "[]"))
    async with opened(config, {}, PlainNotifier()) as app:
        app.workflow.world.clock = FakeClock()
        await app.workflow.start()
        yield app
        await app.workflow.shut_down(1)


async def mailed(app: App, proposal_id: str, body: str) -> Answer:
    parameters = {"to": "pat@shop.example", "subject": proposal_id, "body": body}
    document = a_document(MAIL, proposal_id=proposal_id, parameters=parameters)
    leila = Sender("terminal", ActorKind.AGENT, "leila", account="leila")
    return await app.workflow.submit(json.dumps(document).encode(), leila)


async def test_C11_a_reload_with_a_bad_pattern_keeps_the_rules_in_force(app: App) -> None:
    before = app.workflow.policy.digest
    path = written(app.config.path, BAD)

    told, *meanwhile = await asyncio.gather(
        app.reload(), *(mailed(app, f"m{n}", "your final warning") for n in range(3))
    )
    after = await mailed(app, "after", "your final warning")
    harmless = await mailed(app, "harmless", "Hello")

    assert "the old one stays in force" in told
    assert f"{path}:" in told
    assert KEY in told
    assert app.workflow.policy.digest == before
    for answer in (*meanwhile, after):
        assert (answer.state, answer.reason) == ("rejected", "prohibited_content")
    assert harmless.state == "sentinel_approved"


async def test_C11_once_the_pattern_is_mended_a_reload_takes_it(app: App) -> None:
    before = app.workflow.policy.digest
    written(app.config.path, BAD)
    await app.reload()
    written(app.config.path, '["un(closed)?"]')

    assert "is in force" in await app.reload()
    assert app.workflow.policy.digest != before
    assert (await mailed(app, "m1", "it is unclosed")).reason == "prohibited_content"
