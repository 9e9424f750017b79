"""A folder that cannot be made, because something else has its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.process.own_folder import own_folder


def test_a_link_to_a_folder_that_is_not_there_is_called_that(tmp_path: Path) -> None:
    """`File exists` sent people to look for a file, as where the disk behind `data` was absent."""
    (tmp_path / "data").symlink_to(tmp_path / "unmounted")
    with pytest.raises(FileExistsError) as told:
        own_folder(tmp_path / "data")
    assert told.value.strerror == "it is a link to a folder that is not there"


def test_a_file_in_the_place_of_a_folder_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(FileExistsError) as told:
        own_folder(tmp_path / "data")
    assert told.value.strerror == "a file is in its place"


def test_a_folder_and_a_link_to_one_are_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    (tmp_path / "data").symlink_to(tmp_path / "there")
    own_folder(tmp_path / "data")
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o755
