"""What a life may cost is counted: commits and hops between threads, whatever the machine."""

from __future__ import annotations

from pathlib import Path

from bot.bench.counted import Counts, counts
from bot.bench.lifecycles import in_flight
from bot.bench.windows import closing


async def test_a_life_of_five_moves_takes_three_commits_and_no_hop_to_the_rules(
    tmp_path: Path,
) -> None:
    assert await counts(tmp_path, 3) == Counts(commits=3, hops=3, rule_hops=0)


async def test_lives_in_flight_all_end(tmp_path: Path) -> None:
    lives = await in_flight(tmp_path, 12, 5)

    assert len(lives.submit_ms) == 12
    assert lives.per_s > 0


async def test_windows_of_the_bench_close_unopposed(tmp_path: Path) -> None:
    measured = await closing(tmp_path, 40, 1)

    assert measured.late_p99_ms >= 0
    assert measured.per_s > 0
