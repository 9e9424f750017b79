"""What people type a little wrong on Discord is heard as they meant it, or answered."""

from __future__ import annotations

import pytest

from tests.builders import MAIL, PROD
from tests.fakes.discord_server.state import BOT
from tests.fakes.discord_stage import ANA, LEILA, DiscordStage, until

EDITED = "Edits change nothing"


def told(stage: DiscordStage, words: str) -> list[str]:
    return [text for text in stage.server.said() if words in text]


@pytest.mark.parametrize(
    "typed",
    [
        "!reject p1\tbecause",
        "!reject p1\u00a0because",
        "!reject\u00a0p1\u2003because of it",
        "\u200b!reject p1 because",
        "\ufeff !reject p1 because",
        "!\u200breject p1\u200b because",
        "\u061c!\u3164reject p1\u061c because",
        f"<@{BOT}>, reject p1 because",
        f"<@{BOT}>: reject p1 because",
        f"\u200b<@{BOT}> reject p1 because",
        "!!reject p1 because",
        f"<@{BOT}> !reject p1 because",
        f"!<@{BOT}> reject p1 because",
        f"<@{BOT}> <@{BOT}>, reject p1 because",
    ],
)
async def test_a_stop_counts_whichever_blanks_are_typed_with_it(
    stage: DiscordStage, typed: str
) -> None:
    await stage.proposes(PROD)
    stage.server.says(ANA, typed)
    assert (await stage.reaches("p1", "rejected")).explanation.startswith("because")


@pytest.mark.parametrize(
    "name", ["`p1`", "p1,", "p1:", "“p1”", "**p1**", "<p1>", "`p1`.", "(p1)..."]
)
async def test_a_stop_finds_its_proposal_within_marks_that_no_id_has_and_an_approval_does_not(
    stage: DiscordStage, name: str
) -> None:
    await stage.proposes(PROD)
    stage.server.says(ANA, f"!approve {name}")
    await stage.ignored("unknown_proposal")
    assert (await stage.proposal("p1")).state.value == "sentinel_approved"
    stage.server.says(ANA, f"!reject {name} because")
    assert (await stage.reaches("p1", "rejected")).explanation == "because"


async def test_a_full_stop_that_an_id_ends_in_belongs_to_it(stage: DiscordStage) -> None:
    await stage.proposes(PROD)
    await stage.proposes(MAIL, proposal_id="p1.")
    stage.server.says(ANA, "!reject p1. because")
    await stage.reaches("p1.", "rejected")
    stage.server.says(ANA, "!reject p1.. because")
    await stage.ignored("unknown_proposal")
    assert (await stage.proposal("p1")).state.value == "sentinel_approved"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("reject p1 because", "!reject p1 because"),
        ("!rejct p1 because", "!reject p1 because"),
        ("fine", f"<@{BOT}> approve p1"),
        ("!reject p9 because", "!freeze all of it"),
    ],
)
async def test_whoever_makes_a_command_by_an_edit_is_told_once_that_it_is_not_read(
    stage: DiscordStage, first: str, then: str
) -> None:
    await stage.proposes(PROD)
    message = stage.server.says(ANA, first)
    await stage.quiet()
    for second, edit in enumerate((then, f"{then} of it")):
        stage.server.edits(message, edit, second=second)
    await until(lambda: told(stage, EDITED), "the note to ana")
    await stage.quiet()
    posts = [each for each in stage.server.called("POST", "/messages") if EDITED in str(each.json)]
    assert (len(told(stage, EDITED)), len(posts)) == (1, 1)
    assert (await stage.proposal("p1")).state.value == "sentinel_approved"
    assert len(await stage.audit("ignored", "duplicate_event")) == 2


@pytest.mark.parametrize(
    ("who", "then"), [(ANA, "! that is great"), (ANA, "fine, thanks"), (LEILA, "!reject p1 so")]
)
async def test_an_edit_of_talk_or_by_an_agent_is_not_answered(
    stage: DiscordStage, who: str, then: str
) -> None:
    message = stage.server.says(who, "fine")
    stage.server.edits(message, then)
    await stage.quiet()
    assert stage.server.said() == []


@pytest.mark.parametrize(
    "typed", ["!approve", "!settle p1 did\u2013not\u2013happen", "!retry p1 now", "!answer q1"]
)
async def test_an_act_that_cannot_be_read_is_answered_and_leaves_a_row(
    stage: DiscordStage, typed: str
) -> None:
    stage.server.says(ANA, typed)
    (row,) = await stage.ignored("unknown_command")
    assert row["actor"] == {"kind": "person", "id": "ana"}
    await until(lambda: told(stage, f"Write: {typed.split()[0]} "), "the answer")


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        ("!rejct p1 so", "Did you mean !reject? All of them: !help (unknown_command)"),
        ("!", "All of them: !help (unknown_command)"),
        ("!reject p9 so", "see: !pending (unknown_proposal)"),
        ("!show pppp", "`!pending\\` lists those that wait. (unknown_proposal)"),
        (
            "!show pp",
            "`!pending\\` lists those that wait. Of a longer id, 4 characters are enough.",
        ),
        ("!rules foo", "All of them: !rules (unknown_command)"),
    ],
)
async def test_whoever_is_not_understood_is_told_what_they_can_type_here(
    stage: DiscordStage, typed: str, remedy: str
) -> None:
    stage.server.says(ANA, typed)
    await until(lambda: told(stage, remedy), "the answer")


@pytest.mark.parametrize("sign", "\u200f\u202e")
@pytest.mark.parametrize(
    "typed",
    ["{}!approve 1-yap", f"{{}}<@{BOT}> approve 1-yap", f"{{}}approve <@{BOT}> 1-yap"],
)
async def test_nothing_goes_on_for_an_id_that_a_sign_before_the_whole_line_turns_around(
    stage: DiscordStage, typed: str, sign: str
) -> None:
    await stage.proposes(PROD, proposal_id="1-yap")
    stage.server.says(ANA, typed.format(sign))
    await until(lambda: told(stage, "another id may be read there"), "the answer")
    assert (await stage.proposal("1-yap")).state.value == "sentinel_approved"
    stage.server.says(ANA, typed.format(sign).replace("approve", "reject") + " because")
    assert (await stage.reaches("1-yap", "rejected")).explanation == "because"
