"""Kind D at the envelope: what it forbids is forbidden however a field or an effect is spelt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MAIL, a_document
from tests.checking import found

RULE = "blast_radius_bounded"


def enveloped(
    constraints: dict[str, Any], parameters: dict[str, Any], **changes: Any
) -> dict[str, Any]:
    envelope = {
        "allowed_side_effects": ["email"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    target = MAIL["target"] | {"constraints": constraints}
    whole = MAIL["parameters"] | parameters
    return a_document(MAIL, risk_envelope=envelope | changes, parameters=whole, target=target)


@pytest.mark.parametrize(
    ("updates", "path"),
    [
        ({"user_role": 1}, "user_role"),
        ({"User_Role": 1}, "User_Role"),
        ({"userRole": 1}, "userRole"),
        ({"user-role ": 1}, '["user-role "]'),
        ({"user_rоle": 1}, '["user_r\\u043ele"]'),
        ({"user_ro\u200ble": 1}, '["user_ro\\u200ble"]'),
        ({"user_role.name": 1}, '["user_role.name"]'),
        ({"a.user_role": 1}, '["a.user_role"]'),
        ({"a[user_role]": 1}, '["a[user_role]"]'),
        ({"/a/userRole/name": 1}, '["/a/userRole/name"]'),
        ({"a": {"user_role": 1}}, "a.user_role"),
        ({"a": [{"b": 1}, {"userRole": {"c": 1}}]}, "a[1].userRole"),
    ],
)
@pytest.mark.parametrize("key", ["updates", "Updates", "UPDATES"])
def test_a_forbidden_field_is_forbidden_in_any_spelling_and_depth(
    key: str, updates: dict[str, Any], path: str
) -> None:
    document = enveloped({"forbidden_fields": ["user_role"]}, {key: updates})
    joint = "" if path.startswith("[") else "."

    assert found(document) == {(RULE, "field_not_allowed", f"parameters.{key}{joint}{path}")}


@pytest.mark.parametrize(
    "updates", [{"role": 1}, {"user": {"name": "user_role"}}, {"user_roles": 1}, {"x.user": 1}, {}]
)
def test_another_field_may_change(updates: dict[str, Any]) -> None:
    assert found(enveloped({"forbidden_fields": ["user_role"]}, {"updates": updates})) == set()


@pytest.mark.parametrize(
    ("updates", "path"),
    [
        ({"address": {"city": 1}}, "address.city"),
        ({"a": [{"Address": {"city.name": 1}}]}, 'a[0].Address["city.name"]'),
        ({"address": {"x": {"city": 1}}, "city": {"address": 1}}, None),
    ],
)
def test_a_forbidden_path_is_forbidden_however_deep_it_is_written(
    updates: dict[str, Any], path: str | None
) -> None:
    document = enveloped({"forbidden_fields": ["address.city"]}, {"updates": updates})
    place = {(RULE, "field_not_allowed", f"parameters.updates.{path}")}

    assert found(document) == (place if path else set())


@pytest.mark.parametrize(
    ("updates", "path"),
    [
        ({"users[0].role": 1}, '["users[0].role"]'),
        ({"/users/0/Role/name": 1}, '["/users/0/Role/name"]'),
        ({"users[\uff10]": {"role": 1}}, '["users[\\uff10]"].role'),
        ({"users": {"0": {"role": 1}}}, "users.0.role"),
        ({"users": {"0.role": 1}}, 'users["0.role"]'),
        ({"users": [{"role": 1}]}, "users[0].role"),
        ({"users2.role": 1}, None),
        ({"users 0.role": 1}, None),
    ],
)
def test_a_forbidden_field_of_a_list_is_forbidden_in_each_item_by_its_number(
    updates: dict[str, Any], path: str | None
) -> None:
    document = enveloped({"forbidden_fields": ["users.role"]}, {"updates": updates})
    places = {each[2] for each in found(document)}

    assert places == (
        {f"parameters.updates{'' if path[0] == '[' else '.'}{path}"} if path else set()
    )


def test_a_field_that_is_forbidden_in_one_item_may_change_in_another() -> None:
    bounds = {"forbidden_fields": ["users[0].role"]}

    for updates in ({"users": [{"role": 1}]}, {"users.0.role": 1}):
        assert found(enveloped(bounds, {"updates": updates}))
    for updates in ({"users": [{}, {"role": 1}]}, {"users/1/role": 1}):
        assert not found(enveloped(bounds, {"updates": updates}))


@pytest.mark.parametrize("name", ["Role", "rоle", "role ", "role.name"])
def test_a_field_is_allowed_only_as_it_is_written(name: str) -> None:
    document = enveloped({"allowed_fields": ["role"]}, {"updates": {name: 1}})

    assert {code for _, code, _ in found(document)} == {"field_not_allowed"}


@pytest.mark.parametrize("bound", ["allowed_fields", "forbidden_fields"])
@pytest.mark.parametrize("updates", [["role"], "role=admin", 1, [{"role": 1}]])
def test_what_is_no_object_of_fields_changes_nothing_where_fields_are_bounded(
    bound: str, updates: Any
) -> None:
    document = enveloped({bound: ["role"]}, {"updates": updates})

    assert found(document) == {(RULE, "field_not_allowed", "parameters.updates")}
    assert found(enveloped({}, {"updates": updates})) == set()


@pytest.mark.parametrize(
    "constraints", [{"allowed_fields": "role"}, {"forbidden_fields": "x"}, {"forbidden_fields": {}}]
)
def test_bounds_that_are_no_list_let_no_field_change(constraints: dict[str, Any]) -> None:
    document = enveloped(constraints, {"updates": {"role": 1}})

    assert found(document) == {(RULE, "field_not_allowed", "parameters.updates.role")}


@pytest.mark.parametrize(("records", "passes"), [(-1, False), (0, True), (100, True), (101, False)])
def test_as_many_records_as_are_configured_may_be_affected_and_no_more(
    records: int, passes: bool
) -> None:
    path = "risk_envelope.max_affected_records"
    assert found(enveloped({}, {}, max_affected_records=records)) == (
        set() if passes else {(RULE, "too_many_records", path)}
    )


@pytest.mark.parametrize("effect", ["email", "Email", "E-MAIL".replace("-", ""), "еmail", " email"])
def test_an_effect_is_forbidden_however_it_is_spelt(effect: str) -> None:
    assert found(enveloped({}, {}, forbidden_effects=[effect])) == {
        (RULE, "effect_not_allowed", "risk_envelope.forbidden_effects")
    }
