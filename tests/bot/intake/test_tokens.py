"""Whose token it is: of one agent or source, as it stands in the environment, or nobody's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.intake.http.auth import Tokens
from lifecycle.policy import Policy
from lifecycle.proposal import ActorKind
from tests.builders import a_policy, the_agents

LEILA, NOUR = "SIGNOFF_TOKEN_LEILA", "SIGNOFF_TOKEN_NOUR"


def a_house(nours: str | None = NOUR) -> Policy:
    agents = the_agents()
    return a_policy(agents=agents | {"nour": replace(agents["nour"], token_env=nours)})


def speaks(policy: Policy, given: str | None, **environment: str) -> str | None:
    sender = Tokens(lambda: policy, environment).sender(given)
    assert sender is None or sender.kind is ActorKind.AGENT
    return None if sender is None else sender.id


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Bearer one", "leila"),
        ("bearer two", "nour"),
        ("BEARER   two  ", "nour"),
        ("Bearer three", None),
        ("Bearer on", None),
        ("Bearer one two", None),
        ("Basic one", None),
        ("one", None),
        ("", None),
        (None, None),
    ],
)
def test_who_sends_the_token_of_an_agent_is_that_agent(given: str | None, name: str | None) -> None:
    assert speaks(a_house(), given, **{LEILA: "one", NOUR: " two\n"}) == name


@pytest.mark.parametrize("kept", ["", " ", "\n", None])
@pytest.mark.parametrize("given", ["Bearer ", "Bearer", "bearer  ", "Bearer \t"])
def test_an_agent_without_a_token_is_nobody_who_sends_none(kept: str | None, given: str) -> None:
    environment = {} if kept is None else {LEILA: kept}
    alone = a_policy(agents={"leila": the_agents()["leila"]}, sources={})  # two share nothing
    assert speaks(alone, given, **environment) is None


def test_a_token_that_two_share_is_neithers() -> None:
    assert speaks(a_house(), "Bearer one", **{LEILA: "one", NOUR: "one"}) is None


def test_whose_token_it_is_is_what_the_policy_in_force_says() -> None:
    policies = [a_house(), a_house(None)]
    tokens = Tokens(lambda: policies[-1], {LEILA: "one", NOUR: "two"})
    assert tokens.sender("Bearer two") is None
    policies.pop()
    assert tokens.sender("Bearer two") is not None


def test_a_token_that_a_new_policy_gives_to_two_is_nobodys_any_more() -> None:
    policy = a_house(None)
    sender = Tokens(lambda: policy, {LEILA: "one", NOUR: "one"}).sender("Bearer one")

    assert sender is not None
    assert sender.is_known_to(policy)
    assert not sender.is_known_to(a_house())
