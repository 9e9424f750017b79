"""A config that holds becomes the law's Policy, with safe defaults."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot.config import Config, ConfigInvalid, load_config
from bot.config.surfaces import choose
from bot.keys import KeysUnusable, load_ring
from lifecycle.policy import ApprovalClass, Level, Rate, Safety
from lifecycle.tier import ALWAYS_BLOCKED, Tier


@pytest.fixture
def config(write_config) -> Config:
    return load_config(write_config())


def test_people_keep_every_account_group_and_role(config: Config) -> None:
    ana = config.policy.people["ana"]

    assert ana.accounts == {"discord": "1001", "slack": "T1/UANA"}
    assert ana.groups == {"approvers", "operators"}
    assert ana.roles == {"reader", "writer"}
    assert ana.terminal


def test_groups_are_read_from_the_people_in_them(config: Config) -> None:
    assert config.policy.group("approvers") == {"ana", "ben"}
    assert config.policy.group("nobody") == set()


def test_an_agent_has_the_owner_that_is_named(config: Config) -> None:
    assert config.policy.owner_of("leila") == "olga"
    assert config.policy.owner_of("nour") is None


@pytest.mark.parametrize(
    ("tool", "safety"),
    [
        ("search", Safety.READ),
        ("send-email", Safety.WRITE),
        ("issue-refund", Safety.WRITE),
        ("production-deploy", Safety.DESTRUCTIVE),
    ],
)
def test_safety_follows_from_what_a_tool_does_unless_it_is_given(
    config: Config, tool: str, safety: Safety
) -> None:
    assert config.policy.tools[tool].safety is safety


@pytest.mark.parametrize(
    ("action", "safety"),
    [("navigate", Safety.READ), ("delete", Safety.DESTRUCTIVE), ("create", Safety.WRITE)],
)
def test_the_default_of_safety_is_that_of_the_action(
    write_config, action: str, safety: Safety
) -> None:
    path = write_config(("action_type: read", f"action_type: {action}"))

    assert load_config(path).policy.tools["search"].safety is safety


@pytest.mark.parametrize(
    ("tool", "reversible", "deferred"),
    [
        ("send-email", True, True),
        ("staging-deploy", True, False),
        ("production-deploy", False, False),
        ("issue-refund", False, False),
        ("search", False, False),
    ],
)
def test_what_can_be_taken_back_follows_from_the_kind(
    config: Config, tool: str, reversible: bool, deferred: bool
) -> None:
    found = config.policy.tools[tool]

    assert (found.reversible, found.deferred) == (reversible, deferred)


def test_a_command_that_commits_is_deferred(write_config) -> None:
    path = write_config(('roll_back: ["true"]', 'roll_back: ["true"]\n    commit: ["true"]'))

    assert load_config(path).policy.tools["staging-deploy"].deferred


def test_a_python_tool_says_itself_what_it_can_take_back(write_config) -> None:
    path = write_config(("    kind: email\n", '    kind: python\n    class: "undo_me:Undo"\n'))
    path.with_name("undo_me.py").write_text("class Undo:\n    reversible = True\n")

    tool = load_config(path).policy.tools["send-email"]

    assert (tool.reversible, tool.deferred) == (True, False)
    assert str(path.parent) not in sys.path, "no later import looks beside the config"


def test_the_module_of_a_tool_may_tidy_the_path_itself(write_config) -> None:
    path = write_config(("    kind: email\n", '    kind: python\n    class: "tidy_up:Tidy"\n'))
    path.with_name("tidy_up.py").write_text(
        f"import sys\nsys.path.remove({str(path.parent)!r})\nclass Tidy:\n    reversible = True\n"
    )

    assert load_config(path).policy.tools["send-email"].reversible


@pytest.mark.parametrize(
    ("lines", "place", "words"),
    [
        (
            'class: "made_with:Undo"\n    options: {region: eu, regon: eu}',
            "options",
            "unexpected keyword argument",
        ),
        ('class: "made_with:Undo"', "options", "missing a required argument: 'region'"),
        (
            'class: "made_with:Undo"\n    options: {regoin: eu}',
            "options",
            "'regoin' is no argument of it. Did you mean region?",
        ),
        (
            'class: "made_with:Open"\n    options: {retries: 3}',
            "options",
            "missing a required argument: 'region'): they are handed to its __init__ by name\n",
        ),
        ('class: "made_with:nothing"', "class", "is no class"),
        ('class: "made_with:Undoo"', "class", "made_with has no Undoo"),
        ('class: "made_with.Undo"', "class", "write module:Class"),
        ('class: "made_with:Kept"', "tier", "write reversible = True in its class"),
        ('class: "made_with:Half"', "tier", "write reversible = True in its class"),
    ],
)
def test_a_python_tool_that_cannot_be_made_is_told_before_the_start(
    write_config, lines: str, place: str, words: str
) -> None:
    path = write_config(("    kind: email\n", f"    kind: python\n    {lines}\n"))
    source = (
        "class Undo:\n    reversible = True\n    def __init__(self, region): ...\nnothing = 1\n"
        "class Kept: ...\nclass Half:\n    reversible = 'by hand'\n"
        "class Open(Undo):\n    def __init__(self, region, **rest): ...\n"
    )
    path.with_name("made_with.py").write_text(source)

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert f"tools.send-email.{place}: " in str(refused.value)
    assert words in f"{refused.value}\n"


def test_reading_may_be_repeated_after_a_crash_and_nothing_else_may(config: Config) -> None:
    assert config.policy.tools["search"].idempotent
    assert not config.policy.tools["staging-deploy"].idempotent


def test_a_quorum_says_how_many(write_config) -> None:
    dual = load_config(write_config(("{class: single}", "{class: dual}"))).policy

    tool = dual.tools["production-deploy"]
    assert (tool.quorum_class, tool.quorum_required) == (ApprovalClass.DUAL, 2)


def test_a_rate_of_a_tool_is_its_own(write_config) -> None:
    path = write_config(("quorum: {class: single}", "rate: {count: 2, per_s: 60}"))

    assert load_config(path).policy.tools["production-deploy"].rate == Rate(2, 60)


def test_the_hard_coded_blocks_are_there_though_the_config_is_silent(config: Config) -> None:
    tools = config.policy.tools

    assert all(tools[name].tier is Tier.BLOCK for name in ALWAYS_BLOCKED)


def test_config_may_add_to_what_is_blocked(write_config) -> None:
    path = write_config(("search: {tier: AUTO, action", "search: {tier: BLOCK, action"))

    assert load_config(path).policy.tools["search"].tier is Tier.BLOCK


def test_rules_keep_their_level_and_settings(config: Config) -> None:
    rule = config.policy.rules["prohibited_content"]

    assert rule.level is Level.HARD
    assert rule.settings == {"phrases": ["final warning"], "patterns": []}


def test_the_database_stands_beside_the_config(config: Config) -> None:
    assert config.database_file == config.folder / "data" / "signoff.db"
    assert config.data == config.folder / "data"


def test_the_database_may_be_memory_or_an_absolute_path(write_config) -> None:
    line = "sqlite:///data/signoff.db"

    assert load_config(write_config((line, '"memory:"'))).database_file is None
    assert load_config(write_config((line, "sqlite:////var/x.db"))).database_file == Path(
        "/var/x.db"
    )


def test_little_is_needed_and_the_rest_is_safe(write_config) -> None:
    path = write_config(
        ("solo_operator: false\n", ""), ("auto_approval: {by: nour, tiers: [PROPOSE]}\n", "")
    )

    policy = load_config(path).policy

    assert not policy.solo_operator
    assert policy.orchestrator is None
    assert policy.auto_approval_tiers == set()


def test_naming_the_orchestrator_opens_no_tier(write_config) -> None:
    policy = load_config(write_config((", tiers: [PROPOSE]", ""))).policy

    assert (policy.orchestrator, policy.auto_approval_tiers) == ("nour", frozenset())


def test_a_root_is_counted_from_the_folder_of_the_config(write_config) -> None:
    path = write_config(("roots: {}", "roots: {search: data/records}"))

    settings = load_config(path).policy.rules["blast_radius_bounded"].settings

    assert settings["roots"] == {"search": str(path.parent / "data" / "records")}


@pytest.mark.parametrize("secret", ["", "x" * 15, " " * 20, "x" * 15 + "\n\n"])
def test_a_secret_that_the_start_refuses_is_noted_before(config: Config, secret: str) -> None:
    environment = {"SIGNOFF_PERMIT_SECRET": secret}
    told = "No bot starts: SIGNOFF_PERMIT_SECRET is set to fewer than 16 characters."

    with pytest.raises(KeysUnusable):
        load_ring(config.data, config.permit_secret_env, environment)
    assert [n for n in choose(config, environment, attached=True).notes if n.startswith(told)]


@pytest.mark.parametrize("environment", [{}, {"SIGNOFF_PERMIT_SECRET": "x" * 16}])
def test_a_secret_that_the_start_takes_is_not_noted(
    config: Config, environment: dict[str, str]
) -> None:
    assert "No bot starts" not in str(choose(config, environment, attached=True).notes)
    assert load_ring(config.data, config.permit_secret_env, environment)
