"""This module holds the commands `propose`, `freeze` and `thaw`, which act on the store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.options import FAILED, ConfigOption, JsonOption, config_of, some_config_of, wants_json
from bot.cli.reasons import ReasonCommand
from bot.cli.saying import fail, say_done, say_line
from bot.process import pool
from bot.process.despite_locale import despite_locale

if TYPE_CHECKING:
    from bot.config import Config
    from lifecycle.answers import Reply, Sender

AsAgent = Annotated[
    str, typer.Option("--as", metavar="AGENT", help="Who proposes: an id under agents or people.")
]
AsPerson = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="PERSON", help="An operator; else the first one.", show_default=False
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command("propose")(propose)
    app.command("freeze", cls=ReasonCommand)(freeze)
    app.command("thaw")(thaw)


def propose(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON document; - is stdin.")],
    as_agent: AsAgent,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Submit one proposal while no bot runs.

    The answer is one line of JSON. What needs people is shown by the next `run`. Ends with 1
    where it was refused, or its tool failed.

    \b
    signoff propose examples/mail.json --as leila
    jq -n '…' | signoff propose - --as leila
    """
    del json  # the answer is JSON anyway
    loaded = config_of(context, config)
    raw = _read(file)
    from bot.single import submit_once

    sender = _proposer(loaded, as_agent)
    answer = pool.run(submit_once(loaded, dict(os.environ), raw, sender, file.stem))
    say_line(answer.as_json())
    if not answer.done:
        raise typer.Exit(FAILED)


def freeze(
    context: typer.Context,
    reason: Annotated[list[str], typer.Argument(metavar="REASON", help="Why, in words.")],
    as_person: AsPerson = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Let nothing execute, commit or close.

    A running bot obeys at once, until `thaw`. Intake, reject and roll back go on working.

    \b
    signoff freeze suspicious mails since noon
    """
    loaded = some_config_of(context, config)
    from bot.single import freeze_now

    sender = _operator(loaded, as_person)
    reply = pool.run(
        freeze_now(loaded, dict(os.environ), " ".join(map(despite_locale, reason)), sender)
    )
    _say_reply(reply, as_json=wants_json(context, json))


def thaw(
    context: typer.Context,
    as_person: AsPerson = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Lift the freeze.

    What is due goes on, checked again, oldest first.
    """
    loaded = some_config_of(context, config)
    from bot.single import thaw_now

    reply = pool.run(thaw_now(loaded, dict(os.environ), _operator(loaded, as_person)))
    _say_reply(reply, as_json=wants_json(context, json))


def _read(file: Path) -> bytes:
    from lifecycle.first_gate.reading import DOCUMENT_LIMIT_BYTES

    # One byte more than a document may have, so that the first gate itself answers `too_large`.
    most_bytes = DOCUMENT_LIMIT_BYTES + 1
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(most_bytes)
        with file.open("rb") as opened:
            return opened.read(most_bytes)
    except OSError as error:
        what = "Standard input" if str(file) == "-" else file
        fail(f"{what} cannot be read ({error.strerror}).")


def _proposer(config: Config, name: str) -> Sender:
    from lifecycle.answers import Sender
    from lifecycle.proposal import ActorKind
    from lifecycle.text.masking import recorded_words

    policy = config.policy
    kind = ActorKind.AGENT if name in policy.agents else None
    kind = ActorKind.PERSON if name in policy.people else kind
    account = recorded_words(despite_locale(name), 64, cut="")  # the trail keeps it
    return Sender("terminal", kind, name if kind else None, account=account)


def _operator(config: Config, name: str | None) -> Sender:
    """Return the operator in whose name to act, by default the first one of the config.

    No proof is asked: an account that may run this command may also edit the config. Ends the
    command if `name` is no operator, or there is none.
    """
    from lifecycle.answers import Sender
    from lifecycle.proposal import ActorKind
    from lifecycle.text.masking import mask_text

    operators = [p for p in config.policy.people.values() if "operators" in p.groups]
    found = [person.id for person in operators if name in (None, person.id)]
    if not found:
        who = f'"{mask_text(name)}" is not in' if name else "nobody is in"
        words = f"Only people of the group operators may do that, and {who} it."
        fail(words, code="not_an_operator")
    return Sender("terminal", ActorKind.PERSON, found[0], account="command line")


def _say_reply(reply: Reply, *, as_json: bool) -> None:
    if not reply.done:
        fail(reply.words, code=reply.code)
    say_done(reply.words, as_json=as_json)
