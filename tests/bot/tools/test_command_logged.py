"""What a program writes to standard error is logged and told, without the secrets in it."""

from __future__ import annotations

import logging
import os

import pytest

from lifecycle.calls.calling import call_tool
from tests.bot.tools.shell import Shell, outcome_of
from tests.contracts.tool_contract import call


async def test_what_it_writes_to_standard_error_is_logged_masked(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        result = await outcome_of("echo 'password=hunter2' >&2; exit 10", tmp_path)

    assert "‹secret, 7 characters›" in caplog.text
    assert "hunter2" not in caplog.text + result.explanation


@pytest.mark.parametrize("code", [1, 10])
async def test_what_was_handed_on_to_it_is_told_nobody_however_it_looks(tmp_path, caplog, code):
    environment = os.environ | {"KEY": "plain-looking-16", "MORE": "plain-looking-16-and-more"}
    line = f"echo stage production: $MORE, $KEY and k-1234 are refused >&2; exit {code}"
    bench = Shell(
        line, tmp_path, environment | {"STAGE": "production"}, env=["KEY", "MORE", "STAGE"]
    )
    bench.parameters = {"api_key": "k-1234"}
    with caplog.at_level(logging.INFO):
        result = await call_tool(bench.tool, call(bench, "execute"))

    masks = [f"‹secret, {length} characters›" for length in (25, 16, 6)]
    words = f"stage production: {masks[0]}, {masks[1]} and {masks[2]} are refused"
    assert words in caplog.text
    assert (code == 10) == (words in result.explanation)
    assert "plain-looking" not in caplog.text + result.explanation


async def test_a_short_secret_that_was_handed_on_is_masked_before_the_words_are_cut(
    tmp_path, caplog
):
    """The log showed it whole, and the explanation what the cut had left of it."""
    environment = os.environ | {"CRM_TOKEN": "plain-look"}
    line = f"echo {'x' * 191} $CRM_TOKEN >&2; exit 10"
    bench = Shell(line, tmp_path, environment, env=["CRM_TOKEN"])
    with caplog.at_level(logging.INFO):
        result = await call_tool(bench.tool, call(bench, "execute"))

    assert "‹secret, 10 characters›" in caplog.text
    assert "plain" not in caplog.text + result.explanation


async def test_a_word_that_is_too_long_to_be_shown_is_told_of(tmp_path, caplog):
    result = await outcome_of("head -c 6000 /dev/zero | tr '\\0' x >&2; exit 1", tmp_path)

    assert "what it wrote is in the log" in result.explanation
    assert "one word that is too long to be shown" in caplog.text


async def test_of_a_credential_that_is_cut_off_no_half_is_logged(tmp_path, caplog):
    word = "ghp_" + "Zq7Xw2Kd9Rt4Mn6Bv8Lc1Js3Hf5Gy0Pa4Tu7"
    line = f"printf '%s ' {word} >&2; head -c 4075 /dev/zero | tr '\\0' ' ' >&2; exit 1"
    with caplog.at_level(logging.INFO):
        await outcome_of(line, tmp_path)
        await outcome_of(f"printf '%s the end' {word} >&2; exit 1", tmp_path)

    assert "the end" in caplog.text
    assert not any(word[-n:] in caplog.text for n in (8, 12, 20))


async def test_why_an_outcome_is_unknown_is_logged_without_being_asked_for(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        result = await outcome_of("echo 'no such table' >&2; exit 1", tmp_path)

    assert "no such table" in caplog.text
    assert "exit code 1; what it wrote is in the log" in result.explanation


async def test_only_the_tail_of_standard_error_is_kept(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        await outcome_of("yes | head -c 500000 >&2; echo the end >&2", tmp_path)

    assert "the end" in caplog.text
    assert len(caplog.text) < 6_000
