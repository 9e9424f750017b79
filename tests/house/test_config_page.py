"""Every key that the config knows is explained on its page, with its default, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from bot.config import models, tool_models
from bot.config.load import _KEYS
from lifecycle.calls.calling import LARGEST_RECEIPT

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
PAGES = PAGE + (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
CODE = "\n".join(re.findall(r"^```.*?^```|`[^`\n]+`", PAGES, re.DOTALL | re.MULTILINE))
#: The sections of the file, which are no fields of a model.
SECTIONS = set(_KEYS)


def keys() -> Iterator[str]:
    for module in (models, tool_models):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                for name, field in kind.model_fields.items():
                    yield field.alias or name


@pytest.mark.parametrize("key", sorted(set(keys())))
def test_a_key_of_the_config_is_explained(key: str) -> None:
    assert re.search(rf"(?<!\w){key}(?!\w)", CODE)


def test_a_key_that_is_explained_is_one_of_the_config() -> None:
    cells = re.findall(r"^\| ((?:`[^`|]+`(?:, )?)+) \|", PAGE, re.MULTILINE)
    told = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}

    assert told - {*keys(), *SECTIONS} == set()


def test_the_size_of_a_receipt_that_is_kept_whole_is_told_as_it_is() -> None:
    assert f"a receipt of more than {LARGEST_RECEIPT // 1024} KiB" in PAGES


@pytest.mark.parametrize(
    ("section", "kind"),
    [("limits", models.LimitsEntry), ("tools", tool_models.ToolEntry)],
)
def test_a_number_that_is_told_as_a_default_is_the_default(
    section: str, kind: type[BaseModel]
) -> None:
    table = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| .+ \| (\d+) \|$", table, re.MULTILINE))
    numbers = {
        name: str(field.default)
        for name, field in kind.model_fields.items()
        if type(field.default) is int
    }

    assert told == numbers
