"""A disk that does not confirm a name: whoever copies, or brings back, is told what is so."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from bot.storage import CannotOpen
from bot.storage.copies import back_up, bring_back
from tests.bot.storage.copied import filled, held


def unconfirmed(monkeypatch: pytest.MonkeyPatch, once_named: Path) -> None:
    """Let the disk fail to confirm names in the folder of a file once that has its name."""
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) and once_named.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)


async def test_a_copy_whose_name_the_disk_does_not_confirm_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await filled(tmp_path / "signoff.db", "p1")).close()
    file = tmp_path / "copy.db"

    with monkeypatch.context() as disk:
        unconfirmed(disk, file)
        with pytest.raises(CannotOpen, match="cannot be copied"):
            back_up(tmp_path / "signoff.db", file)
    assert not file.exists()

    back_up(tmp_path / "signoff.db", file)
    assert await held(file) == ["p1"]


async def test_a_restore_that_the_disk_does_not_confirm_says_which_database_has_the_name(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said that the copy could not take the place that it had taken."""
    target = tmp_path / "new" / "signoff.db"

    with monkeypatch.context() as disk:
        unconfirmed(disk, target)
        with pytest.raises(CannotOpen, match="has taken the place") as refused:
            bring_back(copy, target)

    assert await held(target) == ["p1", "p2"]
    assert "signoff audit verify" in str(refused.value)
