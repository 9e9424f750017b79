"""This module has all verbs, in the order of a proposal's life: read it first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

from lifecycle.acting import Acting
from lifecycle.admitting.intake import Intake
from lifecycle.agents import agent_tools, reporting
from lifecycle.answers import Answer, CardPlace, Reply, Sender
from lifecycle.calls.carrying import Carrier
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.clockwork.closer import Closer
from lifecycle.clockwork.keeping import Keeper
from lifecycle.clockwork.recovering import Recoverer
from lifecycle.errors import Refused
from lifecycle.evidence import read_packet, record_packet
from lifecycle.heard import kept_stops
from lifecycle.judging.adopting import Adopter
from lifecycle.judging.gatekeeper import Gatekeeper
from lifecycle.operating import Operating
from lifecycle.people.acts import Act
from lifecycle.people.explaining import bare_among, give_reason
from lifecycle.people.force import Force
from lifecycle.people.reviewing import approve, take_back
from lifecycle.people.settling import settle
from lifecycle.people.stopping import stop
from lifecycle.people.withdrawing import withdraw
from lifecycle.policy import Policy
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.questions import answer_question
from lifecycle.stops.spooling import Spooled, unavailable
from lifecycle.stops.unspooled import spool_again
from lifecycle.text.masking import plain_words
from lifecycle.world import Law, World


class Workflow:
    """The object with the verbs: all that people, agents, sources and the clock do to proposals.

    Every door and job of a running bot calls these for that. Its own books the bot writes in units
    without a verb: where cards stand, what of the outbox arrived, inboxes, calls of AAP. By
    `lifecycle.door` such a unit may write to the trail, and mark a proposal whose card cannot be
    shown. The commands `freeze`, `thaw` and `restore` run units by themselves.
    """

    def __init__(self, world: World) -> None:
        """Take the ports; nothing is read or started before `start`."""
        self.world = world
        self.carrier = Carrier(world)
        self.gatekeeper = Gatekeeper(world, self.carrier)
        self.intake = Intake(world, self.gatekeeper)
        self.adopter = Adopter(world, self.gatekeeper)
        self.recoverer = Recoverer(world, self.gatekeeper)
        self.acting = Acting(world, self.gatekeeper, Spooled(world))
        self.operating = Operating(world, self.acting)
        self.closer = Closer(world, self.carrier, self.adopter)
        self.keeper = Keeper(world, self.gatekeeper)
        self._end_s = inf

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.world.law.policy

    # -- a proposal arrives ---------------------------------------------------------------

    async def submit(self, raw: bytes, sender: Sender) -> Answer:
        """Read, judge and store one document; AUTO and AUTO+ are answered when the call ended."""
        answer = await self.world.background.shielded(self.intake.submit(raw, sender))
        return await self.intake.told(answer)  # not reached if the caller has gone

    async def check(self, raw: bytes, sender: Sender) -> Answer:
        """Say what `submit` would answer now; no proposal is stored or shown."""
        return await self.intake.check(raw, sender)

    # -- people decide --------------------------------------------------------------------

    async def approve(
        self,
        proposal_id: str,
        sender: Sender,
        reason: str = "",
        *,
        card: CardPlace | None = None,
        found_late: bool = False,
    ) -> Reply:
        """Count a ✅; begin execution if the quorum is reached with it."""
        return await self.acting.act(Act(proposal_id, sender, reason, card, found_late), approve)

    async def reject(
        self,
        proposal_id: str,
        sender: Sender,
        reason: str = "",
        *,
        card: CardPlace | None = None,
        found_late: bool = False,
    ) -> Reply:
        """Carry out a ❌: reject before execution, roll back within the window. It is kept while
        execute runs or an outcome is unknown, and waits in the spool if the store fails."""
        act = Act(proposal_id, sender, reason, card, found_late)
        return await self.acting.act(act, stop, Force.STOPS)

    async def roll_back(self, proposal_id: str, sender: Sender, reason: str) -> Reply:
        """Roll back within the window; before execution this rejects, as `reject` does."""
        return await self.acting.act(Act(proposal_id, sender, reason), stop, Force.STOPS)

    async def take_back(
        self, proposal_id: str, sender: Sender, *, card: CardPlace | None = None
    ) -> Reply:
        """Withdraw the sender's own ✅."""
        act = Act(proposal_id, sender, card=card)
        return await self.acting.act(act, take_back, Force.TAKES_BACK)

    async def give_reason(self, proposal_id: str, sender: Sender, reason: str) -> Reply:
        """Take up the words that follow a bare ❌."""
        return await self.acting.act(Act(proposal_id, sender, reason), give_reason)

    def waits_for_words(self, proposal_id: str, sender: Sender) -> bool:
        """True while a bare ❌ of this sender waits in the spool: its words must wait as well."""
        held = proposal_id in self.world.held
        return held and bare_among(self.acting.spooled.waiting(), proposal_id, sender)

    async def withdraw(self, proposal_id: str, sender: Sender) -> Reply:
        """Take a proposal back in its proposer's name."""
        return await self.acting.act(Act(proposal_id, sender), withdraw, Force.TAKES_BACK)

    async def answer_question(self, question_id: str, sender: Sender, words: str) -> Reply:
        """Give an agent the first reply of a reviewer to its question (seed 001)."""
        said = plain_words(words, len(words))
        return await self.operating.operate(
            sender, lambda tx, m: answer_question(tx, m, plain_words(question_id), sender, said)
        )

    # -- a person settles what nobody knows -----------------------------------------------

    async def settle(self, proposal_id: str, sender: Sender, happened: bool) -> Reply:
        """Write what a person found out about an unknown outcome."""
        settled = partial(settle, happened=happened)
        return await self.acting.act(Act(proposal_id, sender), settled)

    async def retry(self, proposal_id: str, sender: Sender) -> Reply:
        """Call a failed verb again, with a new attempt and permit; Sentinel must agree, but for
        roll back. If stops that nobody could process for a minute hold the proposal up, let go of
        those instead."""
        return await self.acting.retry(Act(proposal_id, sender))

    # -- an agent carries out what it was permitted -----------------------------------------

    async def redeem(
        self,
        token: str,
        parameters: Any,
        sender: Sender,
        proposal_id: str | None = None,
        along: Callable[[Transaction], None] | None = None,
    ) -> Reply:
        """Use up a permit: execution begins with exactly the approved parameters (seed 003).

        With a `proposal_id` the permit must be of that proposal. `along` is written in the same
        unit, and only if this very call uses the permit up.
        """
        redemption = agent_tools.Redemption(parameters, sender, proposal_id, along)
        return await self.world.background.shielded(
            agent_tools.redeem(self.gatekeeper, token, redemption)
        )

    async def report(
        self, proposal_id: str, sender: Sender, outcome: str, receipt: Mapping[str, Any]
    ) -> Reply:
        """Take an agent's receipt for what it did under its permit."""
        said = reporting.Report(outcome, receipt)
        return await self.world.background.shielded(
            reporting.report(self.world, plain_words(proposal_id), sender, said)
        )

    # -- sources and operators ------------------------------------------------------------

    async def record_evidence(self, raw: bytes, sender: Sender) -> Reply:
        """Record a packet of a source, and judge again what was decided on the one before."""
        return await self.world.background.shielded(self._recorded(raw, sender))

    async def _recorded(self, raw: bytes, sender: Sender) -> Reply:
        try:
            moment = self.world.moment()  # one for packet and entry: both tell when it was recorded
            packet = read_packet(raw, sender, moment)
            reply = await self.world.write(lambda tx: record_packet(tx, moment, packet, sender))
        except Refused as error:
            await self.intake.refused(error, sender, raw)
            return Reply.of_error(error)
        except StoreUnavailable:
            return unavailable()
        with suppress(StoreUnavailable):  # then `recover` judges by it
            await self.adopter.judge_evidence()
        return reply

    async def freeze(self, reason: str, sender: Sender) -> Reply:
        """Stop every execute, commit and closing until `thaw`."""
        return await self.operating.freeze(sender, reason)

    async def thaw(self, sender: Sender) -> Reply:
        """Go on with what is due."""
        return await self.operating.thaw(sender)

    async def put_in_force(
        self, policy: Policy, sentinel: Sentinel, swap: Callable[[], None]
    ) -> None:
        """Put a new policy in force: from now on nothing acts that this policy has not judged.

        `swap` puts its tools in service, in the very moment in which the policy is in force. Do
        this for one policy at a time. Raises StoreUnavailable, and then the former policy stays.
        """
        await self.adopter.put_in_force(Law(policy, sentinel), swap)

    async def judge_open(self) -> None:
        """Judge what is open by the policy in force; if the store fails, `recheck` goes on."""
        await self.adopter.judge_open()

    # -- keeping house --------------------------------------------------------------------

    async def start(self) -> None:
        """Take up what a former process left: first stops, then calls, then proposals that wait."""
        for kept in self.world.spool.kept():
            self.acting.spooled.hold(kept)
        now_ms = self.world.clock.now_ms()
        for waiting in await self.world.store.read(kept_stops):
            # If the clock was set back meanwhile, the stop must not wait until that time comes.
            self.world.heard.add(replace(waiting, at_ms=min(waiting.at_ms, now_ms)))
        await self.recoverer.find_orphans()  # before a replayed stop begins a call in this process
        await self.acting.replay_spool()
        await self.adopter.take_over()
        await self.adopter.forget_policies()
        await self.adopter.judge_evidence()
        await self.recoverer.recover()

    async def close_due(self) -> int:
        """Close the windows that have passed; return how many."""
        return await self.closer.close_due()

    async def expire_due(self) -> int:
        """Reject what is past its deadline; return how many."""
        return await self.keeper.expire_due()

    async def open_ready(self) -> int:
        """Try to begin what is approved and had to wait; return how many began, or ended."""
        return await self.keeper.open_ready()

    async def recover(self) -> int:
        """Replay spooled stops, judge by new evidence that nobody judged by yet, and take up calls
        that nobody waits for; return how many in all."""
        replayed = await self.acting.replay_spool()
        judged = await self.adopter.judge_evidence()
        return replayed + judged + await self.recoverer.recover()

    async def recheck(self) -> int:
        """Judge again what was last judged under another policy; return how many were looked at."""
        return await self.adopter.recheck()

    async def remind(self) -> int:
        """Remind people once, and tell proposers of ❌ without a reason; return how many."""
        return await self.keeper.remind() + await self.keeper.reasons_due()

    async def anchor(self) -> int:
        """Show the head of the audit trail on every surface, once a day; return 1 if it was due."""
        return await self.keeper.anchor()

    async def note_ignored(self, proposal_id: str, sender: Sender, code: str) -> None:
        """Write the one audit row of an attempt that a surface ignored."""
        await self.acting.note(Act(proposal_id, sender), code)

    async def idle(self) -> None:
        """Wait until no tool call and no act is under way."""
        await self.world.background.idle()

    async def called(self, proposal_ids: Collection[str]) -> None:
        """Wait until no tool call for any of these proposals is under way."""
        await self.world.background.called(proposal_ids)

    async def shut_down(self, grace_s: float = 8.0) -> None:
        """Take no new work; give calls under way `grace_s` seconds to end, then cut them off.
        A second call, for what a job has begun meanwhile, gives no more time than the first did."""
        self.world.ending = True
        spool_again(self.world)
        self._end_s = min(self._end_s, asyncio.get_running_loop().time() + grace_s)
        await self.world.background.end(self._end_s)
