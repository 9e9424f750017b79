"""M08 and M02 together: what no rule refuses stands on the card, and nothing of it is masked."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest

from bot.chat.cards.neutral import neutral_value
from lifecycle.text.masking import mask_secrets
from lifecycle.verdict import PASSED
from sentinel_rules.secrets_absent import SecretsAbsent
from tests.builders import PROD, a_document, a_proposal
from tests.cases.cards import a_card, written
from tests.checking import facts_for, found, read

COMMAND = "rm -rf /srv/shop"
MASK = re.compile(r"‹[a-zA-Z ]{1,40}, \d{1,9} characters›")
RULE = SecretsAbsent(SecretsAbsent.Options())

#: Two texts that are none each, and look like a credential where JSON puts one beside the other.
BLINDING = [
    {"run": COMMAND, "a": "password<b", "c": ">=hunter2"},
    {"run": COMMAND, "note": "password%3D", "c": "hunter2"},
    {"note": "token&#61;", "run": COMMAND},
    {"run": COMMAND, "note": "pass\u200bword="},
    [COMMAND, {"a": "cookie**=", "b": "**hunter2"}],
    {"run": COMMAND, "note": "password="},
    {"steps": [[COMMAND], ["x", "mysql -p"], ["y"]]},
    {"secrets": {"cookies": "drop the whole database"}, "run": COMMAND},
    {"credentials": {"tokens": 4096}, "run": COMMAND},
]


@pytest.mark.parametrize("value", BLINDING, ids=json.dumps)
def test_M02_no_agent_blinds_reviewers_by_what_looks_like_a_credential_across_fields(
    value: Any,
) -> None:
    document = a_document(PROD, parameters={"config": value})
    field = written(a_card(a_proposal(document)), "config")

    assert found(document) == set()
    assert COMMAND in field.text
    assert COMMAND in field.full
    assert MASK.search(field.text + field.full) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_type": "password:", "resource_id": "www2-of-everybody"},
        {"resource_type": "token", "resource_id": "token=", "domain": "www2.shop.example"},
    ],
    ids=["name", "domain"],
)
def test_M02_no_agent_hides_a_target_behind_a_name_that_says_secret(
    changes: dict[str, str],
) -> None:
    document = a_document(PROD, target=PROD["target"] | changes)

    shown = written(a_card(a_proposal(document)), "Target").text

    assert MASK.search(shown) is None
    assert changes["resource_id"] in shown


PIECES = (
    *("password", "token", "api", "key", "cookie", "secrets", "=", ":", " ", "\n", "<b>", "<", ">"),
    *("**", "`", "||", "\\", "\\u0070", "%70", "%3D", "&#61;", "=?utf-8?Q?", "?=", "\u200b", "ｐ"),
    *('"', "'", "hunter2", "is ", "(", "]", "${", "***", "=<your token>", "<!--", "-->", "Bearer "),
    *("curl -u ", "mysql -p", "-----BEGIN ", "PRIVATE KEY-----", "https://", "u:p", "@", "eyJ"),
)
NAMES = ("a", "password", "tokens", "cookies", "name", "value", "path", "user", "pass", "k", "v")


def any_value(chance: Random, depth: int = 0) -> Any:
    kind = chance.random() if depth < 3 else 1
    size = range(chance.randint(1, 4))
    if kind < 0.25:
        return {chance.choice(NAMES): any_value(chance, depth + 1) for _ in size}
    if kind < 0.45:
        return [any_value(chance, depth + 1) for _ in size]
    if kind < 0.5:
        return chance.choice((1, 512, None, True))
    return "".join(chance.choices(PIECES, k=chance.randint(1, 12)))


@pytest.mark.parametrize("seed", range(8))
def test_M02_whatever_the_rule_on_credentials_lets_pass_is_masked_nowhere(seed: int) -> None:
    chance, passed = Random(seed), 0
    for _ in range(400):
        value = {"config": any_value(chance)}
        document = a_document(PROD, parameters=value)
        if RULE.check(read(document), facts_for(document)) is not PASSED:
            continue
        passed += 1
        assert mask_secrets(value) == value
        assert MASK.search(neutral_value(value).text) is None
    assert passed > 100
