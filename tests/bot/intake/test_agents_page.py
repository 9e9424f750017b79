"""README and docs/agents.md: every example about agents is run as it stands."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from bot.config import load_config
from bot.intake import mcp_tools
from bot.intake.http.openapi import openapi
from bot.intake.http.queries import LONGEST_WAIT_S, MOST_ITEMS
from bot.intake.http.table import OPERATIONS
from lifecycle.codes import Retry
from lifecycle.first_gate.reading import DOCUMENT_LIMIT_BYTES, MAX_DEPTH, PARAMETERS_LIMIT_BYTES
from lifecycle.policy import Limits, Safety
from tests.bot.intake.conftest import Outside
from tests.bot.intake.published import decided, in_real_time

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Outside]:
    """The stage in real time, in place of the one with a fake clock."""
    async with in_real_time(tmp_path) as stage:
        yield stage


def blocks(root: Path, language: str) -> list[str]:
    readme = (root / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Connect your agent")[1].split("\n## ")[0]
    page = section + (root / "docs" / "agents.md").read_text(encoding="utf-8")
    return [code for found, code in BLOCK.findall(page) if found == language]


async def run(stage: Outside, root: Path, *argv: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    given = {"PATH": path, "SIGNOFF_URL": stage.url, "SIGNOFF_TOKEN": "leila-token"}
    process = await asyncio.create_subprocess_exec(
        *argv,
        env={**os.environ, **given},
        cwd=root,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, errors.decode()
    return said.decode()


def test_every_operation_of_the_door_stands_on_the_page_and_no_other(root: Path) -> None:
    page = (root / "docs" / "agents.md").read_text(encoding="utf-8")
    table = page.split("| to | send |")[1].split("\n\n")[0]

    named = set(re.findall(r"`([A-Z]+ /[^` ?]+)`", table))

    assert named == {f"{each.method} {each.path}" for each in OPERATIONS} | {"GET /openapi.json"}


def test_every_status_of_the_door_is_told_and_no_other(root: Path) -> None:
    page = (root / "docs" / "agents.md").read_text(encoding="utf-8")
    table = page.split("| status | what became of it |")[1].split("\n\n")[0]
    cells = re.findall(r"^\| ([0-9, ]+) \|", table, re.MULTILINE)
    paths = openapi(OPERATIONS, "http://127.0.0.1", "1")["paths"].values()
    answered = {each for path in paths for one in path.values() for each in one["responses"]}

    told = {each for cell in cells for each in cell.split(", ")}
    assert told == answered | {"405", "431", "500", "501", "505"}  # HTTP's own


def test_all_that_the_page_says_of_a_refusal_is_described(root: Path) -> None:
    page = (root / "docs" / "agents.md").read_text(encoding="utf-8")
    told = page.split("**Refusals.**")[1].split("\n\n")[0]
    described = openapi(OPERATIONS, "http://127.0.0.1", "1")["components"]["schemas"]["Problem"]

    named = set(re.findall(r"`(\w+)`", told)) - set(Retry)
    assert {"reason", "errors", "retry"} <= named
    assert named <= described["properties"].keys()


def test_the_tools_over_mcp_and_the_longest_waits_are_told_as_they_are(root: Path) -> None:
    page = (root / "docs" / "agents.md").read_text(encoding="utf-8")
    named = page.split("Seven tools: ")[1].split(". ")[0]

    assert re.findall(r"`(\w+)`", named) == list(mcp_tools.TOOLS)
    assert len(mcp_tools.TOOLS) == 7
    assert f"`?wait=` seconds, {LONGEST_WAIT_S} at most" in page
    assert f"`timeout_s`, {mcp_tools._LONGEST_WAIT_S} at most" in page
    assert f"`limit` of at most {MOST_ITEMS}" in page


def test_how_large_and_how_old_a_document_may_be_is_told_as_it_is(root: Path) -> None:
    page = (root / "docs" / "agents.md").read_text(encoding="utf-8")
    whole, inner = DOCUMENT_LIMIT_BYTES // 1024, PARAMETERS_LIMIT_BYTES // 1024

    assert f"{whole} KiB and {MAX_DEPTH} levels at most, its `parameters` {inner} KiB" in page
    assert Limits().clock_skew_s == 10 * 60
    assert "`ts_ms` is the time of writing, at most ten minutes off" in page


async def test_whoever_misses_a_path_is_told_where_all_doors_are(outside: Outside) -> None:
    headers = {"Authorization": "Bearer leila-token"}
    async with httpx.AsyncClient(base_url=outside.url, headers=headers) as client:
        told = (await client.get("/aap")).json()["detail"]
        assert (await client.post("/mcp", json={})).status_code != 404
        assert (await client.get("/aap/v1/requests/none")).json() != {}

    assert all(door in told for door in ("/openapi.json", "/mcp", "/aap/v1"))


async def test_the_example_for_curl_proposes_and_hears_what_people_said(
    outside: Outside, root: Path
) -> None:
    tools = dict(outside.world.workflow.policy.tools)
    tools["production-deploy"] = replace(tools["production-deploy"], safety=Safety.WRITE)
    rules = dict(outside.world.workflow.policy.rules)
    # It is not always Monday noon.
    settings = outside.world.workflow.policy.rules["change_window_open"]
    rules["change_window_open"] = replace(settings, settings={"freezes": [], "hours": {}})
    await outside.world.adopts(tools=tools, rules=rules)
    (code,) = blocks(root, "bash")
    said, _ = await asyncio.gather(
        run(outside, root, "bash", "-euc", code), decided(outside, "ben", approve=False)
    )
    assert '"state":"sentinel_approved"' in said
    assert '"rejected_by_person"' in said


async def test_the_examples_for_python_run_under_a_permit(outside: Outside, root: Path) -> None:
    governed, _, session = blocks(root, "python")
    said, _ = await asyncio.gather(
        run(outside, root, sys.executable, "-c", governed), decided(outside, "ana")
    )
    assert "r-1" in said
    assert "completed" in await run(outside, root, sys.executable, "-c", session)


@pytest.mark.parametrize("place", [0, 1])
async def test_the_config_for_an_mcp_client_connects(
    outside: Outside, root: Path, place: int
) -> None:
    readme, page = blocks(root, "json")
    code = (readme, page)[place]
    entry = json.loads(code)["mcpServers"]["signoff"]
    args = [each.replace("http://127.0.0.1:8080", outside.url) for each in entry["args"]]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    token = dict.fromkeys(entry["env"], "leila-token")
    server = StdioServerParameters(
        command=entry["command"], args=args, env={**os.environ, "PATH": path, **token}
    )
    async with Client(server) as client:
        assert not (await client.call_tool("list_tools", {})).is_error


async def test_the_example_for_pydantic_ai_runs_once_a_person_approved(
    outside: Outside, root: Path
) -> None:
    code = blocks(root, "python")[1]
    said, _ = await asyncio.gather(
        run(outside, root, sys.executable, "-c", code), decided(outside, "ana")
    )
    assert "refunded 120.00 USD" in said


def test_the_config_is_one_that_the_bot_takes(root: Path, tmp_path: Path) -> None:
    text = (root / "config.yaml").read_text(encoding="utf-8")
    (example,) = blocks(root, "yaml")
    http = next(line for line in example.splitlines() if "http:" in line)
    text = re.sub(r"(?m)^  http: .*$", http, text)
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    assert load_config(path).intake.http.enabled
