"""The commands of design section 8, the same words on every surface: typed text in, answer out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from bot import views
from bot.chat.cards.card import written_card
from bot.chat.cards.card_facts import Beside, defaults_of
from bot.chat.commands import listing
from bot.chat.commands.help import COMMANDS, usage_of
from bot.chat.commands.replies import Attached, CommandReply
from bot.chat.commands.status import status_reply, unread_reply
from bot.chat.commands.typed import as_bytes, document_bytes, inline_json, split_id, typed
from bot.explained import explained
from lifecycle.answers import Answer, Reply, Sender
from lifecycle.errors import AmbiguousId, GovernanceError, ProposalNotFound, Refused
from lifecycle.nearest import meant
from lifecycle.ports import ProposalStore, RowUnreadable, StoreUnavailable
from lifecycle.text.masking import harmless, mask_text
from lifecycle.workflow import Workflow

_Run = Callable[[str, Sender], Awaitable[CommandReply]]


def _nothing_to_add() -> tuple[str, ...]:
    return ()


class Commands:
    """Interprets what people and agents type. The law judges; nothing is decided here.

    `health` returns lines about the surfaces for `status`, `summaries` the law of each rule.
    """

    def __init__(
        self,
        workflow: Workflow,
        *,
        health: Callable[[], Sequence[str]] = _nothing_to_add,
        summaries: Mapping[str, str] | None = None,
    ) -> None:
        self.workflow = workflow
        self.health = health
        self.summaries: Mapping[str, str] = summaries or {}
        self._runs: Final[Mapping[str, _Run]] = {
            "pending": self._pending,
            "show": self._show,
            "explain": self._explain,
            "audit": self._audit,
            "approve": self._approve,
            "reject": self._reject,
            "roll-back": self._roll_back,
            "withdraw": self._withdraw,
            "settle": self._settle,
            "retry": self._retry,
            "answer": self._answer,
            "evidence": self._evidence,
            "freeze": self._freeze,
            "thaw": self._thaw,
            "tools": self._tools,
            "rules": self._rules,
            "policy": self._policy,
            "status": self._status,
            "help": self._help,
        }

    async def run(
        self, text: str, sender: Sender, attached: Sequence[Attached] = ()
    ) -> CommandReply:
        """Carry out one command, given exactly as typed; never raises for what somebody typed."""
        word, rest = typed(text)
        try:
            if word == "propose":
                return await self.propose(rest, sender, attached)
            run = self._runs.get(word)
            if run is None:
                return await self._unknown(word, sender)
            return await run(rest, sender)
        except GovernanceError as error:
            return CommandReply.words(str(error), code=error.code)
        except RowUnreadable as error:
            return CommandReply.words(f"{error} Tell an operator.", code="digest_mismatch")
        except StoreUnavailable:
            return CommandReply.words(
                "The store cannot be read or written now; nothing was done. Try again, and tell "
                "an operator.",
                code="audit_unavailable",
            )

    async def propose(
        self, rest: str, sender: Sender, attached: Sequence[Attached] = ()
    ) -> CommandReply:
        """Submit the one JSON object that stands in text and files; the answer is one object."""
        if sender.identity is None:
            return _answered(await self.workflow.submit(as_bytes(rest), sender))
        try:
            raw = await document_bytes(rest, attached)
        except Refused as error:
            return _answered(await self.workflow.intake.refused(error, sender, b""))
        return _answered(await self.workflow.submit(raw, sender))

    async def propose_bytes(self, raw: bytes, sender: Sender) -> CommandReply:
        """Submit a document that was read already."""
        return _answered(await self.workflow.submit(raw, sender))

    # -- looking --------------------------------------------------------------------------

    async def _pending(self, rest: str, _sender: Sender) -> CommandReply:
        number = rest.strip() or "1"
        if not (number.isascii() and number.isdigit()) or len(number) > 9:
            return _usage("pending")
        now_ms = self._now_ms()
        page = await self._store.read(lambda tx: views.pending_page(tx, now_ms, int(number)))
        return listing.pending_reply(page, now_ms)

    async def _show(self, rest: str, _sender: Sender) -> CommandReply:
        given = _only_id(rest)
        if given is None:
            return _usage("show")
        proposal = await self._store.read(lambda tx: views.resolve(tx, given))
        reviews = await self._store.read(lambda tx: tx.reviews.of(proposal.proposal_id))
        defaults = defaults_of(self.workflow.world.toolbox, proposal.tool)
        beside = Beside(self.workflow.policy, self._now_ms(), reviews, defaults)
        return listing.card_reply(await written_card(proposal, beside))

    async def _explain(self, rest: str, _sender: Sender) -> CommandReply:
        given = _only_id(rest)
        if given is None:
            return _usage("explain")
        policy, now_ms = self.workflow.policy, self._now_ms()
        found = await self._store.read(lambda tx: explained(tx, given, policy, now_ms))
        return listing.explained_reply(found)

    async def _audit(self, rest: str, _sender: Sender) -> CommandReply:
        given = _only_id(rest)
        if given is None:
            return _usage("audit")
        return listing.trail_reply(given, await self._store.read(lambda tx: views.trail(tx, given)))

    # -- deciding -------------------------------------------------------------------------

    async def _approve(self, rest: str, sender: Sender) -> CommandReply:
        return await self._decided("approve", rest, sender, self.workflow.approve)

    async def _reject(self, rest: str, sender: Sender) -> CommandReply:
        return await self._decided("reject", rest, sender, self.workflow.reject)

    async def _roll_back(self, rest: str, sender: Sender) -> CommandReply:
        return await self._decided("roll-back", rest, sender, self.workflow.roll_back)

    async def _withdraw(self, rest: str, sender: Sender) -> CommandReply:
        given = _only_id(rest)
        if given is None:
            return _usage("withdraw")
        return await self._on_whole_id(given, sender) or CommandReply.of(
            await self.workflow.withdraw(given, sender)
        )

    async def _settle(self, rest: str, sender: Sender) -> CommandReply:
        given, word = split_id(rest)
        happened = {"happened": True, "did-not-happen": False}.get(word.lower())
        if not given or happened is None:
            return _usage("settle")
        return await self._on_whole_id(given, sender) or CommandReply.of(
            await self.workflow.settle(given, sender, happened)
        )

    async def _retry(self, rest: str, sender: Sender) -> CommandReply:
        given = _only_id(rest)
        if given is None:
            return _usage("retry")
        return await self._on_whole_id(given, sender) or CommandReply.of(
            await self.workflow.retry(given, sender)
        )

    async def _answer(self, rest: str, sender: Sender) -> CommandReply:
        given, words = split_id(rest)
        if not given or not words:
            return _usage("answer")
        return CommandReply.of(await self.workflow.answer_question(given, sender, words))

    async def _decided(
        self,
        command: str,
        rest: str,
        sender: Sender,
        decide: Callable[[str, Sender, str], Awaitable[Reply]],
    ) -> CommandReply:
        given, reason = split_id(rest)
        if not given:
            return _usage(command)
        if not reason and command != "approve":
            await self.workflow.note_ignored(given, sender, "reason_required")
            words = f"Say why: {command} {harmless(given[:64])} <reason>"
            return CommandReply.words(words, code="reason_required")
        return await self._on_whole_id(given, sender) or CommandReply.of(
            await decide(given, sender, reason)
        )

    async def _on_whole_id(self, given: str, sender: Sender) -> CommandReply | None:
        """Refuse a part of an id, audited; an unknown one is for the law to refuse.

        Where the store cannot even be read the act goes on: a stop is kept all the same.
        """
        try:
            await self._store.read(lambda tx: views.exactly(tx, given))
        except (ProposalNotFound, StoreUnavailable):
            return None
        except AmbiguousId as error:
            await self.workflow.note_ignored(given, sender, error.code)
            return CommandReply.words(str(error), code=error.code)
        return None

    # -- sources and operators --------------------------------------------------------------

    async def _evidence(self, rest: str, sender: Sender) -> CommandReply:
        raw = as_bytes(inline_json(rest))
        return CommandReply.of(await self.workflow.record_evidence(raw, sender))

    async def _freeze(self, rest: str, sender: Sender) -> CommandReply:
        return CommandReply.of(await self.workflow.freeze(rest.strip(), sender))

    async def _thaw(self, rest: str, sender: Sender) -> CommandReply:
        if rest.strip():
            return _usage("thaw")
        return CommandReply.of(await self.workflow.thaw(sender))

    # -- the house ------------------------------------------------------------------------

    async def _tools(self, _rest: str, _sender: Sender) -> CommandReply:
        return listing.tools_reply(self.workflow.policy)

    async def _rules(self, rest: str, _sender: Sender) -> CommandReply:
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

    async def _policy(self, _rest: str, _sender: Sender) -> CommandReply:
        return listing.policy_reply(self.workflow.policy)

    async def _status(self, _rest: str, _sender: Sender) -> CommandReply:
        policy, now_ms, lines = self.workflow.policy, self._now_ms(), tuple(self.health())
        waits = bool(self.workflow.world.heard.freezes())
        try:
            return await self._store.read(
                lambda tx: status_reply(tx, policy, now_ms, lines, freeze_waits=waits)
            )
        except StoreUnavailable as error:
            return unread_reply(error, policy, now_ms, lines)

    async def _help(self, rest: str, _sender: Sender) -> CommandReply:
        word = rest.strip().lower()
        if word in COMMANDS:
            return CommandReply.words(usage_of(word))
        return CommandReply.words(*(usage_of(each) for each in COMMANDS))

    async def _unknown(self, word: str, sender: Sender) -> CommandReply:
        await self.workflow.note_ignored("", sender, "unknown_command")
        named = f"There is no command {mask_text(word)!r}." if word else "Here is no command."
        return CommandReply.words(
            f"{named}{meant(word, COMMANDS)} All of them: help", code="unknown_command"
        )

    # -- inside ---------------------------------------------------------------------------

    @property
    def _store(self) -> ProposalStore:
        return self.workflow.world.store

    def _now_ms(self) -> int:
        return self.workflow.world.clock.now_ms()


def _only_id(rest: str) -> str | None:
    words = rest.split()
    return words[0] if len(words) == 1 else None


def _usage(command: str) -> CommandReply:
    return CommandReply.words(f"Write: {usage_of(command)}", code="unknown_command")


def _answered(answer: Answer) -> CommandReply:
    return CommandReply(document=answer.as_json(), code=answer.reason)
