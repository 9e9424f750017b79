"""A config that does not say what it means is refused with file, line, key and a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import ConfigInvalid, load_config
from tests.bot.mistakes_in_rules import IN_RULES
from tests.bot.mistakes_in_schemas import IN_SCHEMAS
from tests.bot.mistakes_in_settings import IN_SETTINGS
from tests.bot.mistakes_in_tools import IN_TOOLS

REFUSALS = IN_TOOLS | IN_SCHEMAS | IN_RULES | IN_SETTINGS


@pytest.mark.parametrize(("old", "new", "key", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_mistake_is_named_with_file_line_key_and_remedy(
    write_config, old: str, new: str, key: str, words: str
) -> None:
    path = write_config((old, new))

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    named = [problem for problem in refused.value.problems if problem.key.startswith(key)]
    assert [problem for problem in named if words in problem.words], str(refused.value)
    assert all(problem.file == str(path) and problem.line > 0 for problem in named)
    assert "hunter2" not in str(refused.value)
    assert "s3cr3t-v4lu3" not in str(refused.value)
    assert "MTk4NjIyNDgz" not in str(refused.value)


def test_the_line_is_the_one_with_the_mistake(write_config) -> None:
    path = write_config(("    window_s: 900", "    windows: 900"))
    line = path.read_text().splitlines().index("    windows: 900") + 1

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert str(refused.value).startswith(f"{path}:{line}: tools.send-email.windows: ")


def test_all_mistakes_are_told_at_once(write_config) -> None:
    path = write_config(
        ("solo_operator: false", "solo_operater: false"),
        ("tier: AUTO,", "tier: AUTOMATIC,"),
        ("owner: olga", "owner: nobody"),
        ("  secrets_absent: {level: hard}\n", ""),
    )

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert len(refused.value.problems) == 4


def test_an_owner_among_the_reviewers_can_put_a_quorum_out_of_reach(write_config) -> None:
    path = write_config(
        ("owner: olga", "owner: ana"), ("quorum: {class: single}", "quorum: {class: dual}")
    )

    with pytest.raises(
        ConfigInvalid, match=r"agents.leila.owner: ana owns leila.*production-deploy"
    ):
        load_config(path)


def test_a_quorum_out_of_reach_is_told_with_what_helps_alone(write_config) -> None:
    """ "Change the quorum" was said where the tier itself asks for somebody."""
    owned = ("owner: olga", "owner: ana")
    dual = ("quorum: {class: single}", "quorum: {class: dual}")
    alone = ("groups: [approvers]", "groups: []")
    told = (
        r"production-deploy, which needs {}, has {} reviewers; add .*, change the owner{}, or set"
    )

    with pytest.raises(ConfigInvalid, match=told.format(1, 0, "")):
        load_config(write_config(owned, alone))
    with pytest.raises(ConfigInvalid, match=told.format(2, 1, " or the quorum")):
        load_config(write_config(owned, dual))
    assert load_config(write_config(owned)).policy.owner_of("leila") == "ana"


@pytest.mark.parametrize(
    ("roles", "asked"), [("reader", "roles: [writer]"), ("secrets_reader", "sensitivity: secrets")]
)
def test_an_owner_keeps_no_quorum_from_what_the_agent_may_not_propose(
    write_config, roles: str, asked: str
) -> None:
    path = write_config(
        ("    roles: [reader, writer]\n    owner: olga", f"    roles: [{roles}]\n    owner: ana"),
        ("    roles: [writer]\n    safety: des", f"    {asked}\n    safety: des"),
        ("quorum: {class: single}", "quorum: {class: dual}"),
    )

    assert load_config(path).policy.agents["leila"].owner == "ana"


def test_a_solo_operator_may_own_the_agent_and_review_it(write_config) -> None:
    path = write_config(
        ("owner: olga", "owner: ana"),
        ("quorum: {class: single}", "quorum: {class: dual}"),
        ("solo_operator: false", "solo_operator: true"),
    )

    assert load_config(path).policy.solo_operator


#: what is exchanged, for what is allowed all the same
ALLOWED = {
    "a rate over a whole day": ("    safety: destructive", "    rate: {count: 1, per_s: 86400}"),
    "a blocked tool that nobody could review": (
        "financial-transfer: {tier: BLOCK, action_type: transact}",
        "financial-transfer: {tier: BLOCK, action_type: transact, reviewers: nobody}",
    ),
    "a blocked tool that would mail": (
        "financial-transfer: {tier: BLOCK, action_type: transact}",
        "financial-transfer: {tier: BLOCK, action_type: transact, kind: email}",
    ),
    "a freeze of all tools": (
        "freezes: []",
        "freezes: [{from: 2026-12-24T00:00:00Z, until: 2026-12-27T00:00:00Z}]",
    ),
    "a target that is no host": ("[staging.shop.example]", "[eu-west/staging:2]"),
    "a sender on this machine": ("    effects: [email]", "    from: signoff@localhost"),
    "an id that begins with a dot": ("  cal: {disc", '  ".cal": {disc'),
    "no TLS later, since it is there at once": (
        "    effects: [email]",
        "    smtp: {host: m.example, from: a@shop.example, tls: true, start_tls: false}",
    ),
    "nobody trusted": ("trusted_sources: [crm-sensor]", "trusted_sources: []"),
    "no money at all": (
        'per_action: {USD: "10000.00"}\n    per_agent_day: {USD: "25000.00"}',
        "per_action: {}",
    ),
    "an hour in universal time": (
        "    hours: {}",
        '    hours: {search: {zone: Etc/GMT+1, days: [mon], from: "08:00", to: "18:00"}}',
    ),
    "a pattern of white space": ("patterns: []", "patterns: ['\\A\\s+\\z']"),
}


@pytest.mark.parametrize(("old", "new"), ALLOWED.values(), ids=ALLOWED.keys())
def test_what_only_looks_like_a_mistake_loads(write_config, old: str, new: str) -> None:
    assert load_config(write_config((old, new))).policy.digest


#: the whole file, and a piece of the sentence
FILES = {
    "empty": (b"", "the file is empty"),
    "only a comment": (b"# nothing\n", "the file is empty"),
    "not YAML": (
        b"people: [ana\ntools: {}\n",
        "config.yaml:2: this is not YAML: expected ',' or ']', but got ':'; "
        "what line 1 opens is not closed before that",
    ),
    "a tab": (
        b"people:\n\tana: {}\n",
        r"found character '\t' that cannot start any token; indent with spaces, never with a tab",
    ),
    "a line without its colon": (
        b"people:\n  ana\n  ben: {}\n",
        "or the line before has no colon, or begins in another column",
    ),
    "items among keys": (
        b"people:\n  - ana\n  ben: {}\n",
        "what stands in one block begins in one column, and is keys alone or items (-) alone",
    ),
    "a list": (b"- people\n", "must be a mapping"),
    "not UTF-8": (
        b"people: {}\nx: \xff\n",
        "config.yaml:2: the file is not UTF-8 from here on; save it",
    ),
    "too large": (
        b"# " + b"x" * 300_000,
        "more than 256 KiB: take out what nobody",
    ),
    "nested without end": (b"people: " + b"[" * 50_000, "nested too deeply"),
    "an alias of itself": (
        b"people: &a [*a]\n",
        "config.yaml:1: up to here the file holds more than",
    ),
    "a bomb of aliases": (
        b"a: &a [x, x, x, x, x, x, x, x, x]\n"
        + b"".join(
            b"%c: &%c [%s]\n" % (i + 1, i + 1, b", ".join([b"*%c" % i] * 9)) for i in b"abcdefgh"
        ),
        "the file holds more than 20000 values or 24 levels, each alias",
    ),
    "more than anybody writes": (
        b"people:\n" + b"  - [ana, ben, cal, dan]\n" * 5_000,
        "config.yaml:4001: up to here the file holds more than 20000 values",
    ),
    "a tag that makes objects": (b"people: !!python/object:os.system {}\n", "is not read here"),
    "YAML in which yes is true": (b"%YAML 1.1\n---\npeople: {}\n", "config.yaml:1: only YAML 1.2"),
    "YAML that nobody knows": (b"# new\n%YAML 1.3\n---\n{}\n", "config.yaml:2: only YAML 1.2"),
    "two documents": (b"people: {}\n---\npeople: {}\n", "one document, so take the line --- out"),
    "a character that no YAML holds": (b"people: {}\n# \x07\n", "config.yaml:2: this is not YAML"),
}


@pytest.mark.parametrize(("data", "words"), FILES.values(), ids=FILES.keys())
def test_what_is_no_config_is_refused_with_a_sentence(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(data)

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert words in str(refused.value)
    assert str(path) in str(refused.value)


def test_of_a_file_without_keys_nothing_more_is_said(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("# mine\n- people\n")

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    (problem,) = refused.value.problems
    assert (problem.line, problem.key) == (2, "")


@pytest.mark.parametrize(
    "word", ["*hunter2", "!hunter2", "!hunter2 x", "!hunter2!x y", "!<hunter2> x"]
)
def test_a_password_that_yaml_takes_for_something_else_is_not_repeated(write_config, word) -> None:
    path = write_config(("permit_secret_env: SIGNOFF", f"permit_secret_env: {word} SIGNOFF"))

    with pytest.raises(ConfigInvalid, match=r"config\.yaml:\d+") as refused:
        load_config(path)

    assert "hunter2" not in str(refused.value)


def test_of_what_cannot_be_read_one_thing_is_said(write_config) -> None:
    path = write_config(("proposal_ttl_s: 86400", "proposal_ttl_s: 0755"))

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert len(refused.value.problems) == 1, str(refused.value)


def test_a_file_that_says_which_yaml_it_is_loads(write_config) -> None:
    path = write_config()
    text = path.read_text(encoding="utf-8")
    path.write_text(f"# ours\n%YAML 1.2\n---\n{text}", encoding="utf-8")

    assert load_config(path).policy.digest


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"absent\.yaml: there is no such file"):
        load_config(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("people", "write people: {} where nobody is meant"),
        ("agents", "write agents: {} where nobody is meant"),
        ("tools", "write tools: {} where there is none"),
        ("sentinel", "write it, with an entry for each of the nine rules"),
    ],
)
def test_a_missing_section_is_named_with_what_to_write(
    tmp_path: Path, key: str, remedy: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "".join(f"{k}: {{}}\n" for k in ("people", "agents", "tools", "sentinel") if k != key)
    )

    with pytest.raises(ConfigInvalid, match=f"the key {key} is missing; {remedy}"):
        load_config(path)


@pytest.mark.parametrize("key", ["people", "agents", "tools"])
def test_a_section_without_entries_is_not_missing(tmp_path: Path, key: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"{key}: {{}}\n")

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert f"the key {key} is missing" not in str(refused.value)
    assert key not in {problem.key for problem in refused.value.problems}
