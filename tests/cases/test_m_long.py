"""Cases M01, M02 and M09 word by word, on each surface: long values are shown in part and whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.canonical import canonical_bytes, digest_of
from tests.builders import MAIL, PROD
from tests.places import SURFACES, AtDiscord, AtSlack, Place, at, proposes

everywhere = pytest.mark.parametrize("surface", SURFACES)

#: The mail of case M01: everything about it is long at once.
LONG = {
    "body": "b" * 5_000,
    "subject": "s" * 300,
    "to": [f"pat{number}@partner.example" for number in range(30)],
} | {f"field{number:02}": f"value {number}" for number in range(40)}
#: The mails of case M09.
ON_SLACK = {
    "body of 3 001": {"body": "b" * 3_001},
    "body of 13 500": {"body": "b" * 13_500},
    "60 parameters": {f"field{number:02}": f"value {number}" for number in range(60)},
    "empty": {"body": ""},
}
EMOJI = {"body": "🎉" * 1_020, "subject": "❤️" * 300}


def in_words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def refused_calls(place: Place) -> list[Any]:
    """Return the calls that a platform refused for their form."""
    match place:
        case AtDiscord():
            return [call for call in place.stage.server.calls if call.status == 400]
        case AtSlack():
            return [call for call in place.slack.server.calls if call.failed is not None]
        case _:
            return []


def file_of(place: Place) -> str:
    """Return what is attached to the one card, empty where nothing is."""
    match place:
        case AtDiscord():
            return "".join(body.decode() for body in place.stage.server.state.files.values())
        case AtSlack():
            files = place.slack.server.workspace.files.values()
            return "".join(file.body.decode() for file in files if "-v" in file.name)
        case _:
            return ""


def within_discords_limits(place: AtDiscord) -> bool:
    def size(embed: dict[str, Any]) -> int:
        texts = [embed["title"], embed.get("description") or "", embed["footer"]["text"]]
        texts += [text for each in embed["fields"] for text in (each["name"], each["value"])]
        return sum(len(text.encode("utf-16-le")) // 2 for text in texts)

    embeds = [card.data["embeds"][0] for card in place.stage.server.cards()]
    values = [each["value"] for embed in embeds for each in embed["fields"]]
    return (
        all(size(embed) < 6_000 and len(embed["fields"]) <= 25 for embed in embeds)
        and max(len(value.encode("utf-16-le")) // 2 for value in values) <= 1_024
    )


async def opens(place: Place, proposal_id: str = "p1") -> None:
    """Let ana approve, and see that the mail's window is open."""
    await place.says("ana", f"approve {proposal_id}")
    found = await place.workflow.world.store.read(lambda tx: tx.proposals.get(proposal_id))
    assert found is not None
    assert found.state.value == "executing", found.explanation


@everywhere
@pytest.mark.parametrize("given", [LONG, EMOJI], ids=["all long", "emoji"])
async def test_M01_a_long_mail_is_on_a_card_that_is_taken_and_whole_beside_it(
    surface: str, given: dict[str, Any]
) -> None:
    async with at(surface) as place:
        parameters = MAIL["parameters"] | given
        await proposes(place, MAIL, parameters=parameters)
        card, file = await place.card("p1"), file_of(place)
        assert refused_calls(place) == []
        for name, value in parameters.items():
            assert name in card + file
            assert in_words(value) in card or in_words(value) in file, name
        if isinstance(place, AtDiscord):
            assert within_discords_limits(place)
        if surface == "discord" and given is LONG:
            digest = digest_of(LONG["body"].encode())[:23]
            assert f"of 5 000, full text attached, {digest}…]" in card
            assert digest_of(canonical_bytes(LONG["to"])) in file
        await opens(place)


@everywhere
@pytest.mark.parametrize("given", ON_SLACK.values(), ids=list(ON_SLACK))
async def test_M09_every_mail_is_taken_and_an_empty_value_is_seen(
    surface: str, given: dict[str, Any]
) -> None:
    async with at(surface) as place:
        await proposes(place, MAIL, parameters=MAIL["parameters"] | given)
        card, file = await place.card("p1"), file_of(place)
        assert refused_calls(place) == []
        for value in given.values():
            assert value in card + file if value else "(empty)" in card
        await opens(place)


COMMAND = "echo fine; " * 96 + "1234" + "; rm -rf /srv && drop the whole database"
LINKED = "Dear Pat, " * 155 + "https://partner.example/pay"


@everywhere
@pytest.mark.parametrize(
    ("base", "name", "value"),
    [(PROD, "command", COMMAND), (MAIL, "body", LINKED)],
    ids=["command", "link"],
)
async def test_M02_the_end_of_a_long_value_is_on_the_card_or_counted_and_attached(
    surface: str, base: dict[str, Any], name: str, value: str
) -> None:
    async with at(surface) as place:
        await proposes(place, base, parameters=base["parameters"] | {name: value})
        card = await place.card("p1")
        if value[-20:] in card:
            assert surface != "discord"  # it shows 900 characters of a value
            return
        count = f"{len(value):,}".replace(",", " ")
        assert f"shown 900 of {count}, full text attached" in card
        assert value in file_of(place)
