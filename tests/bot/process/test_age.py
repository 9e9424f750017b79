"""A number that a process had is taken for that process alone, whoever has it now."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from bot.process import age as process_age
from bot.process.age import birth_of, is_born

OWN = os.getpid()


@pytest.fixture
def no_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Linux of which nobody has mounted /proc, as in a bare chroot."""
    monkeypatch.setattr(process_age, "_PROC", tmp_path / "nothing")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "nothing"))


def ticks() -> tuple[str, int]:
    boot, colon, told = birth_of(OWN).partition(":")
    if not colon:
        pytest.skip("this kernel does not count from its boot")
    return boot, int(told)


def test_a_process_is_known_by_its_birth() -> None:
    assert is_born(OWN, birth_of(OWN))
    assert not is_born(1, birth_of(OWN)), "the parent may be born in the same tick"


def test_who_got_the_number_in_the_same_second_is_somebody_else() -> None:
    boot, told = ticks()

    assert not is_born(OWN, f"{boot}:{told - 1}")


def test_after_the_next_start_of_the_machine_the_same_number_at_the_same_time_is_another() -> None:
    boot, told = ticks()

    assert not is_born(OWN, f"{boot[::-1]}x:{told}")
    assert is_born(OWN, f":{told}"), "where it could not be seen which start that was"


def test_a_birth_in_seconds_is_read_as_former_versions_wrote_it() -> None:
    began_s = psutil.Process(OWN).create_time()

    assert is_born(OWN, f"{began_s:.3f}")
    assert not is_born(OWN, f"{began_s - 2:.3f}")
    assert not is_born(OWN, "nonsense")


@pytest.mark.usefixtures("no_proc")
def test_where_no_birth_can_be_seen_that_is_said() -> None:
    with pytest.raises((psutil.Error, OSError)):
        birth_of(OWN)
