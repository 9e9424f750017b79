"""Runs the commands that look: what waits, one proposal, the bot itself. They change nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bot import views
from bot.chat.cards.beside import Beside, call_begun, defaults_of
from bot.chat.cards.card import written_card
from bot.chat.commands import listing
from bot.chat.commands.help import COMMANDS, usage_of
from bot.chat.commands.replies import CommandReply
from bot.chat.commands.status import status_reply, unread_reply
from bot.chat.commands.usage import only_id, usage
from bot.explained import explained
from lifecycle.answers import Sender
from lifecycle.nearest import meant
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.review import Review
from lifecycle.text.masking import mask_text
from lifecycle.workflow import Workflow


class Looking:
    """Answers what anybody may see; who asks makes no difference.

    `health` returns lines about the surfaces for `status`; `summaries` maps each rule to its law in
    one sentence.
    """

    def __init__(
        self,
        workflow: Workflow,
        health: Callable[[], Sequence[str]],
        summaries: Mapping[str, str],
    ) -> None:
        self.workflow = workflow
        self.health = health
        self.summaries = summaries

    async def pending(self, rest: str, _sender: Sender) -> CommandReply:
        """List what waits for people and what executes, a page at a time."""
        number = rest.strip() or "1"
        if not (number.isascii() and number.isdigit()) or len(number) > 9:
            return usage("pending")
        now_ms = self._now_ms()
        page = await self._store.read(lambda tx: views.pending_page(tx, now_ms, int(number)))
        return listing.pending_reply(page, now_ms)

    async def show(self, rest: str, _sender: Sender) -> CommandReply:
        """Show the card of one proposal."""
        given = only_id(rest)
        if given is None:
            return usage("show")

        def view(tx: Transaction) -> tuple[Proposal, Sequence[Review], str | None]:
            found = views.resolve(tx, given)
            return found, tx.reviews.of(found.proposal_id), call_begun(tx, found)

        proposal, reviews, call = await self._store.read(view)
        defaults = defaults_of(self.workflow.world.toolbox, proposal.tool)
        beside = Beside(self.workflow.policy, self._now_ms(), reviews, defaults, call)
        return listing.card_reply(await written_card(proposal, beside))

    async def explain(self, rest: str, _sender: Sender) -> CommandReply:
        """Return every rule's verdict on one proposal, and every condition of authority."""
        given = only_id(rest)
        if given is None:
            return usage("explain")
        policy, now_ms = self.workflow.policy, self._now_ms()
        found = await self._store.read(lambda tx: explained(tx, given, policy, now_ms))
        return listing.explained_reply(found)

    async def audit(self, rest: str, _sender: Sender) -> CommandReply:
        """Show the trail of one proposal."""
        given = only_id(rest)
        if given is None:
            return usage("audit")
        entries, more = await self._store.read(lambda tx: views.trail(tx, given))
        return listing.trail_reply(given, entries, more=more)

    async def tools(self, _rest: str, _sender: Sender) -> CommandReply:
        """List the tools of the policy in force."""
        return listing.tools_reply(self.workflow.policy)

    async def rules(self, rest: str, _sender: Sender) -> CommandReply:
        """List the rules, or show one with its law and settings."""
        rule, policy = rest.strip(), self.workflow.policy
        if not rule:
            return listing.rules_reply(policy, self.summaries)
        if rule not in policy.rules:
            return CommandReply.words(
                f"There is no rule {mask_text(rule[:64])!r}.{meant(rule, policy.rules)} "
                "All of them: rules",
                code="unknown_command",
            )
        return listing.rule_reply(rule, policy, self.summaries)

    async def policy(self, _rest: str, _sender: Sender) -> CommandReply:
        """Show the policy in force."""
        return listing.policy_reply(self.workflow.policy)

    async def status(self, _rest: str, _sender: Sender) -> CommandReply:
        """Say how the bot stands; answers also if the store cannot be read."""
        policy, now_ms, lines = self.workflow.policy, self._now_ms(), tuple(self.health())
        waits = bool(self.workflow.world.heard.freezes())
        try:
            return await self._store.read(
                lambda tx: status_reply(tx, policy, now_ms, lines, freeze_waits=waits)
            )
        except StoreUnavailable as error:
            return unread_reply(error, policy, now_ms, lines)

    async def help(self, rest: str, _sender: Sender) -> CommandReply:
        """Return how commands are written: all of them, or the one that is named."""
        word = rest.strip().lower()
        if word in COMMANDS:
            return CommandReply.words(usage_of(word))
        return CommandReply.words(*(usage_of(each) for each in COMMANDS))

    @property
    def _store(self) -> ProposalStore:
        return self.workflow.world.store

    def _now_ms(self) -> int:
        return self.workflow.world.clock.now_ms()
