"""The OpenAPI document tells the truth: schemathesis holds the running door to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS, load_all_checks

from bot.intake.http.openapi import openapi
from bot.intake.http.table import OPERATIONS
from tests.bot.intake.conftest import Outside

load_all_checks()
SPARINGLY = settings(
    max_examples=5,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
#: A document can be well formed and still be refused: by rules, by time, by authority. That is
#: what the door is for, and no schema says when.
NOT_OURS = {"positive_data_acceptance"}


def examined(url: str, name: str) -> int:
    """Send what schemathesis makes up for one operation, and let it judge the answers."""
    described = schemathesis.openapi.from_dict(openapi(OPERATIONS, url, "0"))
    checks = [check for check in CHECKS.get_all() if check.__name__ not in NOT_OURS]
    operation = next(
        found.ok()
        for found in described.get_all_operations()
        if found.ok().definition.raw["operationId"] == name
    )
    cases: list[Any] = []

    @SPARINGLY
    @given(case=operation.as_strategy())
    def run(case: Any) -> None:
        cases.append(case)
        case.headers["Authorization"] = "Bearer leila-token"
        case.call_and_validate(base_url=url, checks=checks, timeout=20)

    run()
    return len(cases)


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS])
async def test_the_document_is_true_of_every_operation(outside: Outside, name: str) -> None:
    assert await asyncio.to_thread(examined, outside.url, name) > 0


async def test_the_document_is_served_and_whole(outside: Outside) -> None:
    async with outside.client(None) as stranger:
        served = (await stranger.get("/openapi.json")).json()
    assert served == openapi(OPERATIONS, outside.url, served["info"]["version"])
    assert served["openapi"].startswith("3.1")
    schemathesis.openapi.from_dict(served).validate()
