"""What a config surely does not mean is said at the check and at the start, before a night."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.config import load_config
from bot.config.surfaces import choose

HOOK = {"SMTP_USER": "u", "SMTP_PASSWORD": "p"}
SMTP = "smtp: {host: m.example, from: a@shop.example, username_env: SMTP_USER, password_env: "
LOGS_IN = ("    effects: [email]", f"    {SMTP}SMTP_PASSWORD}}")
ASKS = ('execute: ["true"], timeout', 'execute: ["true"], env: [CRM_TOKEN], timeout')
FREEZES = "Nobody is in the group operators: freeze and thaw work for nobody, here and in chat."


def noted(
    write_config: Callable[..., Path], *changes: tuple[str, str], **environment: str
) -> list[str]:
    """Return what is said of the changed config beyond what is said of it unchanged."""
    before = choose(load_config(write_config()), environment, attached=True).notes
    after = choose(load_config(write_config(*changes)), environment, attached=True).notes
    return [note for note in after if note not in before]


DOUBTS = {
    "no operator": (("groups: [approvers, operators]", "groups: [approvers]"), FREEZES),
    "group of a person": (
        ('cal: {discord: "1003", groups: []', 'cal: {discord: "1003", groups: [aprovers]'),
        'No tool asks for the group "aprovers" of cal; did you mean "approvers"?',
    ),
    "role of an agent": (
        ("    roles: [reader, writer]\n    owner", "    roles: [reader, writter]\n    owner"),
        'Nothing asks for the role "writter" of leila; did you mean "writer"?',
    ),
    "role of a tool": (
        (
            "    roles: [writer]\n    reviewers",
            "    roles: [writter, admin, writer]\n    reviewers",
        ),
        'send-email asks for the role "writter", which nobody has; did you mean "writer"?',
    ),
    "role that nobody has": (
        ("    roles: [writer]\n    reviewers", "    roles: [postmaster]\n    reviewers"),
        "Nobody may propose send-email: no agent and no person has a role of its roles.",
    ),
}


def test_a_tool_whose_class_asks_for_roles_that_nobody_has_together_is_said(
    write_config: Callable[..., Path],
) -> None:
    def told(sensitivity: str, roles: str) -> list[str]:
        tool = f"  purge: {{tier: CONFIRM, action_type: delete, sensitivity: {sensitivity}, "
        tool += 'kind: command, execute: ["true"]}'
        who = ("    roles: [reader, writer]\n    owner", f"    roles: [{roles}]\n    owner")
        return noted(write_config, (TRANSFER, f"{TRANSFER}\n{tool}"), who)

    nobody = "Nobody may propose purge: no agent and no person has the role admin"
    asks = "which a tool of safety destructive and sensitivity"
    remedy = "asks for: give it to somebody, or write roles under purge."
    also = "and the role admin or secrets_reader"

    assert told("none", "writer, reader") == [f"{nobody}, {asks} none {remedy}"]
    assert told("secrets", "writer, secrets_reader") == [
        f"{nobody} {also}, {asks} secrets {remedy}"
    ]
    assert told("secrets", "writer, admin") == []


@pytest.mark.parametrize(("change", "words"), DOUBTS.values(), ids=DOUBTS.keys())
def test_a_slip_that_is_no_mistake_is_said_with_what_was_meant(
    write_config: Callable[..., Path], change: tuple[str, str], words: str
) -> None:
    assert noted(write_config, change) == [words]


TRANSFER = "  financial-transfer: {tier: BLOCK, action_type: transact}"


@pytest.mark.parametrize("name", ["financial_transfer", "Financial-Transfer", "financialtransfer"])
def test_F02_a_tool_that_may_be_taken_for_a_stricter_one_is_said(
    write_config: Callable[..., Path], name: str
) -> None:
    lax = f'  {name}: {{tier: AUTO, action_type: transact, kind: command, execute: ["true"]}}'
    first, second = sorted([name, "financial-transfer"])
    words = (
        f"{first} and {second} are different tools, each with a tier of its own, and easily taken "
        "for each other: give one of them another name."
    )

    assert noted(write_config, (TRANSFER, f"{TRANSFER}\n{lax}")) == [words]
    assert noted(write_config, (TRANSFER, lax)) == [words]


@pytest.mark.parametrize("name", ["Ben", "be-n", "BEN"])
def test_two_ids_that_may_be_one_person_are_said(
    write_config: Callable[..., Path], name: str
) -> None:
    first, second = sorted([name, "ben"])
    words = (
        f"{first} and {second} are different people, agents or sources, who count each for "
        "themselves, and easily taken for each other: give one of them another name."
    )
    twin = f"  {name}: {{groups: [approvers]}}\n"

    assert noted(write_config, ("people:\n", f"people:\n{twin}")) == [words]
    assert noted(write_config, ("agents:\n", f"agents:\n  {name}: {{}}\n")) == [words]


def test_groups_and_roles_of_ones_own_are_no_slips(write_config: Callable[..., Path]) -> None:
    own = ('cal: {discord: "1003", groups: []', 'cal: {discord: "1003", groups: [night-shift]')
    role = ("    roles: [writer]\n    reviewers", "    roles: [mailer]\n    reviewers")
    has = ("    roles: [reader, writer]\n    owner", "    roles: [reader, mailer]\n    owner")

    blocked = (TRANSFER, TRANSFER.replace("transact}", "transact, roles: [treasurer]}"))

    assert noted(write_config, own, role, has) == []
    assert noted(write_config, blocked) == [], "nobody may propose it to any effect"


def test_a_variable_that_is_not_set_is_said_before_a_mail_or_a_call_fails(
    write_config: Callable[..., Path],
) -> None:
    told = noted(write_config, LOGS_IN, ASKS, SMTP_USER="u")

    assert told == [
        "search is called without what it asks for: CRM_TOKEN is not set.",
        "The mails of send-email are not sent: SMTP_PASSWORD is not set.",
    ]
    assert noted(write_config, LOGS_IN, ASKS, CRM_TOKEN="", **HOOK) == []
