"""How long a card waits under a flood: one that failed often, one of an open window."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from bot.chat.cards.content import CardContent
from bot.chat.showing.due import ATTENTION_AFTER
from bot.chat.surface import Posted, SurfaceFailed
from lifecycle.records import Card
from tests.bot.chat.delivering import Stage
from tests.builders import MAIL, PROD
from tests.fakes.surface import FakeSurface
from tests.roomy import a_roomy_policy

#: So many cards a flood brings, more of them with each that is shown.
FLOOD, NEW = 200, 5


class Flooded(FakeSurface):
    """Shows a card a second, while an agent proposes five."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.refuses: set[str] = set()
        self.proposed = 0
        self.most = 0

    def sits_on(self, stage: Stage) -> None:
        self._stage = stage

    async def begins(self) -> None:
        self.most, self.shown = FLOOD, []
        await self._goes_on()

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        if content.proposal_id in self.refuses:
            raise SurfaceFailed("not now")
        await self._shows(content)
        return await super().post_card(content, claim)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        if content.proposal_id in self.refuses:
            raise SurfaceFailed("not now")
        await self._shows(content)
        return await super().edit_card(content, card)

    async def _shows(self, content: CardContent) -> None:
        self.shown.append(content.proposal_id)
        self._stage.world.clock.advance(1)
        await self._goes_on()

    async def _goes_on(self) -> None:
        for _ in range(min(NEW, self.most - self.proposed)):
            self.proposed += 1
            version = {"version": f"v{self.proposed}"}
            await self._stage.submits(PROD, f"flood{self.proposed}", parameters=version)


@pytest.fixture
def surface(monkeypatch: pytest.MonkeyPatch) -> Flooded:
    # What is due is asked for anew after each card, as where each takes a second.
    monkeypatch.setattr("bot.chat.showing.due._LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr("bot.chat.showing.due._WORTH", 0)
    return Flooded()


async def on_stage(surface: Flooded) -> Stage:
    stage = Stage(surface, policy=a_roomy_policy())
    surface.sits_on(stage)
    return stage


async def failed_often(stage: Stage, surface: Flooded, proposal_id: str) -> None:
    surface.refuses = {proposal_id}
    for _ in range(ATTENTION_AFTER):
        await stage.delivery().drain()
        stage.world.clock.advance(60)
    surface.refuses = set()


async def test_a_card_that_failed_often_waits_behind_no_stream_of_new_ones(
    surface: Flooded,
) -> None:
    """It was shown after all others: never, while they came faster than they were shown."""
    stage = await on_stage(surface)
    await stage.submits(PROD, "waits")
    await failed_often(stage, surface, "waits")
    await surface.begins()
    await stage.delivery().drain()

    assert surface.shown.index("waits") <= NEW
    assert len(surface.shown) == FLOOD + 1


async def test_cards_that_fail_each_time_take_one_turn_of_five_from_the_others(
    surface: Flooded,
) -> None:
    stage = await on_stage(surface)
    refused = {f"refused{number}" for number in range(20)}
    for each in sorted(refused):
        await stage.submits(PROD, each, parameters={"version": each})
    surface.refuses = refused
    for _ in range(ATTENTION_AFTER):
        await stage.delivery().drain()
        stage.world.clock.advance(60)
    tried: list[int] = []

    class Counted(SurfaceFailed):
        def __init__(self) -> None:
            super().__init__("not now")
            tried.append(len(surface.shown))

    surface.refuses = set()
    posted = surface.post_card

    async def post_card(content: CardContent, claim: str) -> Posted:
        if content.proposal_id in refused:
            raise Counted
        return await posted(content, claim)

    surface.post_card = post_card  # type: ignore[method-assign]
    await surface.begins()
    await stage.delivery().drain()

    assert {later - earlier for earlier, later in itertools.pairwise(tried[:10])} == {4}
    assert len(surface.shown) == FLOOD


async def test_the_card_of_an_open_window_waits_behind_no_edits_of_what_is_over(
    surface: Flooded,
) -> None:
    """When hundreds expire at once each card is edited; what can be taken back shows that first."""
    stage = await on_stage(surface)
    for number in range(60):
        version = {"version": f"v{number}"}
        await stage.submits(PROD, f"over{number:02}", parameters=version)
    await stage.submits(MAIL, "window")
    await stage.delivery().drain()
    surface.shown = []
    for number in range(60):
        await stage.world.rejects("ben", f"over{number:02}")
    await stage.world.approves("ana", "window")
    await stage.delivery().drain()

    assert surface.shown.index("window") <= 1
    assert len(surface.shown) == 61


@pytest.mark.parametrize("lives_s", [20, 86_400])
async def test_a_card_that_can_be_decided_waits_behind_no_new_cards_of_what_is_over(
    surface: Flooded, lives_s: int
) -> None:
    """What ended while a platform was away is posted too, at a card a second. An agent's next
    proposal waited behind all of that, and expired unseen if new ones came as fast."""
    policy = a_roomy_policy()
    lives = replace(policy.limits, proposal_ttl_s=lives_s)
    stage = Stage(surface, policy=replace(policy, limits=lives))
    surface.sits_on(stage)
    for number in range(60):
        version = {"version": f"v{number}"}
        await stage.submits(PROD, f"over{number:02}", parameters=version)
        await stage.world.rejects("ben", f"over{number:02}")
    for number in range(3):
        await stage.submits(PROD, f"open{number}", parameters={"version": f"w{number}"})
    await stage.delivery().drain()

    opened = [place for place, shown in enumerate(surface.shown) if shown.startswith("open")]
    assert opened in ([0, 2, 4], [1, 3, 5])
    assert len(surface.shown) == 63


async def test_in_a_flood_cards_are_shown_while_there_is_time_to_decide(surface: Flooded) -> None:
    """A proposal lived for a minute, and each card waited for a minute: people saw what they could
    not decide any more, and nothing of an agent was ever approved."""
    policy = a_roomy_policy()
    brief = replace(policy.limits, proposal_ttl_s=60)
    stage = Stage(surface, policy=replace(policy, limits=brief))
    surface.sits_on(stage)
    left_s: dict[str, float] = {}
    shows = surface._shows

    async def noted(content: CardContent) -> None:
        proposal = await stage.world.proposal(content.proposal_id)
        left_ms = proposal.deadline_ms - stage.world.clock.now_ms()
        left_s.setdefault(content.proposal_id, left_ms / 1000)
        await shows(content)

    surface._shows = noted  # type: ignore[method-assign]
    surface.most = 90 * NEW
    await surface._goes_on()
    await stage.delivery().drain()

    assert len(left_s) == surface.most
    # After a minute of it all that came first is too late: every second card is one that is not.
    later = list(left_s.values())[60:70]
    assert sum(each > 28 for each in later) == 5
