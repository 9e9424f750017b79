"""The command `signoff bench` runs the measures and prints each beside its bound."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bot.bench.counted import counts
from bot.bench.floors import MOVES, floor_per_s
from bot.bench.lifecycles import Lives, alone, in_flight
from bot.bench.past import questions_us
from bot.bench.windows import closing

_WIDTH = 64
_CLOSE_WITHIN_S = 10
_say = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Gate:
    """One measured figure and its bound: a lower bound if `least` is True, else an upper one."""

    name: str
    value: float
    bound: float
    least: bool
    unit: str

    @property
    def held(self) -> bool:
        """True if the figure is on the right side of its bound."""
        return self.value >= self.bound if self.least else self.value <= self.bound


def main(arguments: Sequence[str]) -> None:
    """Run the command with the arguments that follow `signoff bench`; ends with SystemExit."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(bench)
    app(args=list(arguments), prog_name="signoff bench")


def bench(
    full: Annotated[
        bool,
        typer.Option("--full", help="100,000 windows and 1,000,000 past proposals; takes minutes."),
    ] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Alternating rounds; the median counts.")] = 3,
    folder: Annotated[
        Path | None, typer.Option(help="Where the files go: on the disk that is to be measured.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 where a bound is not held.")
    ] = False,
) -> None:
    """Measure this machine: ratios against plain SQLite in the same run.

    Nothing of your data is touched: everything happens in a folder that is removed afterwards.
    """
    with tempfile.TemporaryDirectory(dir=folder or Path.cwd(), prefix="signoff-bench-") as place:
        gates = _counted_gates(Path(place))
        gates += _lifecycle_gates(Path(place), rounds)
        gates += _closing_gates(Path(place), 100_000 if full else 10_000)
        gates += _past_gates(Path(place), 1_000_000 if full else 50_000)
    _print(gates, as_json=as_json)
    if strict and not all(gate.held for gate in gates):
        raise typer.Exit(1)


def _counted_gates(place: Path) -> list[Gate]:
    counted = asyncio.run(counts(place / "counted", 20))
    return [
        Gate("commits a life alone, each one fdatasync", counted.commits, MOVES, False, ""),
        Gate("hops to the store, a move", counted.hops / MOVES, 1.0, False, ""),
        Gate("hops to the rules, a life", counted.rule_hops, 2.0, False, ""),
    ]


def _lifecycle_gates(place: Path, rounds: int) -> list[Gate]:
    floor_one: list[float] = []
    floor_many: list[float] = []
    ours_one: list[Lives] = []
    ours_many: list[Lives] = []
    for number in range(rounds):
        _say.print(f"lifecycles, round {number + 1} of {rounds} …")
        floor_one.append(floor_per_s(place / f"one-{number}.db", 200, together=1))
        ours_one.append(asyncio.run(alone(place / f"alone-{number}", 150)))
        floor_many.append(floor_per_s(place / f"many-{number}.db", 1_600, together=_WIDTH))
        ours_many.append(asyncio.run(in_flight(place / f"flight-{number}", 800, _WIDTH)))
    one, many = statistics.median(floor_one), statistics.median(floor_many)
    mine = statistics.median(lives.per_s for lives in ours_one)
    flight = statistics.median(lives.per_s for lives in ours_many)
    whole = statistics.median(lives.with_cards_per_s for lives in ours_one)
    submit_ms = statistics.median(lives.submit_median_ms for lives in ours_one)
    p99_ms = statistics.median(lives.submit_p99_ms for lives in ours_many)
    _say.print(
        f"floor {one:.0f}/s alone, {many:.0f}/s at {_WIDTH} a commit; "
        f"Signoff {mine:.0f}/s alone, {flight:.0f}/s at {_WIDTH} in flight"
    )
    return [
        Gate("alone, of the floor of one commit a move", mine / one, 0.35, True, "×"),
        Gate(f"{_WIDTH} in flight, of the floor of {_WIDTH}", flight / many, 0.15, True, "×"),
        Gate(f"{_WIDTH} in flight, of alone, cards with both", flight / whole, 2.5, True, "×"),
        Gate("submit to sentinel_approved, median alone", submit_ms, 5.0, False, "ms"),
        Gate(f"submit p99 at {_WIDTH} in flight", p99_ms, 100.0, False, "ms"),
    ]


def _closing_gates(place: Path, windows: int) -> list[Gate]:
    _say.print(f"{windows:,} rollback windows …")
    measured = asyncio.run(closing(place / "windows", windows, _CLOSE_WITHIN_S))
    _say.print(f"the closing job can close {measured.per_s:.0f} windows a second")
    return [
        Gate(
            f"closing job with {windows:,} open windows, none due",
            measured.idle_ms,
            2.0,
            False,
            "ms",
        ),
        Gate(f"ready after a restart with {windows:,}", measured.ready_ms, 100.0, False, "ms"),
        Gate(f"{windows:,} due within 10 s: late at p99", measured.late_p99_ms, 1_000, False, "ms"),
        Gate("the loop's longest block meanwhile", measured.longest_block_ms, 50.0, False, "ms"),
    ]


def _past_gates(place: Path, history: int) -> list[Gate]:
    with _say.status("history") as status:
        times = asyncio.run(
            questions_us(place / "past", (1_000, history), lambda text: status.update(text))
        )
    return [
        Gate(f"{name} with {history:,} past, of 1,000 past", long / short, 1.5, False, "×")
        for name, (short, long) in times.items()
    ]


def _print(gates: Sequence[Gate], *, as_json: bool) -> None:
    if as_json:
        items = [
            {"name": g.name, "value": g.value, "bound": g.bound, "unit": g.unit, "held": g.held}
            for g in gates
        ]
        sys.stdout.write(json.dumps({"gates": items}) + "\n")
        return
    table = Table("measure", "value", "held to", "")
    for gate in gates:
        sign = "≥" if gate.least else "≤"
        table.add_row(
            gate.name,
            f"{gate.value:.2f} {gate.unit}",
            f"{sign} {gate.bound:g} {gate.unit}",
            "✅" if gate.held else "❌",
        )
    Console().print(table)
