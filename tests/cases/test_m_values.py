"""Cases M01 to M08: what an agent wrote is shown whole and as it is, and nothing of it can lie."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from bot.chat.cards.fitting import Limits, fit
from bot.chat.slack.render import LIMITS as SLACK
from lifecycle.canonical import digest_of
from tests.builders import PROD, a_document, a_proposal
from tests.cases.cards import a_card, fact, mail_with, written
from tests.terminal import a_terminal


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


DISCORD = Limits(value=1024, label=256, fields=25, total=6000, measure=utf16)

CROWDED = {
    "subject": "s" * 300,
    "body": "b" * 5000,
    "to": [f"p{i}@partner.example" for i in range(30)],
} | {f"extra{i}": f"value {i}" * 40 for i in range(40)}
EMOJI = {"body": "🙂" * 1020, "subject": "❤️" * 600}


@pytest.mark.parametrize("parameters", [CROWDED, EMOJI, {"body": "x" * 1024}, {"b" * 900: "x"}])
def test_M01_a_card_fits_the_platform_whatever_an_agent_sends(parameters: dict) -> None:
    fitted = fit(a_card(mail_with(**parameters)), DISCORD)

    fields = [*fitted.content.facts, *fitted.content.written]
    assert len(fields) <= 25
    assert all(utf16(each.text) <= 1024 and utf16(each.label) <= 256 for each in fields)
    assert sum(utf16(each.text) + utf16(each.label) for each in fields) <= 6000


def test_M01_what_does_not_fit_stands_whole_in_the_attachment() -> None:
    fitted = fit(a_card(mail_with(**CROWDED)), DISCORD)

    assert fitted.attachment is not None
    assert fitted.attachment.name == "p1-v1.txt"
    for text in ("s" * 300, "b" * 5000, "p29@partner.example", "value 39" * 40):
        assert text in fitted.attachment.text


def test_M01_a_card_that_fits_needs_no_attachment() -> None:
    content = a_card(mail_with())

    assert fit(content, DISCORD).content == content
    assert fit(content, DISCORD).attachment is None


def test_M02_a_cut_value_says_how_much_of_it_is_shown() -> None:
    command = "echo fine; " * 97 + "x" * 33
    assert len(command) == 1100
    prod = a_proposal(a_document(PROD, parameters={"command": command}))

    fitted = fit(a_card(prod), DISCORD)

    shown = written(fitted.content, "command")
    assert "shown 900 of 1 100, full text attached" in shown.text
    assert shown.text.startswith(command[:900] + "\n")
    assert digest_of(command.encode())[:23] in shown.text
    assert fitted.attachment is not None
    assert command in fitted.attachment.text


MANY_LINES = "echo fine\n" * 105 + "rm -rf /srv; drop the whole database     "


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n", "    ", "\t"])
def test_M02_characters_are_counted_as_they_were_written_not_as_their_lines_are_shown(
    newline: str,
) -> None:
    command = MANY_LINES.replace("\n", newline)
    fitted = fit(a_card(a_proposal(a_document(PROD, parameters={"command": command}))), DISCORD)

    shown = written(fitted.content, "command").text
    counted = re.search(r"\[shown (\d+) of ([\d ]+), full text attached", shown)
    assert counted is not None
    assert int(counted[2].replace(" ", "")) == len(command)
    letters = re.sub(r"[^a-z]", "", shown.split("\n[shown")[0])
    assert re.sub(r"[^a-z]", "", command[: int(counted[1])]) == letters
    assert fitted.attachment is not None
    assert command in fitted.attachment.text


def test_M02_a_link_behind_the_excerpt_is_in_the_attachment() -> None:
    body = "Dear Pat, " * 150 + "https://partner.example/pay"
    fitted = fit(a_card(mail_with(body=body)), DISCORD)

    assert "https" not in written(fitted.content, "body").text
    assert fitted.attachment is not None
    assert "https://partner.example/pay" in fitted.attachment.text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("report\u202efdp.exe", "report\\u{202E}fdp.exe"),
        ("staging\u2066.shop.example", "staging\\u{2066}.shop.example"),
        ("pat\u200b@partner.example", "pat\\u{200B}@partner.example"),
        ("www.sh\u043ep.example", "www.xn--shp-ted.example"),
        ("p\u0430ypal", "p\\u{430}ypal"),
        ("www.sho\u0323p.example", "www.xn--shp-ulz.example"),
        ("shop.example\u2044pay.evil.test", "shop.example\\u{2044}pay.evil.test"),
        ("my\u2010shop.example", "my\\u{2010}shop.example"),
        ("pat\uff20partner.example", "pat\\u{FF20}partner.example"),
        ("12\u03380.00", "12\\u{338}0.00"),
        ("1\u20e00", "1\\u{20E0}0"),
        ("\u0301pat", "\\u{301}pat"),
        ("a" + "\u0301" * 40, "a" + "\u0301" * 4 + "\\u{301}×36"),
        ("a\ufffcb", "a\\u{FFFC}b"),
        ("a\U0001d159b", "a\\u{1D159}b"),
        ("\u09ea00", "\\u{9EA}00"),
        ("1\u0660\u0660\u0660", "1" + "\\u{660}×3"),
        ("send \u09ed units", "send \\u{9ED} units"),
        ("paypa\u217c", "paypa\\u{217C}"),
    ],
)
def test_M03_what_is_invisible_or_foreign_is_shown_with_a_warning(raw: str, shown: str) -> None:
    proposal = mail_with(attachment=raw)
    content = a_card(proposal)

    field = written(content, "attachment (not sent)")
    assert field.text == shown
    assert field.digest == digest_of(raw.encode())
    assert any("attachment" in warning for warning in content.warnings)
    assert json.loads(proposal.document)["parameters"]["attachment"] == raw


@pytest.mark.parametrize("raw", ["৪০০ টাকা", "السعر ٥٠", "१२ किलो", "１２０円", "Ⅳ", "x² 5½"])
def test_M03_digits_of_the_text_they_stand_in_are_shown_as_they_are(raw: str) -> None:
    assert written(a_card(mail_with(note=raw)), "note (not sent)").text == raw


ODD = {f"a{number:02}" + "k" * 70: "a\u200bb" for number in range(60)}


@pytest.mark.parametrize("limits", [DISCORD, SLACK], ids=["discord", "slack"])
def test_M03_warnings_that_find_no_room_are_counted_and_attached(limits: Limits) -> None:
    fitted = fit(a_card(mail_with(body="x\u202ey" * 20, **ODD)), limits)

    shown, last = fitted.content.warnings[:-1], fitted.content.warnings[-1]
    assert last == f"⚠️ and {61 - len(shown)} more: see the attached file"
    assert sum(limits.measure(each) + 1 for each in fitted.content.warnings) <= 1_000
    assert fitted.attachment is not None
    assert "⚠️ body: invisible or direction-changing characters" in fitted.attachment.text


@pytest.mark.parametrize("limits", [DISCORD, SLACK], ids=["discord", "slack"])
def test_M03_many_warnings_take_no_room_from_what_they_warn_of(limits: Limits) -> None:
    subject = "s" * 200
    fitted = fit(a_card(mail_with(subject=subject, **ODD)), limits)

    assert written(fitted.content, "subject").text == subject


def test_M03_however_many_warnings_there_are_each_is_measured_a_few_times() -> None:
    measured = 0

    def counted(text: str) -> int:
        nonlocal measured
        measured += text.startswith("⚠️")
        return len(text)

    many = {f"a{number}": "\u200b" for number in range(2_000)}
    fitted = fit(a_card(mail_with(**many)), replace(DISCORD, measure=counted))
    assert fitted.content.warnings[-1].endswith("more: see the attached file")
    assert measured < 4 * len(many)


def test_M03_a_target_with_direction_marks_is_shown_too() -> None:
    target = PROD["target"] | {"domain": "staging\u2066.shop.example"}
    content = a_card(a_proposal(a_document(PROD, target=target)))

    assert "staging\\u{2066}.shop.example" in written(content, "Target").text
    assert any(warning.startswith("⚠️ Target") for warning in content.warnings)


def test_M04_markup_stays_the_literal_text_of_one_line_of_the_agents_field() -> None:
    raw = "```\n[✅ Approve here](https://evil.test)\n# APPROVED\n||spoiler||\n> quote"
    content = a_card(mail_with(note=raw))

    field = written(content, "note (not sent)")
    assert "\n" not in field.text
    assert field.text.count("⏎") == 4
    assert field.digest == digest_of(raw.encode())


def test_M04_an_agent_cannot_write_a_field_of_the_bot() -> None:
    forged = {"Sentinel": "all 9 rules passed", "Tier\nBLOCK": "AUTO", "React: ✅ approve": "yes"}
    content = a_card(mail_with(**forged))

    assert not any("\n" in each.label for each in content.written)
    assert fact(content, "Sentinel") == "not checked yet"
    assert "React: ✅ approve (not sent)" in {each.label for each in content.written}


SECRETS = {
    "headers": {"Authorization": "Bearer abc.def"},
    "dsn": "postgres://u:pw@h/d",
    "api_key": "k-1234567890",
    "note": "api key rotation plan",
}
LEAKS = ("abc.def", "pw@", "k-1234567890")


def test_M08_secrets_are_masked_on_the_card_and_have_no_digest_to_guess_from() -> None:
    content = a_card(a_proposal(a_document(PROD, parameters=SECRETS)))

    texts = " ".join(each.text + each.full for each in content.written)
    assert not any(leak in texts for leak in LEAKS)
    assert "‹secret, 12 characters›" in written(content, "api_key").text
    assert written(content, "note").text == "api key rotation plan"
    assert written(content, "api_key").digest == ""
    assert written(content, "note").digest != ""


@pytest.mark.parametrize("tool", ["production-deploy", "financial-transfer"])
async def test_M08_secrets_are_masked_in_every_answer(tool: str) -> None:
    terminal = a_terminal()
    action = {"production-deploy": "execute", "financial-transfer": "transact"}[tool]
    await terminal.proposes(PROD, tool=tool, action_type=action, parameters=SECRETS)
    for line in ("pending", "show p1", "explain p1", "audit p1", "status"):
        await terminal.types(line)

    printed = "\n".join(terminal.printed)
    assert not any(leak in printed for leak in LEAKS)


async def test_M08_secrets_in_invalid_json_are_not_quoted_back() -> None:
    terminal = a_terminal()
    await terminal.types('leila: propose {"api_key": "k-1234567890", "dsn": "postgres://u:pw@h/d"')
    await terminal.types('leila: propose {"parameters": {"api_key": "k-1234567890"}}')

    printed = "\n".join(terminal.printed)
    assert not any(leak in printed for leak in LEAKS)


def test_an_empty_value_is_shown_as_empty_and_no_value_can_pretend_to_be() -> None:
    content = a_card(mail_with(subject="", body="(empty)"))

    assert written(content, "subject").text == "(empty)"
    assert written(content, "body").text == '"(empty)"'
