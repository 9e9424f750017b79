"""A mail, and a tool that delivers it into a folder."""

from __future__ import annotations

from pathlib import Path

from bot.tools.email import EmailTool
from bot.tools.maildir import MaildirCarrier

NOW_MS = 1_772_452_800_000
MAIL = {
    "to": "pat@partner.example",
    "cc": ["kim@partner.example"],
    "bcc": ["quiet@shop.example"],
    "reply_to": "leila@shop.example",
    "subject": "Rechnung 2847: 30 Tage für Sie",
    "body": "Hello Pat,\n\n.a line that begins with a point\nünïcödé\n",
    "priority": "high",
}


def pieces(folder: Path, *names: str) -> list[Path]:
    """Return the files in these folders of the data."""
    return [f for name in names for f in (folder / "data" / name).glob("*") if f.is_file()]


class MaildirBench:
    """A tool for mails, and the folder that it delivers them into."""

    parameters = MAIL
    failing = MAIL | {"to": "pat@partner.example\nBcc: all@partner.example"}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        carrier = MaildirCarrier(folder / "data/outbox", "data/outbox")
        self.tool = EmailTool("agents@shop.example", carrier, folder, lambda: NOW_MS)

    def acts(self) -> int:
        return len(pieces(self.folder, "outbox/new", "outbox/cur"))

    def staged(self) -> int:
        return len(pieces(self.folder, "drafts"))

    def delivered(self) -> bytes:
        (mail,) = pieces(self.folder, "outbox/new", "outbox/cur")
        return mail.read_bytes()
