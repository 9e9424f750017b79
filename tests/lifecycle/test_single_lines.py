"""Control characters where one line is meant (design section 4, the end of step 2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.first_gate.single_lines import control_character_faults

BREAKS = ["\n", "\r", "\r\n", "\t", "\x00", "\x1b", "\x7f", "\x85", "\x9f", "\u2028", "\u2029"]


def control_paths(document: dict[str, Any]) -> list[str]:
    faults = control_character_faults(document)
    assert {fault.code for fault in faults} <= {"control_character"}
    return [fault.path for fault in faults]


@pytest.mark.parametrize("character", BREAKS, ids=ascii)
def test_D01_a_subject_of_two_lines_is_refused(character: str) -> None:
    document = {"parameters": {"subject": f"Hi{character}Bcc: eve@evil.test"}}
    assert control_paths(document) == ["parameters.subject"]


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"to": "a@x.example\n"}, "to"),
        ({"cc": ["a@x.example", "b@x.example\r"]}, "cc[1]"),
        ({"bcc": [{"email": "a\nb"}]}, "bcc[0].email"),
        ({"reply_to": "\n"}, "reply_to"),
        ({"replyTo": "\n"}, "replyTo"),
        ({"billing-recipients": ["\n"]}, "billing-recipients[0]"),
        ({"FROM": "\n"}, "FROM"),
        ({"sender": "\n"}, "sender"),
        ({"headers": {"X-Note": "a\r\nBcc: b"}}, "headers.X-Note"),
        ({"headers": [{"name": "X", "value": ["\n"]}]}, "headers[0].value[0]"),
        ({"filename": "a\n.pdf"}, "filename"),
        ({"fileName": "a\n.pdf"}, "fileName"),
        ({"attachments": [{"name": "a\n.pdf", "content": "1\n2"}]}, "attachments[0].name"),
        ({"attachments": ["a\n.pdf"]}, "attachments[0]"),
        ({"path": "/srv/work/a\x00b"}, "path"),
        ({"output_dir": "\x1b"}, "output_dir"),
        ({"items": [{"amount": "1\n"}]}, "items[0].amount"),
        ({"amount": {"value": "1\n"}}, "amount.value"),
        ({"target": "staging\n"}, "target"),
        ({"message_id": "1\n"}, "message_id"),
        ({"subjects": ["\n"]}, "subjects[0]"),
        ({"subject_line": "\r"}, "subject_line"),
        ({"from_name": "Pat\r\nBcc: b"}, "from_name"),
        ({"replyToName": "Pat\nBcc: b"}, "replyToName"),
        ({"options": [{"display-name": "\u2028"}]}, "options[0].display-name"),
        ({"Content-Type": "text/plain\nBcc: b"}, "Content-Type"),
    ],
)
def test_a_value_of_one_line_holds_no_control_character(
    parameters: dict[str, Any], path: str
) -> None:
    assert control_paths({"parameters": parameters}) == [f"parameters.{path}"]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"proposal_id": "p1\n"}, "proposal_id"),
        ({"request_id": "p1\n"}, "request_id"),
        ({"task_id": "p1\n"}, "task_id"),
        ({"actor": "leila\n"}, "actor"),
        ({"tool": "send-email\n"}, "tool"),
        ({"tool_call": {"name": "send-email\n"}}, "tool_call.name"),
        ({"target": {"domain": "staging\n"}}, "target.domain"),
        ({"target": {"constraints": {"a": ["\n"]}}}, "target.constraints.a[0]"),
        ({"parameters": {"currency": "USD\n"}}, "parameters.currency"),
        ({"evidence_bindings": [{"evidence_id": "e\n"}]}, "evidence_bindings[0].evidence_id"),
        ({"preconditions": [{"evidence_ref": "e\n"}]}, "preconditions[0].evidence_ref"),
    ],
)
def test_D07_an_identifier_or_target_with_a_line_break_is_refused(
    document: dict[str, Any], path: str
) -> None:
    assert control_paths(document) == [path]


def test_a_key_holds_no_control_character_at_any_depth() -> None:
    document = {"parameters": {"a": [{"x\u2028y": 1}], "b\n": {}}}
    assert control_paths(document) == ['parameters["b\\n"]', 'parameters.a[0]["x\\u2028y"]']


@pytest.mark.parametrize(
    "field", ["body", "text", "content", "justification", "evidence", "photo", "validity"]
)
def test_other_text_may_run_over_several_lines(field: str) -> None:
    text = "Dear Pat,\r\n\n\tthank you.\n"
    assert control_paths({"parameters": {field: text, "more": [text]}, field: text}) == []


@pytest.mark.parametrize(
    "parameters",
    [
        {"diff": {"from": "a\nb", "to": "a\nc"}},
        {"changes": [{"to": "a\nb"}]},
        {"diff": {"from": {"text": "a\nb"}}},
    ],
)
def test_before_and_after_may_run_over_several_lines_where_nothing_is_sent(
    parameters: dict[str, Any],
) -> None:
    document = {"parameters": parameters}

    assert control_paths(document | {"action_type": "write"}) == []
    assert len(control_paths(document | {"action_type": "communicate"})) > 0
    assert len(control_paths(document)) > 0


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"to": "a\nb"}, "to"),
        ({"headers": {"from": "a\nb"}}, "headers.from"),
        ({"mail": {"FROM": "a\nb"}}, "mail.FROM"),
        ({"mail": {"reply_to": "a\nb"}}, "mail.reply_to"),
    ],
)
def test_what_can_only_be_somebody_is_one_line_in_every_action(
    parameters: dict[str, Any], path: str
) -> None:
    document = {"action_type": "create", "parameters": parameters}

    assert control_paths(document) == [f"parameters.{path}"]


def test_no_more_than_32_control_characters_are_listed() -> None:
    assert len(control_paths({"to": ["\n"] * 100})) == 32


def test_a_control_character_is_named_by_its_number_alone() -> None:
    (fault,) = control_character_faults({"subject": "secret\x85word"})
    assert fault.actual == "U+0085 at character 7"
    assert "secret" not in json.dumps(fault.as_json())
