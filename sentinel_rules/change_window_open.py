"""Nothing happens in a freeze, or outside a tool's hours.

What it checks:
    No freeze for this tool is on, and where the tool has hours the present moment is inside them:
    on one of the days, from `from` and before `to`, by the clock on the wall of that zone. Hours
    that end before they begin go on past midnight and belong to the day on which they began.
    What was approved waits until it may begin. What is inside its window already goes on: hold it
    with `freeze`, which also keeps staged mails back.

Why:
    A change that goes wrong is mended by the people who are there.

Settings:
    freezes: [{from: 2026-12-24T00:00:00Z, until: 2026-12-27T00:00:00Z, tools: [a-tool], why: text}]
        moments with their offset; without `tools` all tools are frozen.
    hours: {a-tool: {zone: Europe/Luxembourg, days: [mon, tue], from: "08:00", to: "18:00"}}
        an IANA zone; a tool without hours may act at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, model_validator

from lifecycle.document import ProposalDocument
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.verdict import Finding

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])|24:00")

#: A moment must begin with a year. Pydantic would read digits alone as seconds or milliseconds
#: since 1970, depending on how many there are.
_DATE: Final = re.compile(r"[0-9]{4}-")

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)


def _is_time(value: str) -> str:
    if _TIME.fullmatch(value) is None:
        raise ValueError(f'{value!r} is no time of day: write hours and minutes, like "08:00"')
    return value


def _is_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        raise ValueError(f"{value!r} is no IANA zone: write one like Europe/Luxembourg") from None
    if not value[:1].isupper():  # `localtime` and its like are files of this machine
        raise ValueError(
            f"{value!r} is another zone on every machine: write one like Europe/Luxembourg"
        )
    return value


def _has_date(value: Any) -> Any:
    if not isinstance(value, str) or not _DATE.match(value):
        raise ValueError("write date, time and offset, like 2026-12-24T00:00:00Z")
    return value


Time = Annotated[str, AfterValidator(_is_time)]
Instant = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_has_date)]


class Freeze(RuleOptions):
    """A time in which nothing may change."""

    from_: Instant = Field(alias="from")
    until: Instant
    tools: tuple[str, ...] | None = None
    why: str = ""

    @model_validator(mode="after")
    def _freezes_something(self) -> Self:
        if self.tools == ():
            raise ValueError(
                "`tools: []` freezes nothing: name some tools, or leave `tools` out to freeze all"
            )
        if self.until <= self.from_:
            raise ValueError("a freeze ends after it begins: write `until` later than `from`")
        return self


class Hours(RuleOptions):
    """When a tool may act."""

    zone: Annotated[str, AfterValidator(_is_zone)]
    days: tuple[Day, ...]
    from_: Time = Field(alias="from")
    to: Time

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if self.from_ == self.to or (self.from_, self.to) == ("24:00", "00:00"):
            raise ValueError(
                'hours that end when they begin are none; all day is "00:00" to "24:00"'
            )
        return self

    def are_open(self, now: datetime) -> bool:
        """Return True if `now` lies inside."""
        local = now.astimezone(ZoneInfo(self.zone))
        time = local.hour * 60 + local.minute
        begin, end = _minutes(self.from_), _minutes(self.to)
        if begin < end:
            return begin <= time < end and self._is_day(local)
        if time >= begin:
            return self._is_day(local)
        return time < end and self._is_day(local - timedelta(days=1))

    def _is_day(self, local: datetime) -> bool:
        return _DAYS[local.weekday()] in self.days

    def words(self) -> str:
        """Return the hours in words for a person."""
        return f"{', '.join(self.days) or 'never'} {self.from_}-{self.to} {self.zone}"


class ChangeWindowOpen:
    """No freeze is on, and the tool's hours are open."""

    id: ClassVar[str] = "change_window_open"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "No freeze is on, and it is within the tool's hours."

    class Options(RuleOptions):
        """Freezes, and the hours of tools."""

        freezes: tuple[Freeze, ...] = ()
        hours: dict[str, Hours] = Field(default_factory=dict)

    def __init__(self, options: Options) -> None:
        self._freezes = options.freezes
        self._hours = dict(options.hours)

    @classmethod
    def tools_named(cls, options: Options) -> tuple[tuple[tuple[str | int, ...], str], ...]:
        """Return the places in the settings that name a tool, each with its name."""
        frozen = (
            (("freezes", index, "tools", place), tool)
            for index, freeze in enumerate(options.freezes)
            for place, tool in enumerate(freeze.tools or ())
        )
        return (*frozen, *((("hours", tool), tool) for tool in options.hours))

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True if a freeze or hours may concern this tool."""
        return bool(self._freezes) or facts.tool.name in self._hours

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return a finding for each freeze that is on, and for hours that are not open."""
        return said(self._findings(facts.tool.name, facts.now_ms))

    def _findings(self, tool: str, now_ms: int) -> Iterator[Finding]:
        now = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=now_ms)
        for freeze in self._freezes:
            concerns = freeze.tools is None or tool in freeze.tools
            if concerns and freeze.from_ <= now < freeze.until:
                why = f" ({freeze.why})" if freeze.why else ""
                words = f"Changes are frozen until {freeze.until:%Y-%m-%d %H:%M %Z}{why}."
                yield Finding("change_freeze", "tool", words)
        hours = self._hours.get(tool)
        if hours is not None and not hours.are_open(now):
            words = f"{tool} acts within its hours alone: {hours.words()}."
            yield Finding("outside_hours", "tool", words)

    passes: ClassVar[tuple[RuleCase, ...]] = ()
    fails: ClassVar[tuple[RuleCase, ...]] = ()


def _case(
    name: str,
    code: str | None = None,
    at: str = "2026-03-02T12:00",
    freeze: Any = None,
    **hours: Any,
) -> RuleCase:
    usual = {"zone": "Europe/Luxembourg", "days": ["mon"], "from": "08:00", "to": "18:00"}
    moment = datetime.fromisoformat(f"{at}:00+00:00")
    return RuleCase(
        name,
        {},
        {"freezes": [freeze] if freeze else [], "hours": {"send-email": usual | hours}},
        facts={"now_ms": int(moment.timestamp()) * 1000},
        code=code,
    )


_FREEZE: Final = {"from": "2026-03-02T00:00:00Z", "until": "2026-03-03T00:00:00+01:00"}
ChangeWindowOpen.passes = (
    RuleCase("no hours and no freeze"),
    _case("noon on a Monday"),
    _case("summer time", at="2026-07-06T06:00"),
    _case("a freeze of another tool", freeze=_FREEZE | {"tools": ["production-deploy"]}),
    _case("the night after a day", at="2026-03-03T01:00", **{"from": "22:00", "to": "06:00"}),
)
ChangeWindowOpen.fails = (
    _case("a freeze", "change_freeze", freeze=_FREEZE),
    _case("another day", "outside_hours", days=["tue"]),
    _case("one minute early", "outside_hours", at="2026-03-02T06:59"),
    _case("the end is outside", "outside_hours", at="2026-03-02T17:00"),
    _case("no day at all", "outside_hours", days=[]),
    _case(
        "the night before a day",
        "outside_hours",
        at="2026-03-02T01:00",
        to="06:00",
        **{"from": "22:00"},
    ),
)
