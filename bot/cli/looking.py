"""This module holds the commands `pending`, `show`, `explain`, `rules` and `status`.

They only read, also beside a running bot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from bot.cli.options import (
    ConfigOption,
    JsonOption,
    best_config_of,
    config_of,
    config_to_show,
    wants_json,
)
from bot.cli.saying import complain, fail, give_json, give_reply
from bot.process import pool

if TYPE_CHECKING:
    from bot.chat.commands.replies import CommandReply
    from bot.config import Config
    from lifecycle.ports import Transaction

T = TypeVar("T")

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The id, or 4 or more characters it begins with.")
]
PageArgument = Annotated[int, typer.Argument(metavar="PAGE", min=1, help="Which page of ten.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command("pending")(pending)
    app.command("show")(show)
    app.command("explain")(explain)
    app.command("rules")(rules)
    app.command("status")(status)


def pending(
    context: typer.Context,
    page: PageArgument = 1,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List what waits for people.

    And what executes; what needs attention stands first.

    \b
    signoff pending
    signoff --json pending | jq '.proposals[].proposal_id'
    """
    loaded = config_of(context, config, only_look=True)
    from bot import views
    from bot.books import look
    from bot.chat.commands.as_typed import answer_as_typed
    from bot.chat.commands.listing import pending_reply

    beside = _beside(loaded)
    if wants_json(context, json):
        url = loaded.intake.http.public_url
        found = pool.run(look(loaded, lambda tx, now: views.pending_json(tx, now, public_url=url)))
        give_json(found | beside)
        return

    def view(tx: Transaction, now_ms: int) -> CommandReply:
        return pending_reply(views.pending_page(tx, now_ms, page), now_ms)

    reply = answer_as_typed(pool.run(look(loaded, view)), "signoff ")
    give_reply(replace(reply, blocks=(*reply.blocks, *beside.values())))


def _beside(config: Config) -> dict[str, str]:
    """Return words by key that explain an empty answer: there is no database, or a bot works with
    another one. Empty if neither is so."""
    from bot.books import elsewhere_words, no_database, running_pid

    words = {
        "running_elsewhere": None if running_pid(config) is not None else elsewhere_words(config),
        "no_database": no_database(config),
    }
    return {key: said for key, said in words.items() if said}


def _looked(config: Config, view: Callable[[Transaction, int], T]) -> T:
    """Run a view of one proposal and return its value. Raises CannotOpen if there is no
    database."""
    from bot.books import look

    if elsewhere := _beside(config).get("running_elsewhere"):
        complain(elsewhere)
    return pool.run(look(config, view, must_exist=True))


def show(
    context: typer.Context,
    proposal_id: IdArgument,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show one proposal.

    Everything that its card says, or all of it as JSON.

    \b
    signoff show p1
    signoff show 2f9c --json
    """
    from bot import views
    from bot.chat.cards.beside import Beside, call_begun
    from bot.chat.cards.card import card_of
    from bot.chat.commands.listing import card_reply

    if wants_json(context, json):
        loaded = config_of(context, config, only_look=True)
        url = loaded.intake.http.public_url
        give_json(_looked(loaded, lambda tx, now: views.show(tx, proposal_id, now, public_url=url)))
        return
    loaded = config_to_show(context, config)

    def view(tx: Transaction, now_ms: int) -> CommandReply:
        proposal = views.resolve(tx, proposal_id)
        reviews = tx.reviews.of(proposal.proposal_id)
        added = _added(loaded, proposal.tool)
        call = call_begun(tx, proposal)
        return card_reply(card_of(proposal, Beside(loaded.policy, now_ms, reviews, added, call)))

    give_reply(_looked(loaded, view))


def _added(config: Config, name: str) -> Mapping[str, Any]:
    """Return what a tool adds by its config, as its card shows it; empty if the tool cannot be
    made."""
    from bot.chat.cards.beside import defaults_of
    from bot.tools.toolbox import ConfiguredToolbox, described_by_config

    tool = config.policy.tools.get(name)
    if tool is None:
        return {}
    told = described_by_config(tool)
    if told is not None:  # the class of a Python tool may hang as it is made
        return told
    try:
        made = ConfiguredToolbox({name: tool}, config.folder, os.environ, lambda: 0)
        return defaults_of(made, name)
    except ValueError:
        return {}


def explain(
    context: typer.Context,
    proposal_id: IdArgument,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Say why a proposal stands where it stands.

    Every rule's verdict and every condition of authority.
    """
    loaded = config_of(context, config, only_look=True)
    from bot.chat.commands.listing import explained_reply
    from bot.explained import explained

    policy = loaded.policy
    found = _looked(loaded, lambda tx, now: explained(tx, proposal_id, policy, now))
    _say(context, json, found, lambda: explained_reply(found))


def rules(
    context: typer.Context,
    rule: Annotated[
        str | None, typer.Argument(metavar="ID", help="One rule.", show_default=False)
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the rules, or tell all about one.

    With its settings and its own cases.

    \b
    signoff rules
    signoff rules recipients_allowed
    """
    loaded = config_of(context, config)
    from bot.rules_told import laws_of, rule_reply, rules_reply

    laws = laws_of(loaded)
    if rule is None:
        listed = {"rules": list(laws.values())}
        _say(context, json, listed, lambda: rules_reply(loaded.policy, laws))
        return
    if rule not in laws:
        from bot.config.problems import nearest
        from lifecycle.text.masking import mask_text

        fail(f'There is no rule "{mask_text(rule)}"{nearest(rule, laws)}')
    _say(context, json, laws[rule], lambda: rule_reply(laws[rule]))


def status(context: typer.Context, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Say how things stand.

    Whether a bot runs, with this config, on which surfaces, whether it can write its store, and
    what needs a person.

    \b
    signoff status
    signoff status --json | jq -e '.running and .unwritten == null and .attention == []'
    """
    loaded = best_config_of(context, config)
    from bot.books import look, no_database, running_pid, said_beside
    from bot.chat.commands.status import status_reply
    from bot.status_told import OTHERS, Running, health_of, spooled, status_json
    from bot.storage.identity import Known, known_of
    from bot.storage.stop_lines import stops_of
    from lifecycle.stops.spooling import is_freeze

    waiting = spooled(loaded)
    pid = running_pid(loaded)
    running = None if pid is None else Running(pid, said_beside(loaded.database_file))
    taken_away = running is not None and no_database(loaded) is not None  # its name with it

    def view(tx: Transaction, now_ms: int) -> tuple[dict[str, Any], CommandReply]:
        stops = stops_of(waiting, Known(None, forgotten=True) if taken_away else known_of(tx))
        lines = health_of(tx, now_ms, loaded, running, stops)
        if others := len(waiting) - len(stops):
            lines = [*lines, OTHERS.format(others)]
        freeze_waits = any(map(is_freeze, stops))
        reply = status_reply(tx, loaded.policy, now_ms, lines, freeze_waits=freeze_waits)
        return status_json(tx, now_ms, loaded, running, stops), reply

    found, reply = pool.run(look(loaded, view))
    _say(context, json, found, lambda: reply)


def _say(context: typer.Context, json: bool, found: Any, reply: Callable[[], CommandReply]) -> None:
    if wants_json(context, json):
        give_json(found)
    else:
        give_reply(reply())
