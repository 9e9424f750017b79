"""Cases G through the whole law: who may decide, how often, and whose name is believed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lifecycle.answers import CardPlace, Reply, Sender
from lifecycle.proposal import ActorKind
from lifecycle.state import State
from tests.builders import MAIL, PROD, the_people
from tests.world import World

DEPLOY = "production-deploy"


async def ignored(world: World) -> list[tuple[str, str, dict[str, str] | None]]:
    """Return (reason, account, actor) of every attempt that had no effect."""
    entries = await world.audit("ignored")
    return [(e["reason"], e["details"]["account"], e["actor"]) for e in entries]


async def as_stranger(world: World, account: str, verb: str = "approve") -> Reply:
    stranger = Sender("discord", None, None, account=account)
    return await getattr(world.workflow, verb)("p1", stranger)


async def test_G01_the_one_who_asked_is_told_so_and_somebody_else_decides(world: World) -> None:
    await world.submits(PROD, by="ana", proposal_id="p1")

    own = await world.reacts("ana", "p1", "✅")
    assert own.code == "own_proposal"
    assert "own" in own.words
    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED
    assert await ignored(world) == [("own_proposal", "ana", {"kind": "person", "id": "ana"})]

    await world.reacts("ben", "p1", "✅")
    assert str((await world.proposal("p1")).decided_by) == f"tool {DEPLOY}"
    reviews = await world.store.read(lambda tx: tx.reviews.of("p1"))
    assert [review.person for review in reviews] == ["ben"]


@pytest.mark.parametrize(
    ("solo", "code"), [(False, "owner_of_agent"), (True, None)], ids=["default", "solo_operator"]
)
async def test_G01_the_owner_of_the_agent_follows_the_setting(
    world: World, solo: bool, code: str | None
) -> None:
    agents = dict(world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], owner="ana")
    await world.adopts(agents=agents, solo_operator=solo)
    await world.submits(PROD, proposal_id="p1")

    assert (await world.approves("ana", "p1")).code == code
    assert world.tool(DEPLOY).verbs() == ([] if code else ["execute"])


async def test_G01_even_alone_nobody_approves_a_proposal_of_their_own(world: World) -> None:
    await world.adopts(solo_operator=True)
    await world.submits(PROD, by="ana", proposal_id="p1")

    assert (await world.approves("ana", "p1")).code == "own_proposal"


async def test_G02_the_agent_that_asked_cannot_answer_by_signal_command_or_document(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="p1")

    codes = [
        (await world.reacts("leila", "p1", "✅")).code,
        (await world.approves("leila", "p1")).code,
    ]
    forged = json.dumps({"approve": "p1", "approver": "1001"}).encode()
    answer = await world.workflow.submit(forged, world.sender("leila"))

    assert codes == ["own_proposal"] * 2
    assert (answer.reason, answer.state) == ("unknown_kind", None)
    leila = {"kind": "agent", "id": "leila"}
    assert await ignored(world) == [("own_proposal", "leila", leila)] * 2
    assert [e["actor"] for e in await world.audit("refused")] == [leila]
    assert world.tool(DEPLOY).calls == []


@pytest.mark.parametrize("who", ["cal", "olga", "nour", "crm-sensor"])
@pytest.mark.parametrize("emoji", ["✅", "❌"])
async def test_G03_whoever_can_see_the_card_is_not_a_reviewer_yet(
    world: World, who: str, emoji: str
) -> None:
    await world.submits(PROD, proposal_id="p1")
    before = await world.proposal("p1")

    reply = await world.reacts(who, "p1", emoji)

    if (who, emoji) == ("olga", "❌"):  # the owner of the agent may stop it
        assert (await world.proposal("p1")).reason == "rejected_by_person"
        return
    assert reply.code in ("not_a_reviewer", "owner_of_agent")
    assert await world.proposal("p1") == before
    assert len(await ignored(world)) == 1


@pytest.mark.parametrize("verb", ["approve", "reject", "roll_back", "take_back", "withdraw"])
async def test_G03_an_account_that_no_entry_claims_changes_nothing(world: World, verb: str) -> None:
    await world.submits(PROD, proposal_id="p1")
    before = await world.proposal("p1")
    arguments = ("why",) if verb == "roll_back" else ()

    stranger = Sender("discord", None, None, account="999")
    reply = await getattr(world.workflow, verb)("p1", stranger, *arguments)

    assert not reply.done
    assert await world.proposal("p1") == before


@pytest.mark.parametrize("who", ["cal", "leila", "olga", "ana"])
async def test_G04_a_command_is_judged_like_an_emoji(roomy: World, who: str) -> None:
    await roomy.submits(PROD, proposal_id="p1")
    await roomy.submits(PROD, proposal_id="p2", target=PROD["target"] | {"resource_id": "other"})

    typed = await roomy.approves(who, "p1")
    reacted = await roomy.reacts(who, "p2", "✅")

    assert typed.code == reacted.code
    assert (await roomy.proposal("p1")).state is (await roomy.proposal("p2")).state
    assert typed.done is (who == "ana")


@pytest.mark.parametrize("account", ["ana", "Ana", "@ana", "ana (ops)", "1001 "])
async def test_G06_a_name_is_no_identity(world: World, account: str) -> None:
    await world.submits(PROD, proposal_id="p1")

    assert (await as_stranger(world, account)).code == "not_a_reviewer"
    cal = Sender("discord", ActorKind.PERSON, "cal", account=account)
    assert (await world.workflow.approve("p1", cal)).code == "not_a_reviewer"
    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED


async def test_G06_ana_stays_ana_whatever_she_calls_herself(world: World) -> None:
    await world.submits(PROD, proposal_id="p1")
    renamed = Sender("discord", ActorKind.PERSON, "ana", account="x")

    assert (await world.workflow.approve("p1", renamed)).done


async def approvals(world: World) -> int:
    reviews = await world.store.read(lambda tx: tx.reviews.of("p1"))
    return len({review.person for review in reviews if review.counts})


async def test_G08_one_person_is_one_however_often_and_wherever_they_react(
    world: World,
) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    await world.reacts("ana", "p1", "✅")
    assert (await world.reacts("ana", "p1", "✅")).code == "already_counted"
    await world.workflow.take_back("p1", world.sender("ana"))
    assert await approvals(world) == 0
    await world.reacts("ana", "p1", "✅")

    def post_again(tx):
        card = tx.cards.get("p1", "terminal")
        tx.cards.put(replace(card, message_ids=(*card.message_ids, "m-again")))

    await world.store.write(post_again)
    again = CardPlace("terminal", "m-again")
    on_the_new = await world.workflow.approve("p1", world.sender("ana"), card=again)
    on_the_old = await world.reacts("ana", "p1", "✅")
    by_slack = Sender("slack", ActorKind.PERSON, "ana", account="T1/UANA")
    elsewhere = await world.workflow.approve("p1", by_slack)

    codes = [reply.code for reply in (on_the_new, on_the_old, elsewhere)]
    assert codes == ["already_counted", "stale_card", "already_counted"]
    assert await approvals(world) == 1
    assert world.tool(DEPLOY).calls == []


@pytest.mark.parametrize(
    "pair", [("ana", "cal"), ("cal", "nour"), ("ana", "bot"), ("ana", "leila"), ("ana", "olga")]
)
async def test_G10_two_are_two_only_where_both_may_decide(
    world: World, pair: tuple[str, str]
) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    for who in pair:
        await world.reacts(who, "p1", "✅")

    assert await approvals(world) <= 1
    assert (await world.proposal("p1")).state is State.SENTINEL_APPROVED
    assert world.tool(DEPLOY).calls == []


async def test_G10_who_has_left_or_lost_the_group_since_is_not_counted(world: World) -> None:
    await world.submits(PROD, proposal_id="p1", approval_class="dual")
    await world.reacts("dee", "p1", "✅")
    world.notifier.lost = frozenset({"dee"})
    await world.reacts("ana", "p1", "✅")
    assert world.tool(DEPLOY).calls == []

    people = the_people()
    people["dee"] = replace(people["dee"], groups=frozenset())
    world.notifier.lost = frozenset()
    await world.adopts(people=people)
    await world.reacts("ana", "p1", "✅")

    assert world.tool(DEPLOY).calls == []
    await world.reacts("ben", "p1", "✅")
    assert world.tool(DEPLOY).verbs() == ["execute"]


@pytest.mark.parametrize("name", ["nour", "human-overseer", "ana", "LEILA"])
async def test_G12_the_sender_is_who_sent_it_not_who_the_document_names(
    world: World, name: str
) -> None:
    document = MAIL | {"actor": name, "ts_ms": world.clock.now_ms()}

    answer = await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))

    assert (answer.reason, answer.state, answer.as_json()["retry"]) == (
        "actor_mismatch",
        None,
        "never",
    )
    (entry,) = await world.audit("refused")
    assert entry["actor"] == {"kind": "agent", "id": "leila"}
    assert entry["reason"] == "actor_mismatch"
