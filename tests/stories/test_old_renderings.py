"""A ✅ counts for what its card showed, and for nothing that came after it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.trail import verified_in
from lifecycle.answers import CardPlace, Reply
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.clockwork.restored import bring_back
from lifecycle.policy import Level, RuleSettings
from lifecycle.ports import StoreUnavailable
from lifecycle.records import Card
from lifecycle.review import Review
from lifecycle.state import State
from lifecycle.tier import Tier
from sentinel_rules import load_rules
from tests.builders import MAIL, PROD, a_document
from tests.roads import adopted
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"
PLACE = CardPlace("terminal", "m-d")


async def adopts_unseen(world: World, **changes: Any) -> None:
    """Put a policy in force while no edit of a card arrives."""
    policy = replace(world.workflow.policy, **changes, digest=f"pol1_{'9' * 64}")
    await adopted(world.workflow, policy, Sentinel(load_rules(policy.rules)))
    await world.workflow.idle()


def calling(world: World, tool: str, url: str) -> dict[str, Any]:
    tools = dict(world.workflow.policy.tools)
    return tools | {tool: replace(tools[tool], settings={"url": url})}


async def deployed_elsewhere(world: World, approval_class: str = "single") -> None:
    """Let a deployment wait whose card shows where it was to go, not where it goes by now."""
    await world.submits(PROD, proposal_id="d", approval_class=approval_class)
    await adopts_unseen(world, tools=calling(world, DEPLOY, "https://other.example/b"))


async def the_card(world: World) -> Card:
    (card,) = await world.store.read(lambda tx: tx.cards.of("d"))
    return card


async def reviews(world: World) -> list[Review]:
    return list(await world.store.read(lambda tx: tx.reviews.of("d")))


async def found(world: World, person: str, shown_version: int | None = None) -> Reply:
    place = replace(PLACE, shown_version=shown_version)
    sender = world.sender(person)
    reply = await world.workflow.approve("d", sender, card=place, found_late=True)
    await world.workflow.idle()
    return reply


async def test_a_check_mark_opens_nothing_that_its_card_does_not_show_yet(world: World) -> None:
    await deployed_elsewhere(world, "dual")
    for person in ("ben", "dee"):
        reply = await world.reacts(person, "d", "✅")
        assert (reply.code, reply.passing) == ("stale_card", False)
        assert "take the ✅ off and put it there again" in reply.words
    assert await reviews(world) == []
    assert world.tool(DEPLOY).verbs() == []
    assert [row["reason"] for row in await world.audit("ignored")] == ["stale_card"] * 2
    card = await the_card(world)
    assert card.shown_version < card.wanted_version

    await world.shows()
    for person in ("ben", "dee"):
        assert (await world.reacts(person, "d", "✅")).done
    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_what_is_typed_is_tied_to_no_card(world: World) -> None:
    await deployed_elsewhere(world)
    assert (await world.approves("ben", "d")).done
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_cross_counts_whatever_its_card_shows(world: World) -> None:
    await deployed_elsewhere(world)
    assert (await world.reacts("ben", "d", "❌")).done
    assert (await world.proposal("d")).state is State.REJECTED


async def test_approvals_alone_make_no_card_too_old_to_approve_on(world: World) -> None:
    await world.submits(PROD, proposal_id="d", approval_class="dual")
    for person in ("ana", "ben"):
        assert (await world.reacts(person, "d", "✅")).done
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_policy_that_changes_nothing_about_it_makes_no_card_too_old(world: World) -> None:
    await world.submits(PROD, proposal_id="d", approval_class="dual")
    await world.reacts("ana", "d", "✅")
    tools = dict(world.workflow.policy.tools)
    await adopts_unseen(world, tools=tools | {"search": replace(tools["search"], timeout_s=11)})
    assert (await world.reacts("ben", "d", "✅")).done
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_restart_forgets_nothing_of_what_a_card_did_not_show(world: World) -> None:
    await deployed_elsewhere(world)
    await world.workflow.shut_down(1)
    world.notifier.names, names = (), world.notifier.names  # no edit arrives after it either
    await world.restarts()
    world.notifier.names = names
    assert (await world.reacts("ben", "d", "✅")).code == "stale_card"


async def test_nothing_is_refused_where_a_former_version_noted_nothing(world: World) -> None:
    await deployed_elsewhere(world)
    seen = await world.proposal("d")
    assert seen.anew_version == seen.version
    await world.store.write(lambda tx: tx.proposals.save(seen.but(anew_version=0), seen))
    assert (await world.reacts("ben", "d", "✅")).done


async def test_a_finding_that_came_later_is_seen_before_anybody_overrides_it(world: World) -> None:
    await world.submits(MAIL, proposal_id="d")
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = RuleSettings(Level.SOFT, {"phrases": ["invoice"]})
    await adopts_unseen(world, rules=rules)
    sender = world.sender("ana")
    reply = await world.workflow.approve("d", sender, "it is right", card=PLACE)  # a button's form
    assert reply.code == "stale_card"
    await world.shows()
    assert (await world.workflow.approve("d", sender, "it is right", card=PLACE)).done


async def test_what_was_brought_back_from_a_copy_is_seen_so_before_it_is_approved(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="d")
    moment = world.workflow.world.moment()
    await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    assert (await world.reacts("ana", "d", "✅")).code == "stale_card"
    await world.shows()
    assert (await world.reacts("ana", "d", "✅")).done


async def test_a_card_from_before_sentinels_verdict_opens_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, writes = world.store.write, iter((False, True))

    async def write(unit: Callable[..., Any]) -> Any:
        if next(writes, False):  # the second one is that of the verdict
            raise StoreUnavailable("disk full")
        return await real(unit)

    large = {**PROD["parameters"], "notes": "word " * 1_000}  # judged in a write of its own
    document = a_document(PROD, proposal_id="d", parameters=large, ts_ms=world.clock.now_ms())
    with monkeypatch.context() as patched:
        patched.setattr(world.store, "write", write)
        await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))
    assert (await world.proposal("d")).state is State.PENDING
    await world.notifier.deliver(world.store, world.clock.now_ms())
    world.clock.advance(10)
    await world.workflow.recover()
    await world.workflow.idle()

    assert (await world.proposal("d")).state is State.SENTINEL_APPROVED
    assert (await world.reacts("ana", "d", "✅")).code == "stale_card"
    await world.shows()
    assert (await world.reacts("ana", "d", "✅")).done


async def test_an_orchestrator_opens_nothing_that_its_card_does_not_show_yet(world: World) -> None:
    await world.adopts(orchestrator="nour")
    await world.submits(MAIL, proposal_id="d")
    await adopts_unseen(world, tools=calling(world, SEND, "smtp://other.example"))
    assert (await world.reacts("nour", "d", "✅")).code == "stale_card"
    assert world.tool(SEND).verbs() == []
    await world.shows()
    assert (await world.reacts("nour", "d", "✅")).done


async def test_who_counts_already_is_told_so_on_an_old_card_too(world: World) -> None:
    await deployed_elsewhere(world, "dual")
    await world.approves("ben", "d")
    assert (await world.reacts("ben", "d", "✅")).code == "already_counted"


async def test_a_check_mark_that_is_found_may_be_from_before_the_card_showed_it(
    world: World,
) -> None:
    await deployed_elsewhere(world)
    await world.shows()
    assert (await found(world, "ben")).code == "stale_card"
    card = await the_card(world)
    assert (await found(world, "ben", card.shown_version)).done


async def test_a_check_mark_that_is_found_counts_as_ever_where_nothing_was_judged_anew(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="d")
    assert (await found(world, "ben")).done


async def test_a_check_mark_counts_for_what_its_card_showed_when_it_was_heard(world: World) -> None:
    await world.submits(PROD, proposal_id="d")
    shown = (await the_card(world)).shown_version
    await adopts_unseen(world, tools=calling(world, DEPLOY, "https://other.example/b"))
    await world.shows()
    place = replace(PLACE, shown_version=shown)
    reply = await world.workflow.approve("d", world.sender("ben"), card=place)
    assert reply.code == "stale_card"
    assert await reviews(world) == []


async def test_a_check_mark_heard_before_the_tool_ran_ends_no_window(world: World) -> None:
    await world.workflow.freeze("wait", world.sender("ana"))
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL, proposal_id="d")
    shown = (await the_card(world)).shown_version
    await world.workflow.thaw(world.sender("ana"))
    await world.keeps_house()
    assert world.tool(SEND).verbs() == ["execute"]

    place = replace(PLACE, shown_version=shown)
    reply = await world.workflow.approve("d", world.sender("ana"), card=place)
    assert reply.code == "stale_card"
    assert (await world.proposal("d")).state is State.EXECUTING
