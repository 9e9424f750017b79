"""Every key that the config knows is explained on its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from bot.config import models, tool_models

ROOT = Path(__file__).resolve().parents[2]
PAGES = "".join((ROOT / "docs" / name).read_text() for name in ("config.md", "tools.md"))


def keys() -> Iterator[str]:
    for module in (models, tool_models):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                for name, field in kind.model_fields.items():
                    yield field.alias or name


@pytest.mark.parametrize("key", sorted(set(keys())))
def test_a_key_of_the_config_is_explained(key: str) -> None:
    assert key in PAGES
