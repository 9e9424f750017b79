"""Example files are filled in at their open places and nowhere else."""

from __future__ import annotations

import json
import time

import pytest

from bot.composing import composed
from lifecycle.first_gate.reading import MAX_DEPTH

NOW_MS = 1_772_452_800_000


def filled(raw: str, stem: str = "mail") -> str:
    return composed(raw.encode(), stem, NOW_MS, lambda: "a1b2c3").decode()


def test_id_and_times_are_filled_in():
    raw = (
        '{"proposal_id" : "@new", "ts_ms":"@now",\n"time_window": {"valid_from_ms": "@now-60s",'
        ' "valid_until_ms": "@now+600s", "max_duration_ms": 5}}'
    )

    assert filled(raw) == (
        '{"proposal_id" : "mail-a1b2c3", "ts_ms":1772452800000,\n"time_window": {"valid_from_ms": '
        '1772452740000, "valid_until_ms": 1772453400000, "max_duration_ms": 5}}'
    )


def test_the_id_of_a_kernel_request_is_filled_in():
    assert filled('{"request_id":"@new"}') == '{"request_id":"mail-a1b2c3"}'


@pytest.mark.parametrize(
    "raw",
    [
        '{"parameters":{"proposal_id":"@new","ts_ms":"@now","valid_from_ms":"@now"}}',
        '{"parameters":{"time_window":{"valid_from_ms":"@now"}}}',
        '{"time_window":[{"valid_from_ms":"@now"}]}',
        '{"time_window":["valid_from_ms","@now"]}',
        '{"proposal_id":["@new"]}',
        '["proposal_id","@new"]',
        '[{"proposal_id":"@new"}]',
        '{"note":"\\"proposal_id\\": \\"@new\\"","actor":"@new"}',
        '{"a\\"proposal_id":"@new"}',
        '{"proposal_id":"@new ","ts_ms":"@now+1m"}',
        '{"proposal_id":"@now","ts_ms":"@new"}',
        '{"ts_ms":"@now+9999999999s"}',
        '{"proposal_id":"p1","ts_ms":1,"ts_ms":2}',
        '{"proposal_id":"@new',
        '}}}{"x":{"proposal_id":"@new"',
        "",
        "\x00\ufeff[",
    ],
)
def test_everything_else_is_kept_byte_for_byte(raw):
    assert filled(raw) == raw


def test_bytes_that_are_no_text_are_kept():
    raw = b'\xff\xfe{"a":"\xff", "proposal_id":"@new"}\r\n'

    assert composed(raw, "m", 0, lambda: "x") == b'\xff\xfe{"a":"\xff", "proposal_id":"m-x"}\r\n'


LIMIT = 256 * 1024


@pytest.mark.parametrize(
    "raw",
    [
        '{"proposal_id":' + "[" * (LIMIT // 2 - 20) + "]" * (LIMIT // 2 - 20) + "}",
        '\\"' * (LIMIT // 2),
        '"\\' * (LIMIT // 2),
        '{"a":["' + '\\"' * (LIMIT // 2) + "\\",
    ],
    ids=["too deep", "quotes", "quotes and backslashes", "a string that nothing closes"],
)
def test_a_hostile_file_is_looked_at_once(raw):
    begun_s = time.process_time()

    assert filled(raw) == raw
    # No measure of speed: what looked at each place again and again took minutes.
    assert time.process_time() - begun_s < 10


def test_the_deepest_document_that_is_read_is_filled_in():
    deep = '{"a":' + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + ',"ts_ms":"@now"}'

    assert json.loads(filled(deep))["ts_ms"] == NOW_MS


def test_the_name_of_a_file_becomes_an_identifier():
    assert json.loads(filled('{"proposal_id":"@new"}', "my mail (2)"))["proposal_id"] == (
        "my-mail-2--a1b2c3"
    )
    long = json.loads(filled('{"proposal_id":"@new"}', "x" * 200))["proposal_id"]
    assert len(long) == 64


@pytest.mark.parametrize("stem", ["-", "--json", "почта", ""])
def test_an_id_made_from_a_file_is_no_option_of_the_command_line(stem):
    made = json.loads(filled('{"proposal_id":"@new"}', stem))["proposal_id"]

    assert made in ("proposal-a1b2c3", "json-a1b2c3")
