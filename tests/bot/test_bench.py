"""What a move may cost is counted: one commit, one hop to the store, whatever the machine."""

from __future__ import annotations

from pathlib import Path

from bot.bench.counted import MOVES, Counts, counts
from bot.bench.lifecycles import in_flight
from bot.bench.windows import closing


async def test_a_life_takes_one_commit_and_one_hop_a_move(tmp_path: Path) -> None:
    assert await counts(tmp_path, 3) == Counts(commits=MOVES, hops=MOVES, rule_hops=2)


async def test_lives_in_flight_all_end(tmp_path: Path) -> None:
    lives = await in_flight(tmp_path, 12, 5)

    assert len(lives.submit_ms) == 12
    assert lives.per_s > 0


async def test_windows_of_the_bench_close_unopposed(tmp_path: Path) -> None:
    measured = await closing(tmp_path, 40, 1)

    assert measured.late_p99_ms >= 0
    assert measured.per_s > 0
