"""Permits are signed with a key that nobody else can read, and keys can be rotated."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from bot.keys import KEY_FILE, KeysRefused, KeysUnusable, load_ring, passing_ring

SECRET = {"SIGNOFF_PERMIT_SECRET": "a long enough secret"}


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    made = load_ring(tmp_path / "data", None, {})
    again = load_ring(tmp_path / "data", None, {})

    path = tmp_path / "data" / KEY_FILE
    assert made == again
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [KEY_FILE]


def test_a_secret_of_the_environment_signs(tmp_path: Path) -> None:
    ring = load_ring(tmp_path, "SIGNOFF_PERMIT_SECRET", SECRET)

    assert ring.current.startswith("env-")
    assert not (tmp_path / KEY_FILE).exists()
    assert "a long enough secret" not in repr(ring)


def test_a_name_without_a_value_falls_back_to_the_file(tmp_path: Path) -> None:
    assert load_ring(tmp_path, "SIGNOFF_PERMIT_SECRET", {}) == load_ring(tmp_path, None, {})


def test_what_the_file_signed_holds_after_a_secret_came(tmp_path: Path) -> None:
    before = load_ring(tmp_path, None, {})
    after = load_ring(tmp_path, "SIGNOFF_PERMIT_SECRET", SECRET)

    assert after.current != before.current
    assert after.keys[before.current] == before.keys[before.current]


def test_the_first_line_signs_and_the_old_one_still_verifies(tmp_path: Path) -> None:
    before = load_ring(tmp_path, None, {})
    path = tmp_path / KEY_FILE
    path.write_text(f"k-new {'A' * 43}\n" + path.read_text())

    after = load_ring(tmp_path, None, {})

    assert after.current == "k-new"
    assert before.current in after.keys


@pytest.mark.parametrize(
    "text",
    [
        *("", "k1\n", "k1 short\n", f"k 1 {'A' * 43}\n", "k1 ***\n", "ü x\n"),
        f"k1 {'A' * 43}\nk1 {'B' * 43}\n",  # the old one went on signing
    ],
)
def test_a_file_without_keys_stops_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / KEY_FILE
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(KeysRefused, match=str(path)):
        load_ring(tmp_path, None, {})


def test_a_key_that_others_can_read_stops_the_start(tmp_path: Path) -> None:
    load_ring(tmp_path, None, {})
    (tmp_path / KEY_FILE).chmod(0o644)

    with pytest.raises(KeysRefused, match="chmod 600"):
        load_ring(tmp_path, None, {})


def test_a_secret_that_can_be_guessed_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(KeysRefused, match="SIGNOFF_PERMIT_SECRET") as refused:
        load_ring(tmp_path, "SIGNOFF_PERMIT_SECRET", {"SIGNOFF_PERMIT_SECRET": "hunter2"})

    assert "hunter2" not in str(refused.value)


def test_a_key_that_the_disk_does_not_give_may_come_with_the_next_start(tmp_path: Path) -> None:
    """A start that can be tried again ends with another exit code than a config that is wrong."""
    (tmp_path / KEY_FILE).mkdir()

    with pytest.raises(KeysUnusable) as unread:
        load_ring(tmp_path, None, {})

    assert not isinstance(unread.value, KeysRefused)


def test_what_a_start_left_that_died_over_its_key_is_in_the_way_of_no_other(tmp_path: Path) -> None:
    """In a container every start has the same number."""
    (tmp_path / f"permit.{os.getpid()}").write_text("half")

    assert load_ring(tmp_path, None, {}) == load_ring(tmp_path, None, {})


def test_a_key_that_a_full_disk_did_not_take_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(KeysUnusable, match="No space"):
            load_ring(tmp_path, None, {})

    assert list(tmp_path.iterdir()) == []
    assert load_ring(tmp_path, None, {}).current


def test_those_who_make_the_key_at_once_have_one(tmp_path: Path) -> None:
    """Two databases of one folder, each with its bot: what one had signed, nobody knew later."""
    for number in range(20):
        together, folder = Barrier(4), tmp_path / str(number)

        def load(_: int, together: Barrier = together, folder: Path = folder) -> str:
            together.wait()
            return load_ring(folder, None, {}).current

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(load, range(4)))) == 1
        assert [entry.name for entry in folder.iterdir()] == [KEY_FILE]


def test_a_ring_in_memory_is_another_one_each_time() -> None:
    assert passing_ring() != passing_ring()


def test_a_key_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    """A config in a folder that the account may not write, its database in another."""
    (tmp_path / "data").write_text("no folder")

    with pytest.raises(KeysUnusable, match=r"let the account .* write there, or set SIGNOFF_KEY$"):
        load_ring(tmp_path / "data", "SIGNOFF_KEY", {})
