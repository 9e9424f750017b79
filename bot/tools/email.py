"""The mail tool: a draft while the window is open, sent when it closes (design section 7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from bot.durable_files import discard, move, write_whole
from bot.own_folder import own_folder
from bot.tools.message import composed, enveloped, fingerprint
from lifecycle.ports import Call, ToolDoubtful, ToolFailed

_DEFAULT_SENDER: Final = "signoff@localhost"
#: So long it is waited for that a sent mail lies among the sent ones, an unsent one among drafts.
_KEPT_S: Final = 2.0
_BUSY: Final = (
    "a disk is slow, and an earlier attempt is still at work on the draft: try again once it has "
    "ended"
)
_Answer = TypeVar("_Answer")

log = logging.getLogger(__name__)


class Carrier(Protocol):
    """Hands a mail over. ToolFailed: surely not; any other error: perhaps."""

    #: True where handing over the same mail twice delivers it once.
    repeatable: bool

    async def carry(self, draft: str, data: bytes, limit_s: float) -> str:
        """Deliver and return where it went, in words.

        Where it is cancelled it ends only once nothing of it goes on, as it then ended.
        """

    def describe(self) -> str:
        """Say in words how mail leaves; no secrets."""


class _Work(NamedTuple):
    """What an attempt does on disk; `sent` is what is known of the mail by then, None: nothing."""

    task: asyncio.Task[Any]
    sent: bool | None


#: By the place of its draft, what is not done yet, though the attempt may be over; also of a tool
#: that a reload has replaced meanwhile.
_at_work: dict[Path, _Work] = {}


class EmailTool:
    """Deferred: execute writes a draft, commit sends it, roll_back discards it.

    A draft lives in `data/drafts`; while it is being sent its name ends in `.sending`, and in
    `data/sent` it stays as the proof that it was. Each step is on disk before the next begins.
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
        """Return the sender and the way that mail takes."""
        return {"from": self._sender, "leaves by": self._carrier.describe()}

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Write the draft; the same call again finds the draft that is there."""
        return await asyncio.to_thread(self._stage, call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Send the draft, whose bytes must still be those that the receipt names."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + call.limit_s
        name = _draft_of(call)
        if await self._was_sent(name, call.limit_s):
            return {"draft": name, "sent": True}
        claim = self._begun(name, asyncio.to_thread(self._claimed, name, call), sent=None)
        if (data := await asyncio.shield(claim)) is None:
            return {"draft": name, "sent": True}
        try:  # the time that a slow disk took is none that a server may take
            went = await self._carried(name, data, ends_s - loop.time())
        except ToolFailed:
            await _waited_for(self._begun(name, self._put_back(name), sent=False), ends_s)
            raise
        await _waited_for(self._begun(name, self._kept(name), sent=True), ends_s)
        return {"draft": name, "sent": True, "went": went}

    async def _carried(self, name: str, data: bytes, limit_s: float) -> str:
        """Hand it over; what goes on of that once our time is over is at work on the draft."""
        carrying = self._begun(name, self._carrier.carry(name, data, limit_s), sent=None)
        try:
            return await asyncio.shield(carrying)
        except asyncio.CancelledError:
            carrying.cancel()
            carrying.add_done_callback(partial(self._carried_late, name))
            raise

    def _carried_late(self, name: str, carrying: asyncio.Task[str]) -> None:
        """Note that it was sent all the same, where it was: nobody may discard or send it again."""
        if not carrying.cancelled() and carrying.exception() is None:
            self._begun(name, self._kept(name), sent=True)

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Discard the draft; what was sent stands."""
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
        """Take the draft for sending, and return it; None where it was sent before.

        A draft that was already taken under the same key may have been sent: that is unknown,
        unless repeating does no harm. A person's retry comes with a key of its own.
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
        """Note for which attempt the draft is sent, and return it.

        Raises ToolFailed where nothing was sent, ToolDoubtful where an earlier attempt may have.
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
        """Wait a while until an earlier attempt has left the draft alone: else it would be put
        back, or claimed anew, while it is sent, and could be sent again. True where it only has to
        note that the mail was sent.

        Raises ToolFailed, or ToolDoubtful where that attempt was told as unknown, if it has not.
        """
        loop, place = asyncio.get_running_loop(), self._drafts / name
        waits_until_s = loop.time() + min(_KEPT_S, limit_s / 2)
        while (earlier := _at_work.get(place)) is not None and not earlier.sent:
            await asyncio.wait({earlier.task}, timeout=max(0.0, waits_until_s - loop.time()))
            if not earlier.task.done():
                raise ToolDoubtful(_BUSY) if earlier.sent is None else ToolFailed(_BUSY)
        return earlier is not None

    def _begun(
        self, name: str, work: Coroutine[Any, Any, _Answer], *, sent: bool | None
    ) -> asyncio.Task[_Answer]:
        """Begin what goes on where its attempt is over, and keep it as long as it does."""
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
        except OSError as error:  # it is sent by nobody, and can be discarded again
            raise _undone("discarded", error) from error
        return {"draft": name, "discarded": any(gone), "still_stands": []}

    def _sending(self, name: str) -> Path:
        return self._drafts / (name + ".sending")


def _forget(place: Path, task: asyncio.Task[Any]) -> None:
    """Drop what is done, unless another attempt has begun something there already; how it ended
    whose attempt was over is for nobody."""
    if not task.cancelled():
        task.exception()
    if (now := _at_work.get(place)) is not None and now.task is task:
        del _at_work[place]


async def _waited_for(tidying: asyncio.Task[None], ends_s: float) -> None:
    """Wait a while for what tidies up: what became of the mail is known, and a disk that is slow
    until `ends_s`, a time of the loop, must not put it in doubt."""
    left_s = ends_s - asyncio.get_running_loop().time()
    await asyncio.wait({tidying}, timeout=min(_KEPT_S, max(0.0, left_s / 2)))


def _stands(name: str) -> Mapping[str, Any]:
    return {"draft": name, "still_stands": ["the mail was sent"]}


def _undone(what: str, error: OSError) -> ToolFailed:
    why = error.strerror or type(error).__name__
    return ToolFailed(f"the draft cannot be {what} ({why}): an operator must see to data/drafts")


def _claim_of(sending: Path) -> str | None:
    try:
        return sending.with_suffix(".key").read_text()
    except FileNotFoundError:
        return None


def _draft_of(call: Call) -> str:
    """Return the name of the draft in the receipt; a name with a path in it is none of ours."""
    name = (call.receipt or {}).get("draft")
    if not isinstance(name, str) or not name.endswith(".eml") or Path(name).name != name:
        raise ToolFailed("the receipt names no draft")
    return name
