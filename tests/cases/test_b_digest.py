"""Kind B: what a digest depends on, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.answers import Answer
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.errors import Refused
from lifecycle.first_gate.reading import read_object
from tests import builders
from tests.stage import staged
from tests.world import World

MAIL: dict[str, Any] = {
    "proposal_id": "p1",
    "actor": "leila",
    "tool": "send-email",
    "target": {"resource_type": "email", "domain": "partner.example", "constraints": {}},
    "parameters": {"to": "pat@partner.example", "subject": "Rechnung für Zoë 😀", "body": "Hello"},
}


def digest(raw: bytes) -> str:
    return digest_of(canonical_bytes(read_object(raw)))


def turned_round(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: turned_round(value[key]) for key in reversed(value)}


def test_B01_another_order_other_spaces_and_escapes_are_the_same_proposal() -> None:
    plain = json.dumps(MAIL, ensure_ascii=False, separators=(",", ":")).encode()
    spellings = [
        json.dumps(turned_round(MAIL), ensure_ascii=False).encode(),
        json.dumps(MAIL, ensure_ascii=False, indent=4).encode(),
        json.dumps(MAIL, ensure_ascii=True).encode(),
    ]
    assert len({plain, *spellings}) == 4
    assert {digest(raw) for raw in spellings} == {digest(plain)}


async def test_B01_the_second_and_third_spelling_are_the_waiting_first(world: World) -> None:
    parameters = MAIL["parameters"]
    document = builders.a_document(proposal_id="p1", parameters=parameters)
    spellings = [
        json.dumps(document, ensure_ascii=False, separators=(",", ":")),
        json.dumps(turned_round(document), ensure_ascii=False),
        json.dumps(document, ensure_ascii=False, indent=4),
        json.dumps(document, ensure_ascii=True),
        json.dumps(turned_round(document) | {"proposal_id": "p2"}),
    ]
    leila = world.sender("leila")
    answers = [await world.workflow.submit(text.encode(), leila) for text in spellings]
    await world.shows()

    assert [answer.deduplicated for answer in answers] == [False, True, True, True, True]
    assert {answer.proposal_id for answer in answers} == {"p1"}
    assert len({answer.digest for answer in answers[:4]}) == 1
    assert await world.store.read(lambda tx: tx.proposals.count_waiting()) == 1
    assert len(await world.store.read(lambda tx: tx.cards.of("p1"))) == 1


@pytest.mark.parametrize(
    ("literal", "canonical"), [("1", "1"), ("1.0", "1"), ("1e0", "1"), ("-0.0", "0"), ("0", "0")]
)
def test_B02_a_number_has_one_canonical_spelling(literal: str, canonical: str) -> None:
    stored = canonical_bytes(read_object(f'{{"parameters":{{"n":{literal}}}}}'.encode()))
    assert stored == f'{{"parameters":{{"n":{canonical}}}}}'.encode()
    assert digest(stored) == digest_of(stored)


@pytest.mark.parametrize("literal", ["9007199254740993", "9007199254740993.0", "9007199254740992"])
def test_B02_an_integer_beyond_2_to_the_53_is_refused_and_never_merged(literal: str) -> None:
    with pytest.raises(Refused) as caught:
        read_object(f'{{"parameters":{{"n":{literal}}}}}'.encode())
    assert caught.value.code == "out_of_range"


def test_B03_two_spellings_of_a_letter_are_two_proposals() -> None:
    composed, decomposed = "caf\u00e9@partner.example", "cafe\u0301@partner.example"
    digests = {
        digest(json.dumps({"parameters": {"to": to}}).encode()) for to in (composed, decomposed)
    }
    assert len(digests) == 2


DATABASE = "sqlite:///signoff.db"


async def a_mail_with(world: World, literal: str, proposal_id: str = "p1") -> Answer:
    """Submit a mail that has the number as it is written here."""
    parameters = builders.MAIL["parameters"] | {"n": "N"}
    document = builders.a_document(proposal_id=proposal_id, parameters=parameters)
    raw = json.dumps(document).replace('"N"', literal).encode()
    answer = await world.workflow.submit(raw, world.sender("leila"))
    await world.shows()
    return answer


@pytest.mark.parametrize(
    ("literal", "value"),
    [("1", 1), ("1.0", 1), ("1e0", 1), ("-0.0", 0), ("0.1", 0.1), (str(2**53 - 1), 2**53 - 1)],
)
async def test_B02_what_was_approved_by_its_digest_is_the_same_after_a_restart(
    tmp_path: Path, literal: str, value: float
) -> None:
    async with staged(DATABASE, tmp_path) as before:
        answer = await a_mail_with(before, literal)
        assert answer.state == "sentinel_approved"

    async with staged(DATABASE, tmp_path) as after:
        proposal = await after.proposal("p1")
        assert digest_of(proposal.document) == proposal.digest == answer.digest
        assert proposal.read().parameters["n"] == value
        assert (await a_mail_with(after, literal)).deduplicated
        assert (await after.approves("ana", "p1")).done
        (call,) = after.tool("send-email").calls
        assert (call.digest, call.parameters["n"]) == (answer.digest, value)


@pytest.mark.parametrize("literal", ["9007199254740993", "9007199254740993.0", "9007199254740992"])
async def test_B02_an_integer_that_would_be_merged_is_never_stored(
    world: World, literal: str
) -> None:
    answer = await a_mail_with(world, literal)

    assert (answer.state, answer.reason, answer.digest) == (None, "out_of_range", None)
    assert await world.store.read(lambda tx: tx.proposals.ids_after("", 10)) == []
    assert [row["reason"] for row in await world.audit("refused")] == ["out_of_range"]


def naming(name: str) -> Mapping[str, Any]:
    return builders.MAIL["parameters"] | {"name": name}


async def test_B03_approving_one_spelling_does_not_cover_the_other(world: World) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    one = await world.submits(proposal_id="p1", parameters=naming(composed))
    other = await world.submits(proposal_id="p2", parameters=naming(decomposed))
    assert (one.state, other.state) == ("sentinel_approved", "sentinel_approved")
    assert one.digest != other.digest
    assert (one.deduplicated, other.deduplicated) == (False, False)

    await world.approves("ana", "p1")

    assert (await world.proposal("p1")).state == "executing"
    assert (await world.proposal("p2")).state == "sentinel_approved"
    (call,) = world.tool("send-email").calls
    assert (call.proposal_id, call.parameters["name"]) == ("p1", composed)


@pytest.mark.parametrize(
    ("phrase", "written"),
    [("caf\u00e9 noir", "cafe\u0301 noir"), ("cafe\u0301 noir", "caf\u00e9 noir")],
    ids=["decomposed", "composed"],
)
async def test_B03_a_phrase_is_found_in_either_spelling(
    world: World, phrase: str, written: str
) -> None:
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = replace(
        rules["prohibited_content"], settings={"phrases": [phrase]}
    )
    await world.adopts(rules=rules)

    answer = await world.submits(parameters=naming(written))

    assert (answer.state, answer.reason) == ("rejected", "prohibited_content")
    assert [(fault.code, fault.path) for fault in answer.errors] == [
        ("prohibited_phrase", "parameters.name")
    ]
