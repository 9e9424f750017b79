"""Writes a mail as bytes: seven bits, plain addresses, nothing but what the proposal names.

The mail tool calls it in the pool; `SmtpCarrier.carry` calls `enveloped` on the event loop.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email import policy
from email.errors import HeaderParseError
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import format_datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

import idna

from lifecycle.ports import Call, ToolFailed

_POLICY: Final = policy.SMTP.clone(cte_type="7bit")
_LOCAL: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}")
_RECIPIENTS: Final = (("to", "To"), ("cc", "Cc"), ("bcc", "Bcc"))
#: Subjects with more characters are folded, and the library may lose a blank as it folds them.
_LONGEST_PLAIN: Final = 60
#: The beginning of an encoded word, which readers of the header decode, line breaks included.
_ENCODED: Final = "=?"


class _Line(str):
    """A subject that is encoded so that its reader sees exactly these characters.

    The library would decode an encoded word in it: `=0D=0ABcc:` became a recipient.
    """

    __slots__ = ()
    name: Final = "Subject"

    def fold(self, *, policy: policy.EmailPolicy) -> str:
        """Return the header line; the library calls this as it writes the mail."""
        encoded = Header(str(self), "utf-8", header_name=self.name)
        return f"{self.name}: {encoded.encode(linesep=policy.linesep)}{policy.linesep}"


class Envelope(NamedTuple):
    """What a mail server is told: sender, recipients, and the bytes of the mail without Bcc."""

    sender: str
    recipients: tuple[str, ...]
    data: bytes


def composed(call: Call, sender: str, now_ms: int) -> bytes:
    """Return the mail of a call, made of its parameters `to cc bcc reply_to subject body`; others
    are ignored. `now_ms` is its date.

    The Message-ID stands for the call, so that whoever receives a repeat can recognise it, and no
    other mail is taken for one. Raises ToolFailed if a value is no address or no text, or if
    whoever reads the bytes would find another mail in them.
    """
    mail = EmailMessage(policy=_POLICY)
    try:
        from_address = _address(sender)
        mail["From"] = from_address
        for name, header in (*_RECIPIENTS, ("reply_to", "Reply-To")):
            if addresses := _addresses(call.parameters.get(name)):
                mail[header] = addresses
        mail["Subject"] = _subject(_text(call.parameters.get("subject")))
        mail["Date"] = format_datetime(datetime.fromtimestamp(now_ms // 1000, UTC))
        mail["Message-ID"] = f"<{fingerprint(call)}@{from_address.domain}>"
        mail.set_content(_text(call.parameters.get("body")))
        return _read_back(mail, _text(call.parameters.get("subject")))
    except (ValueError, HeaderParseError, IndexError, LookupError) as error:
        raise ToolFailed("a recipient or the subject cannot stand in a mail") from error


def enveloped(data: bytes) -> Envelope:
    """Return the envelope of a composed mail, with Bcc removed from its bytes."""
    mail = BytesParser(policy=_POLICY).parsebytes(data)
    recipients = [a.addr_spec for _, header in _RECIPIENTS for a in _listed(mail, header)]
    sender = _listed(mail, "From")[0].addr_spec
    del mail["Bcc"]
    return Envelope(sender, tuple(dict.fromkeys(recipients)), mail.as_bytes())


def _subject(text: str) -> str:
    """Return a subject in the form that the library is given. Raises ValueError if it has more than
    one line."""
    if text.splitlines() not in ([], [text]):
        raise ValueError("a subject is one line")
    plain = text.isascii() and text == text.strip() and len(text) <= _LONGEST_PLAIN
    return text if plain and _ENCODED not in text else _Line(text)


def _read_back(mail: EmailMessage, subject: str) -> bytes:
    """Return a mail as bytes. Raises ValueError if a reader would understand them differently."""
    data = mail.as_bytes()
    read = BytesParser(policy=_POLICY).parsebytes(data)
    headers = [header for _, header in _RECIPIENTS] + ["From", "Reply-To"]
    same = all(_listed(read, header) == _listed(mail, header) for header in headers)
    if not same or read.keys() != mail.keys() or str(read["Subject"]) != subject or read.defects:
        raise ValueError("it would be read as another mail")
    return data


def fingerprint(call: Call) -> str:
    """Return 40 hex digits that stand for a call in file names and ids, made of its idempotency key
    and the digest of the document that was approved.

    A bot that begins with another database uses the same keys again, for other mails.
    """
    return sha256(f"{call.idempotency_key}\n{call.digest}".encode()).hexdigest()[:40]


def _listed(mail: Any, header: str) -> tuple[Address, ...]:
    return tuple(mail[header].addresses) if mail[header] is not None else ()


def _addresses(value: Any) -> tuple[Address, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(_address(item) for item in items)


def _address(value: Any) -> Address:
    """Return one plain address. Raises ValueError for anything else, such as a name beside it, a
    second address or a comment."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError("an address is one line of text")
    local, at, domain = value.rpartition("@")
    if not (at and _LOCAL.fullmatch(local) and domain):
        raise ValueError("an address is local@domain with an ASCII local part")
    address = Address(username=local, domain=_ascii_domain(domain))
    if Address(addr_spec=address.addr_spec) != address:
        raise ValueError("an address is one plain address")
    return address


def _ascii_domain(domain: str) -> str:
    if domain.isascii():
        return domain
    return idna.encode(domain, uts46=True).decode("ascii")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("subject and body are text")
    return value
