"""Case M08 behind the call: what a tool was given in confidence, its answer gives away nowhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.ports import ToolDoubtful, ToolFailed
from lifecycle.text.quoted_secrets import mask_quoted, secrets_in
from tests.builders import MAIL, PROD
from tests.cases.test_m_everywhere import LOOKS, SECRETS, advisory, kept_of, leaks_in
from tests.fakes.tools import Doing, answering, raising
from tests.places import Place, at, proposes

QUOTED = "401 for k-1234567890, of abc.def"
#: What a tool may answer with the values that it was called with.
ANSWERS: dict[str, Doing] = {
    "failed": raising(ToolFailed(QUOTED)),
    "failed, cut": raising(ToolFailed("x" * 284 + " " + QUOTED)),
    "doubtful": raising(ToolDoubtful(QUOTED)),
    "raised": raising(RuntimeError(QUOTED)),
    "receipt": answering({"said": QUOTED, "rows": ["k-1234567890", {"abc.def": 1}]}),
    "long receipt": answering({"said": QUOTED, "zeros": "0" * 70_000}),
}


async def told_of(place: Place) -> str:
    """Return all that anybody may read of p1, after everything was asked."""
    for command in LOOKS:
        await place.says("ana", command)
    return place.all_of_ours() + await kept_of(place)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
async def test_M08_a_tool_that_repeats_what_it_was_given_gives_it_away_to_nobody(
    answer: Doing,
) -> None:
    async with at("terminal", advisory()) as place:
        place.tool("production-deploy").on["execute"] = answer
        await proposes(place, PROD, proposal_id="p1", parameters=SECRETS)
        await place.says("ana", "approve p1")
        (call,) = place.tool("production-deploy").calls
        assert call.parameters == SECRETS
        told = await told_of(place)
        assert leaks_in(told) == []
        assert "k-123" not in told


async def test_M08_what_still_stands_is_told_without_what_the_tool_was_given() -> None:
    given = MAIL["parameters"] | {"api_key": "k-1234567890"}
    stands = ["the account of k-1234567890"]
    async with at("terminal", advisory()) as place:
        place.tool("send-email").on["roll_back"] = answering({"still_stands": stands})
        await proposes(place, MAIL, proposal_id="p1", parameters=given)
        await place.says("ana", "approve p1")
        await place.says("ben", "reject p1 not now")
        told = await told_of(place)
        stuck = await place.workflow.world.store.read(lambda tx: tx.proposals.get("p1"))
        assert stuck is not None
        assert stuck.execution is not None
        assert list(stuck.execution.still_stands) == stands  # `retry` hands it to the tool
        assert "the account of ‹secret, 12 characters›" in stuck.attention_why
        assert leaks_in(told) == []


async def test_M08_the_handle_of_a_result_stays_the_digest_of_the_whole() -> None:
    receipt = {"said": QUOTED}
    async with at("terminal", advisory()) as place:
        place.tool("production-deploy").on["execute"] = answering(receipt)
        await proposes(place, PROD, proposal_id="p1", parameters=SECRETS)
        await place.says("ana", "approve p1")
        done = await place.workflow.world.store.read(lambda tx: tx.proposals.get("p1"))
        assert done is not None
        assert done.frame is not None
        assert done.frame["handle"] == digest_of(canonical_bytes(receipt))
        assert leaks_in(json.dumps(done.frame)) == []


@pytest.mark.parametrize(
    ("value", "secrets"),
    [
        ({"api_key": "k-1234567890", "note": "plain"}, ("k-1234567890",)),
        ({"headers": {"Authorization": "Bearer abc.def"}}, ("Bearer abc.def", "abc.def")),
        ({"dsn": "postgres://u:pw12@h/d"}, ("pw12",)),
        ({"dsn": "postgres://u:pw@h/d"}, ()),  # too short to be told from other words
        ({"password": 12345678}, ("12345678",)),
        ({"note": "‹secret, 4 characters›", "version": "v42"}, ()),
        ({"note": "‹secret, 4 characters›, password=hunter2x"}, ("hunter2x",)),
    ],
)
def test_M08_of_a_document_what_is_masked_is_known(
    value: Mapping[str, Any], secrets: tuple[str, ...]
) -> None:
    assert secrets_in(value) == secrets


def test_M08_a_short_credential_is_looked_for_as_a_word_and_a_long_one_anywhere() -> None:
    secrets = ("k-1234567890", "pw12")

    assert mask_quoted("xk-1234567890x, pw12, pw123", secrets) == (
        "x‹secret, 12 characters›x, ‹secret, 4 characters›, pw123"
    )
    assert mask_quoted({"pw12": [1, True, None]}, secrets) == {
        "‹secret, 4 characters›": [1, True, None]
    }
    assert mask_quoted({"n": 12345678}, ("12345678",)) == {"n": "‹secret, 8 characters›"}


def test_M08_fields_whose_names_are_masked_alike_are_all_kept() -> None:
    stands = {"k-1111111111": "mail 1", "k-2222222222": "mail 2", "kk": 3}

    assert mask_quoted(stands, ("k-1111111111", "k-2222222222")) == {
        "‹secret, 12 characters›": "mail 1",
        "‹secret, 12 characters›′": "mail 2",
        "kk": 3,
    }


def test_M08_credentials_that_overlap_in_an_answer_are_masked_as_one() -> None:
    assert mask_quoted("an abcd1234efgh", ("abcd1234", "1234efgh")) == "an ‹secret, 12 characters›"


def test_M08_of_more_credentials_than_can_be_looked_for_each_text_is_masked_whole() -> None:
    secrets = tuple(f"pw{number:05}" for number in range(10_000))
    answer = {"no": "x" * 10_000, "n": 7, "rows": ["of pw00000", True]}

    assert mask_quoted({"said": "of pw00000"}, secrets) == {"said": "of ‹secret, 7 characters›"}
    assert mask_quoted(answer, secrets) == {
        "no": "‹secret, 10000 characters›",
        "n": 7,
        "‹secret, 4 characters›": ["‹secret, 10 characters›", True],
    }
