"""The classes of an operator's own tools: when the config loads them, and what it asks of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot.config import ConfigInvalid, load_config, load_what_is_needed
from bot.config.surfaces import choose

ASKED = """\
class Computed:
    def __init__(self, answer):
        self.answer = answer

    def __get__(self, made, found):
        return self.answer()

def away():
    raise ConnectionError("its server is away")

class Tool:
    {part} = Computed(away)

    def execute(self, call): ...
"""


def test_the_class_of_a_tool_is_loaded_for_a_brake_only_where_it_must_be_known_what_stages(
    write_config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "staging_tool", raising=False)
    code = "class Staging:\n    reversible = deferred = True\n"
    (tmp_path / "staging_tool.py").write_text(code)
    tool = "tier: PROPOSE, action_type: write, kind: python, class: 'staging_tool:Staging'"
    path = write_config(("tools:\n", f"tools:\n  stage: {{{tool}}}\n"))

    unasked, told = load_what_is_needed(path)
    loaded = "staging_tool" in sys.modules
    asked, _ = load_what_is_needed(path, ask_classes=True)

    assert not told  # what is not known is no mistake of the file
    assert not loaded
    assert unasked.policy.tools["stage"].reversible
    assert asked.policy.tools["stage"].deferred


@pytest.mark.parametrize("part", ["reversible", "deferred", "__signature__"])
def test_a_class_that_fails_as_it_is_asked_what_it_can_do_is_a_mistake_with_its_place(
    write_config, part: str
) -> None:
    path = _with_a_class_that_computes(write_config, part)

    with pytest.raises(ConfigInvalid, match=r"tools\.own\.class.*cannot be asked .*ConnectionErr"):
        load_config(path)


def test_a_class_without_a_signature_is_asked_for_no_options(write_config) -> None:
    path = _with_a_class(write_config, "unsigned", "class Tool:\n    __signature__ = 7\n")

    assert not load_config(path).policy.tools["own"].reversible


def test_options_that_a_class_does_not_take_are_a_mistake_in_the_options(write_config) -> None:
    code = "class Tool:\n    def __init__(self, host):\n        self.host = host\n"
    path = _with_a_class(write_config, "takes_a_host", code)

    with pytest.raises(ConfigInvalid, match=r"tools\.own\.options") as caught:
        load_config(path)
    assert "cannot be asked" not in str(caught.value)


def test_a_class_that_fails_as_it_is_asked_for_a_note_has_none(write_config) -> None:
    path = _with_a_class_that_computes(write_config, "commit")

    assert "own " not in str(choose(load_config(path), {}, attached=True).notes)


def _with_a_class_that_computes(write_config, part: str) -> Path:
    return _with_a_class(write_config, f"computes_{part.strip('_')}", ASKED.format(part=part))


def _with_a_class(write_config, module: str, code: str) -> Path:
    tool = f"own: {{tier: CONFIRM, action_type: read, kind: python, class: '{module}:Tool'}}"
    path: Path = write_config(("tools:\n", f"tools:\n  {tool}\n"))
    path.with_name(f"{module}.py").write_text(code)
    return path
