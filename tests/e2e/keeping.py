"""Stops that a bot keeps beside its database, and lives in which they may be carried out."""

from __future__ import annotations

from tests.e2e.test_full_disk import begun
from tests.processes import Process

REASON = "stop this mail"
REJECTS = "ben: reject {mail} " + REASON


def kept(bot: Process, *lines: str, copied_to: str | None = None) -> str:
    """Let a bot keep stops of a mail that its database cannot take, and die; a backup of that is
    made before."""
    mail = begun(bot)
    if copied_to is not None:
        assert bot.beside("backup", copied_to).returncode == 0
    for line in lines:
        said = bot.ask(line.format(mail=mail))
        assert any("the store cannot be written" in each for each in said), said
    bot.kill()
    return mail


def lives(bot: Process) -> None:
    """Let a bot start, do what waits, and end."""
    bot.start()
    bot.ask("status")
    assert bot.end_of_input() == 0
