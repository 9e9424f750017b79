"""Cases M02 to M08 word by word, on each surface: nothing of an agent's hides, draws or leaks."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.policy import Level, Policy
from lifecycle.ports import ToolDoubtful, ToolFailed
from tests.builders import MAIL, PROD, a_document, a_policy
from tests.fakes.tools import raising
from tests.places import SURFACES, Place, at, proposes

everywhere = pytest.mark.parametrize("surface", SURFACES)


def a_mail(**parameters: Any) -> dict[str, Any]:
    return {"parameters": MAIL["parameters"] | parameters}


def plain(card: str) -> str:
    """Return a card without what keeps Discord from reading markup."""
    return card.replace("\\\\u", "\\u")


# -- M03 ----------------------------------------------------------------------------------

ODD = [
    (MAIL, a_mail(file="report\u202efdp.exe"), "report\\u{202E}fdp.exe", "file"),
    (
        PROD,
        {"target": PROD["target"] | {"domain": "staging\u2066.shop.example"}},
        "staging\\u{2066}.shop.example",
        "Target",
    ),
    (MAIL, a_mail(to="pat\u200b@partner.example"), "pat\\u{200B}@partner.example", "to"),
    (MAIL, a_mail(host="www.sh\u043ep.example"), "www.xn--shp-ted.example", "host"),
    (MAIL, a_mail(page="shop.example\u2215pay.evil.test"), "example\\u{2215}pay.evil", "page"),
    (MAIL, a_mail(note="1\u03380 of 10"), "1\\u{338}0 of 10", "note"),
]
HIDDEN_OR_FOREIGN = {"\u202e", "\u2066", "\u200b", "\u043e", "\u2215", "\u0338"}


@everywhere
@pytest.mark.parametrize(("base", "changes", "seen", "where"), ODD, ids=[o[3] for o in ODD])
async def test_M03_what_looks_like_something_else_is_written_out_warned_of_and_digested_as_it_is(
    surface: str, base: dict[str, Any], changes: dict[str, Any], seen: str, where: str
) -> None:
    async with at(surface) as place:
        document = a_document(base, ts_ms=place.clock.now_ms(), proposal_id="p1", **changes)
        await place.says("leila", f"propose {json.dumps(document)}")
        card = plain(await place.card("p1"))
        assert seen in card
        assert not HIDDEN_OR_FOREIGN & set(card)
        assert any(line.lstrip().startswith(f"⚠️ {where}") for line in card.split("\n"))
        assert digest_of(canonical_bytes(document)) in card


HIDDEN = "no\u202e\u200b way\u2066\x7f\U000e0041 für"


@everywhere
async def test_M03_an_answer_holds_nothing_invisible_and_means_what_was_typed(surface: str) -> None:
    async with at(surface) as place:
        await proposes(place, PROD, proposal_id="p1")
        await place.says("ana", f"reject p1 {HIDDEN}")
        await place.says("ana", "show p1")
        ours = place.all_of_ours()
        assert not set(HIDDEN) & set(ours) - set("no way für")
        ended = await place.workflow.world.store.read(lambda tx: tx.proposals.get("p1"))
        assert ended.explanation == HIDDEN
        escaped = json.dumps(HIDDEN)[1:-1].replace("\x7f", "\\u007f")
        if surface != "terminal":  # where no answer holds a letter beyond ASCII
            escaped = escaped.replace("\\u00fc", "ü")
        assert escaped in ours.replace("\\\\", "\\")


@everywhere
@pytest.mark.parametrize("error", [ToolFailed, ToolDoubtful])
async def test_M03_what_a_tool_says_holds_nothing_invisible_wherever_people_read_it(
    surface: str, error: type[Exception]
) -> None:
    """The announcement that calls for a person repeated it as it was."""
    async with at(surface) as place:
        place.tool("production-deploy").on["execute"] = raising(error("no\u202e\u200b way\u2066"))
        await proposes(place, PROD, proposal_id="p1")
        await place.says("ana", "approve p1")
        for command in ("pending", "show p1", "audit p1", "status"):
            await place.says("ana", command)
        ours = place.all_of_ours()
        assert not {"\u202e", "\u200b", "\u2066"} & set(ours)
        for seen in ("no", "u{202E}", "u{200B} way", "u{2066}"):
            assert seen in ours


# -- M04 ----------------------------------------------------------------------------------

DRAWN = "```\n[✅ Approve here](https://evil.test)\n# APPROVED\n||spoiler||\n> quote"


@everywhere
async def test_M04_what_an_agent_draws_is_one_line_of_text_in_its_own_field(surface: str) -> None:
    async with at(surface) as place:
        await proposes(place, MAIL, **a_mail(body=DRAWN))
        card = await place.card("p1")
        (line,) = [line for line in card.split("\n") if "Approve here" in line]
        for drawn in (
            "[✅ Approve here](https://evil.test)",
            "# APPROVED",
            "||spoiler||",
            "> quote",
        ):
            assert drawn in line
        stored = await place.workflow.world.store.read(lambda tx: tx.proposals.get("p1"))
        assert json.loads(stored.document)["parameters"]["body"] == DRAWN
        assert stored.digest == digest_of(stored.document)


# -- M08 ----------------------------------------------------------------------------------

SECRETS = {
    "headers": {"Authorization": "Bearer abc.def"},
    "dsn": "postgres://u:pw@h/d",
    "api_key": "k-1234567890",
    "note": "api key rotation plan",
}
LEAKS = ("abc.def", "u:pw", ":pw@", "k-1234567890")
LOOKS = ("pending", "show p1", "explain p1", "audit p1", "status")


async def kept_of(place: Place) -> str:
    """Return the trail and what waits to be told, as the store has them."""
    store = place.workflow.world.store
    trail = await store.read(lambda tx: [dict(each) for each in tx.audit.exported(0, 999)])
    return json.dumps(trail, default=str, ensure_ascii=False)


def leaks_in(*texts: str) -> list[str]:
    return [leak for leak in LEAKS for text in texts if leak in text]


@everywhere
@pytest.mark.parametrize("how", ["PROD", "BLOCK", "invalid JSON"])
async def test_M08_a_credential_is_in_no_card_list_answer_log_or_trail(
    surface: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)  # as `signoff -v run` logs
    async with at(surface) as place:
        match how:
            case "PROD":
                await proposes(place, PROD, parameters=SECRETS)
            case "BLOCK":
                blocked = {"tool": "financial-transfer", "action_type": "transact"}
                await proposes(place, PROD, parameters=SECRETS, **blocked)
            case _:
                await place.says("leila", "propose " + json.dumps({"parameters": SECRETS})[:-1])
        for command in LOOKS:
            await place.says("ana", command)
        ours, trail = place.all_of_ours(), await kept_of(place)
        logged = "\n".join(each.getMessage() for each in caplog.records)
        assert leaks_in(ours, trail, logged) == []
        reasons = {"PROD": "secrets_absent", "BLOCK": "tool_blocked"}
        assert reasons.get(how, "malformed_json") in ours
        if how == "PROD":
            assert "‹secret, 12 characters›" in ours
            assert "api key rotation plan" in ours
            assert place.tool("production-deploy").calls == []


TOKEN = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
IN_NAMES = [
    {TOKEN: 1},
    {f"api_key={TOKEN}": 1},
    {"target": PROD["target"] | {TOKEN: "x"}},
    {"parameters": {TOKEN: "x"}},
    {"tool": TOKEN},
    {"proposal_id": TOKEN},
]


@everywhere
@pytest.mark.parametrize("changes", IN_NAMES, ids=range(len(IN_NAMES)))
async def test_M08_a_credential_that_stands_where_a_name_belongs_is_quoted_nowhere(
    surface: str, changes: dict[str, Any]
) -> None:
    async with at(surface) as place:
        await proposes(place, PROD, **changes)
        refused = place.all_of_ours()
        assert "errors" in refused
        assert TOKEN[4:] not in refused + await kept_of(place)


def advisory() -> Policy:
    policy = a_policy()
    rule = replace(policy.rules["secrets_absent"], level=Level.ADVISORY)
    return replace(policy, rules={**policy.rules, "secrets_absent": rule})


@everywhere
async def test_M08_where_the_rule_advises_the_tool_gets_the_value_and_people_see_a_mask(
    surface: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with at(surface, advisory()) as place:
        await proposes(place, PROD, parameters=SECRETS)
        await place.says("ana", "approve p1")
        for command in LOOKS:
            await place.says("ana", command)
        assert place.tool("production-deploy").calls[0].parameters == SECRETS
        logged = "\n".join(each.getMessage() for each in caplog.records)
        assert leaks_in(place.all_of_ours(), await kept_of(place), logged) == []
        assert "‹secret, 12 characters›" in place.all_of_ours()


IN_DISGUISE = {
    "headers": {"X-Note": "Authorization: Bearer **abc.def**"},
    "dsn": "postgres%3A%2F%2Fu%3Apw%40h/d",
    "note": "`api_key`: `k-1234567890`",
    "said": "the api key is k-1234567890",
}


@everywhere
@pytest.mark.parametrize("how", ["hard", "advisory", "BLOCK"])
async def test_M08_markup_and_escapes_keep_no_credential_from_being_masked(
    surface: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    blocked = {"tool": "financial-transfer", "action_type": "transact"} if how == "BLOCK" else {}
    async with at(surface, advisory() if how == "advisory" else None) as place:
        await proposes(
            place, PROD, parameters=IN_DISGUISE, evidence="**password:** u:pw9", **blocked
        )
        for command in LOOKS:
            await place.says("ana", command)
        logged = "\n".join(each.getMessage() for each in caplog.records)
        assert leaks_in(place.all_of_ours(), await kept_of(place), logged) == []
        found = await place.workflow.world.store.read(lambda tx: tx.proposals.get("p1"))
        assert found.masked is (how != "advisory")
        assert bool(leaks_in(found.document.decode())) is (how == "advisory")
