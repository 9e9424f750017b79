"""Holds the mail tool: a mail is a draft while its window is open, and is sent when that closes
(design section 7).

A `Carrier` sends it: `maildir.py` into a folder, `smtp.py` to a server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from bot.process.durable_files import discard, move, write_whole
from bot.process.own_folder import own_folder
from bot.tools.message import composed, enveloped, fingerprint
from lifecycle.ports import Call, ToolDoubtful, ToolFailed

_DEFAULT_SENDER: Final = "signoff@localhost"
#: How many seconds a call waits at most until its draft was moved or an earlier attempt has ended.
_KEPT_S: Final = 2.0
_BUSY: Final = (
    "a disk is slow, and an earlier attempt is still at work on the draft: try again once it has "
    "ended"
)
_Answer = TypeVar("_Answer")

log = logging.getLogger(__name__)


class Carrier(Protocol):
    """Delivers mails. Used on the event loop.

    ToolFailed means that the mail was surely not delivered, any other error that it may have been.
    """

    #: True if a mail that is handed over twice is delivered once.
    repeatable: bool

    async def carry(self, draft: str, data: bytes, limit_s: float) -> str:
        """Deliver the mail `data`, and return in words where it went.

        `draft` is its file name; the caller waits `limit_s` seconds at most. If this is cancelled,
        it ends only when nothing of it goes on any more, and then as the delivery did.
        """

    def describe(self) -> str:
        """Say in words how mail leaves; no secrets."""


class _Work(NamedTuple):
    """What an attempt still does with a draft. `sent` is whether the mail was sent; None means that
    this is not known."""

    task: asyncio.Task[Any]
    sent: bool | None


#: The unfinished work by the path of its draft, even if the attempt that began it is over. It is
#: shared by all mail tools, because a reload may replace the tool meanwhile.
_at_work: dict[Path, _Work] = {}


class EmailTool:
    """A deferred tool: execute writes a draft, commit sends it, roll_back discards it.

    A draft lives in `data/drafts`. While it is being sent its name ends in `.sending`; once sent it
    stays in `data/sent` as the proof of that. Each step is on disk before the next begins.

    The verbs and all coroutines run on the event loop. What touches the disk runs in the pool:
    `_stage`, `_claimed`, `_take`, `_unclaimed`, `_keep_as_sent` and `_discard`.
    """

    def __init__(
        self, sender: str | None, carrier: Carrier, folder: Path, now_ms: Callable[[], int]
    ) -> None:
        """Keep drafts below `folder`, the config file's."""
        self._sender = sender or _DEFAULT_SENDER
        self._carrier = carrier
        self._drafts = folder / "data" / "drafts"
        self._sent = folder / "data" / "sent"
        self._now_ms = now_ms

    def describe(self) -> Mapping[str, str]:
        """Return the sender and the way that mail takes, in words for the card."""
        return {"from": self._sender, "leaves by": self._carrier.describe()}

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Write the draft, unless this same call has written it before; return its receipt."""
        return await asyncio.to_thread(self._stage, call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Send the draft. Raises ToolFailed if its bytes are not those that the receipt names."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + call.limit_s
        name = _draft_of(call)
        if await self._was_sent(name, call.limit_s):
            return {"draft": name, "sent": True}
        claim = self._begun(name, asyncio.to_thread(self._claimed, name, call), sent=None)
        if (data := await asyncio.shield(claim)) is None:
            return {"draft": name, "sent": True}
        try:  # the server gets only the time that a slow disk has left of the limit
            went = await self._carried(name, data, ends_s - loop.time())
        except ToolFailed:
            await _waited_for(self._begun(name, self._put_back(name), sent=False), ends_s)
            raise
        await _waited_for(self._begun(name, self._kept(name), sent=True), ends_s)
        return {"draft": name, "sent": True, "went": went}

    async def _carried(self, name: str, data: bytes, limit_s: float) -> str:
        """Hand the mail over and return where it went.

        If this is cancelled, the delivery is cancelled too. Until it has ended it counts as at work
        on the draft.
        """
        carrying = self._begun(name, self._carrier.carry(name, data, limit_s), sent=None)
        try:
            return await asyncio.shield(carrying)
        except asyncio.CancelledError:
            carrying.cancel()
            carrying.add_done_callback(partial(self._carried_late, name))
            raise

    def _carried_late(self, name: str, carrying: asyncio.Task[str]) -> None:
        """Keep the mail as sent if it was delivered although the call was cancelled, so that nobody
        discards it or sends it again."""
        if not carrying.cancelled() and carrying.exception() is None:
            self._begun(name, self._kept(name), sent=True)

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Discard the draft; if the mail was sent, return that it still stands."""
        name = _draft_of(call)
        if await self._was_sent(name, call.limit_s):
            return _stands(name)
        discarded = asyncio.to_thread(self._discard, name)
        return await asyncio.shield(self._begun(name, discarded, sent=False))

    def _stage(self, call: Call) -> Mapping[str, Any]:
        name = fingerprint(call) + ".eml"
        path = self._drafts / name
        try:
            own_folder(self._drafts)
            if not path.exists():
                write_whole(path, composed(call, self._sender, self._now_ms()))
            data = path.read_bytes()
        except OSError as error:  # a draft that no receipt names is never sent
            with suppress(OSError):
                discard(path)
            raise _undone("written", error) from error
        recipients = enveloped(data).recipients
        digest = "sha256:" + sha256(data).hexdigest()
        return {"draft": name, "draft_digest": digest, "recipients": len(recipients)}

    def _claimed(self, name: str, call: Call) -> bytes | None:
        """Take the draft for sending and return its bytes; None if it was sent before.

        A draft that an attempt with the same key has already taken may have been sent. ToolDoubtful
        is raised then, unless sending it twice does no harm. A person's retry has a key of its own.
        """
        draft, sending = self._drafts / name, self._sending(name)
        if (self._sent / name).exists():
            return None
        if sending.exists():
            if _claim_of(sending) == call.idempotency_key and not self._carrier.repeatable:
                raise ToolDoubtful("an earlier attempt did not tell how it ended")
        elif not draft.exists():
            raise ToolFailed("the draft is gone")
        data = self._take(draft, sending, call.idempotency_key)
        if "sha256:" + sha256(data).hexdigest() != (call.receipt or {}).get("draft_digest"):
            self._unclaimed(name)
            raise ToolFailed("the draft was changed after it was written")
        return data

    def _take(self, draft: Path, sending: Path, key: str) -> bytes:
        """Rename the draft, note the key of the attempt that sends it, and return its bytes.

        Raises ToolFailed if nothing was sent, ToolDoubtful if an earlier attempt may have sent it.
        """
        taken_before = sending.exists()
        try:
            if not taken_before:
                move(draft, sending)
            write_whole(sending.with_suffix(".key"), key.encode())
            return sending.read_bytes()
        except OSError as error:
            if taken_before:
                raise ToolDoubtful(str(_undone("taken for sending", error))) from error
            with suppress(OSError):
                move(sending, draft)
            raise _undone("taken for sending", error) from error

    def _unclaimed(self, name: str) -> None:
        move(self._sending(name), self._drafts / name)
        discard(self._sending(name).with_suffix(".key"))

    async def _was_sent(self, name: str, limit_s: float) -> bool:
        """Return True if an earlier attempt has sent the mail and has only to move its file; False
        if no earlier attempt is at work on the draft.

        Waits for an attempt that is, at most `_KEPT_S` seconds or half of `limit_s`: else the draft
        could be put back or claimed while it is being sent, and be sent twice. If it is still at
        work then, raises ToolDoubtful if its outcome was called unknown, else ToolFailed.
        """
        loop, place = asyncio.get_running_loop(), self._drafts / name
        waits_until_s = loop.time() + min(_KEPT_S, limit_s / 2)
        while (earlier := _at_work.get(place)) is not None and not earlier.sent:
            await asyncio.wait({earlier.task}, timeout=max(0.0, waits_until_s - loop.time()))
            if not earlier.task.done():
                raise ToolDoubtful(_BUSY) if earlier.sent is None else ToolFailed(_BUSY)
            _forget(place, earlier.task)  # memory may have been too short to do so at its end
        return earlier is not None

    def _begun(
        self, name: str, work: Coroutine[Any, Any, _Answer], *, sent: bool | None
    ) -> asyncio.Task[_Answer]:
        """Begin work on a draft as a task that may outlast its attempt, and register it in
        `_at_work` until it ends."""
        place, task = self._drafts / name, asyncio.create_task(work)
        _at_work[place] = _Work(task, sent)
        task.add_done_callback(lambda _task: _forget(place, task))
        return task

    async def _put_back(self, name: str) -> None:
        with suppress(OSError):  # a retry finds it where it is
            await asyncio.to_thread(self._unclaimed, name)

    async def _kept(self, name: str) -> None:
        try:
            await asyncio.to_thread(self._keep_as_sent, name)
        except OSError as error:
            log.warning("the mail %s was sent and stays in data/drafts: %s", name, error.strerror)

    def _keep_as_sent(self, name: str) -> None:
        own_folder(self._sent)
        move(self._sending(name), self._sent / name)
        discard(self._sending(name).with_suffix(".key"))

    def _discard(self, name: str) -> Mapping[str, Any]:
        if (self._sent / name).exists():
            return _stands(name)
        try:
            gone = [discard(self._drafts / name), discard(self._sending(name))]
            discard(self._sending(name).with_suffix(".key"))
        except OSError as error:  # nobody sends it, and roll_back can be repeated
            raise _undone("discarded", error) from error
        return {"draft": name, "discarded": any(gone), "still_stands": []}

    def _sending(self, name: str) -> Path:
        return self._drafts / (name + ".sending")


def _forget(place: Path, task: asyncio.Task[Any]) -> None:
    """Remove ended work from `_at_work`, unless other work on that draft has begun meanwhile.

    Its error is read here because asyncio would else log it if its attempt is over.
    """
    if not task.cancelled():
        task.exception()
    if (now := _at_work.get(place)) is not None and now.task is task:
        del _at_work[place]


async def _waited_for(tidying: asyncio.Task[None], ends_s: float) -> None:
    """Wait for files to be moved, at most `_KEPT_S` seconds or half of what is left until `ends_s`,
    a time of the loop. What became of the mail is known already, and would be called unknown if a
    slow disk held up the answer until the end of the call."""
    left_s = ends_s - asyncio.get_running_loop().time()
    await asyncio.wait({tidying}, timeout=min(_KEPT_S, max(0.0, left_s / 2)))


def _stands(name: str) -> Mapping[str, Any]:
    return {"draft": name, "still_stands": ["the mail was sent"]}


def _undone(what: str, error: OSError) -> ToolFailed:
    why = error.strerror or type(error).__name__
    return ToolFailed(f"the draft cannot be {what} ({why}): an operator must see to data/drafts")


def _claim_of(sending: Path) -> str | None:
    try:
        return sending.with_suffix(".key").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _draft_of(call: Call) -> str:
    """Return the name of the draft in the receipt. Raises ToolFailed if there is none, or if it
    contains a path."""
    name = (call.receipt or {}).get("draft")
    if not isinstance(name, str) or not name.endswith(".eml") or Path(name).name != name:
        raise ToolFailed("the receipt names no draft")
    return name
