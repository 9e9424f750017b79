"""Stops outlive the process, whatever moment it died at."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from bot.storage.spool import FileSpool

STOPS = [
    {
        "proposal_id": f"p{number}",
        "surface": "slack",
        "kind": "person",
        "reason": "zu spät\n",
        "at_ms": 2**60,
    }
    for number in (1, 2, 3)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "spool.jsonl"


def test_an_empty_spool_makes_no_file(path: Path) -> None:
    spool = FileSpool(path)
    spool.forget([])
    spool.keep_all([])

    assert spool.kept() == []
    assert not path.exists()


def test_stops_are_kept_in_order_across_processes(path: Path) -> None:
    for stop in STOPS:
        FileSpool(path).keep(stop)

    assert FileSpool(path).kept() == STOPS
    assert path.stat().st_mode & 0o077 == 0


def test_several_stops_are_handed_to_the_disk_by_one_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that hangs as the process ends answers to no second one."""
    spool, handed = FileSpool(path), list[int]()
    monkeypatch.setattr(os, "fsync", lambda _: handed.append(len(path.read_bytes().splitlines())))

    spool.keep_all(STOPS)

    assert handed[0] == len(STOPS)
    assert FileSpool(path).kept() == STOPS


def test_a_stop_is_forced_to_disk_before_it_counts_as_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, forced, fsync = FileSpool(path), [], os.fsync

    def noting(descriptor: int) -> None:
        forced.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    spool.keep(STOPS[0])
    spool.keep(STOPS[1])

    if Path("/proc/self/fd").exists():
        assert forced == [str(path), str(path.parent), str(path)]
    assert len(forced) == 3


def test_what_is_in_the_store_is_forgotten(path: Path) -> None:
    spool = FileSpool(path)
    for stop in STOPS:
        spool.keep(stop)

    spool.forget([STOPS[1]])
    spool.forget([STOPS[1]])
    assert FileSpool(path).kept() == [STOPS[0], STOPS[2]]

    spool.forget(STOPS)
    assert FileSpool(path).kept() == []
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "spool.jsonl",
        "spool.jsonl.reserve",
    ]


def test_a_line_torn_by_a_crash_is_kept_aside(path: Path) -> None:
    spool = FileSpool(path)
    spool.keep(STOPS[0])
    with path.open("ab") as file:
        file.write(b'{"proposal_id":"p2","rea')

    again = FileSpool(path)
    again.keep(STOPS[2])

    assert again.kept() == [STOPS[0], STOPS[2]]
    assert path.with_name("spool.jsonl.torn").read_bytes() == b'{"proposal_id":"p2","rea\n'
    assert b'"p2","rea' not in path.read_bytes(), "it is put aside once, not at every start"


def test_a_whole_stop_without_its_line_end_still_stops(path: Path) -> None:
    FileSpool(path).keep(STOPS[0])
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))

    again = FileSpool(path)
    again.keep(STOPS[1])

    assert again.kept() == STOPS[:2]
    assert not path.with_name("spool.jsonl.torn").exists()


def test_a_stop_that_cannot_be_written_leaves_no_half(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = FileSpool(path)
    spool.keep(STOPS[0])

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        spool.keep(STOPS[1])

    assert spool.kept() == STOPS[:1]


WHOLE = b'{"proposal_id":"p2","surface":"slack",%b}'


@pytest.mark.parametrize(
    "line",
    [
        *(b"{}", b'{"proposal_id": 1, "surface": "x"}', b"[]", b"\xff", b"1", b" " + b"[" * 5_000),
        *(WHOLE % odd for odd in (b'"reason":null', b'"reason":1', b'"account":null', b'"id":1')),
        *(WHOLE % odd for odd in (b'"event_id":[]', b'"kind":[]', b'"at_ms":null')),
        *(WHOLE % odd for odd in (b'"heir":1', b'"heir_kind":[]', b'"heir_kind":"nobody"')),
        *(WHOLE % odd for odd in (b'"at_ms":true', b'"at_ms":"1"', b'"found_late":1', b'"bare":1')),
    ],
)
def test_a_line_that_is_no_stop_keeps_the_bot_from_nothing(path: Path, line: bytes) -> None:
    FileSpool(path).keep(STOPS[0])
    path.write_bytes(path.read_bytes() + line + b"\n")

    assert FileSpool(path).kept() == STOPS[:1]
    assert path.with_name("spool.jsonl.torn").read_bytes() == line + b"\n"


def test_a_stop_that_a_disk_changed_is_told_and_named(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody was told that it is kept, and nobody that it is lost."""
    FileSpool(path).keep(STOPS[0])
    path.write_bytes(path.read_bytes().replace(b'"', b"\xa2", 1))

    assert FileSpool(path).kept() == []
    assert FileSpool(path).kept() == []

    [told] = caplog.records
    assert "that are no stop: 1. They stand in" in told.getMessage()
    assert f"{path}.torn" in told.getMessage()


def test_a_kind_that_nobody_knows_is_no_stop(path: Path) -> None:
    FileSpool(path).keep(STOPS[0] | {"kind": "robot"})

    assert FileSpool(path).kept() == []


def test_on_a_full_disk_a_stop_takes_the_room_that_was_set_aside(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = FileSpool(path)
    reserve = path.with_name("spool.jsonl.reserve")
    real = os.write

    def full_while_reserved(descriptor: int, data: bytes) -> int:
        if reserve.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full_while_reserved)
    spool.keep(STOPS[0])
    monkeypatch.undo()

    assert FileSpool(path).kept() == [STOPS[0]]
    assert reserve.stat().st_size == 65_536


def test_a_spool_that_cannot_be_written_says_so_and_keeps_its_room(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = FileSpool(path)

    def refused(_descriptor: int, _data: bytes) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "write", refused)
    with pytest.raises(PermissionError):
        spool.keep(STOPS[0])

    assert path.with_name("spool.jsonl.reserve").exists()


def full(_descriptor: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_torn_line_that_cannot_be_put_aside_stands_in_nobodys_way(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FileSpool(path).keep(STOPS[0])
    path.write_bytes(path.read_bytes() + b'{"proposal_id":"p2","rea')
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        spool = FileSpool(path)
    spool.keep(STOPS[1])
    spool.keep(STOPS[2])

    spool.forget([STOPS[0]])

    assert spool.kept() == STOPS[1:]
    assert FileSpool(path).kept() == STOPS[1:]
    assert path.with_name("spool.jsonl.torn").read_bytes() == b'{"proposal_id":"p2","rea\n'


def test_a_stop_that_cannot_be_forgotten_stays_whole_and_can_be_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = FileSpool(path)
    for stop in STOPS:
        spool.keep(stop)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            spool.forget(STOPS[:1])
    assert FileSpool(path).kept() == STOPS

    spool.forget(STOPS[:1])

    assert spool.kept() == STOPS[1:]


def test_on_a_full_disk_a_stop_is_forgotten_in_the_room_that_was_set_aside(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = FileSpool(path)
    for stop in STOPS:
        spool.keep(stop)
    reserve = path.with_name("spool.jsonl.reserve")
    real = os.fsync

    def full_while_reserved(descriptor: int) -> None:
        if reserve.exists():
            full(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full_while_reserved)
    spool.forget(STOPS[:1])

    assert spool.kept() == STOPS[1:]
