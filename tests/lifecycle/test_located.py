"""The log says where something went wrong, and nothing of what it went wrong with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bot.config.kinds import capabilities
from bot.config.tool_models import PythonEntry
from lifecycle.located import located, not_loaded


def inner() -> None:
    raise KeyError("token=hunter2")


def outer() -> None:
    try:
        inner()
    except KeyError as error:
        raise RuntimeError("password=hunter2") from error


def caught() -> RuntimeError:
    with pytest.raises(RuntimeError) as caught:
        outer()
    return caught.value


def test_an_error_is_told_by_its_type_and_places_alone() -> None:
    words = located(caught())

    place = "lifecycle/test_located.py:"
    assert words.startswith(f"RuntimeError (after KeyError at {place}")
    assert f" in inner) at {place}" in words
    assert f", from {place}" in words
    assert words.index(" in outer") < words.index(" in caught")
    assert "hunter2" not in words
    assert str(Path(__file__).parents[1]) not in words


def test_a_long_way_is_cut_off_where_it_began() -> None:
    def deep(left: int) -> None:
        if left == 0:
            raise LookupError
        deep(left - 1)

    with pytest.raises(LookupError) as raised:
        deep(500)

    assert located(raised.value).count(" in deep") == 6


async def test_of_a_group_the_first_error_in_it_is_told() -> None:
    async def breaks() -> None:
        inner()

    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.TaskGroup() as group:
            group.create_task(breaks())

    words = located(raised.value)
    assert words.startswith("ExceptionGroup (after KeyError at lifecycle/test_located.py:")
    assert " in inner) at asyncio/taskgroups.py:" in words
    assert "hunter2" not in words


def test_what_code_that_was_made_is_called_is_told_only_where_it_is_a_name() -> None:
    made: dict[str, Any] = {}
    exec(compile("def f():\n    raise Odd", "hunter2\n.txt", "exec"), made)
    made["Odd"] = type("token=hunter2\n", (Exception,), {})
    made["f"].__code__ = made["f"].__code__.replace(co_name="hunter2 is the password")

    with pytest.raises(made["Odd"]) as raised:
        made["f"]()

    words = located(raised.value)
    assert words.startswith("? at generated code:2 in ?, from lifecycle/test_located.py:")
    assert "hunter2" not in words


def test_no_source_is_asked_for_and_nothing_about_an_error_raises_another() -> None:
    class Sources:
        def get_source(self, _name: str) -> str:
            raise AssertionError

    class Falsy(Exception):
        def __bool__(self) -> bool:
            raise AssertionError

    made: dict[str, Any] = {"__name__": "made", "__loader__": Sources(), "Falsy": Falsy}
    source = "def f():\n    try:\n        raise Falsy\n    except Falsy:\n        raise LookupError"
    exec(compile(source, "made.py", "exec"), made)

    with pytest.raises(LookupError) as raised:
        made["f"]()

    assert located(raised.value).startswith(
        "LookupError (after Falsy at made.py:3 in f) at made.py"
    )


def test_an_error_whose_class_ends_the_program_when_it_is_looked_at_is_told_all_the_same() -> None:
    class Leaves(Exception):
        @property
        def __traceback__(self) -> Any:
            raise SystemExit

    after = RuntimeError()
    after.__cause__ = Leaves()

    assert [located(Leaves()), located(after)] == ["an error that cannot be told"] * 2


def test_an_error_that_was_never_raised_has_a_type() -> None:
    assert located(ValueError("hunter2")) == "ValueError"
    assert located(None) == "an end without a reason"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(:\n", "line 1: invalid syntax"),
        ("import there_is_no_such_module\n", "No module named 'there_is_no_such_module'"),
        ("Other = 1\n", "has no Tool, AttributeError at "),
        ("PASSWORD = 'hunter2'\nint(PASSWORD)\n", "ValueError at "),
        ("import sys\nsys.exit('hunter2')\n", "it ends the program, SystemExit at "),
    ],
)
def test_an_operator_reads_what_is_wrong_with_a_class_of_theirs(
    tmp_path: Path, source: str, words: str
) -> None:
    name = f"broken_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source)
    entry = PythonEntry.model_validate(
        {"kind": "python", "tier": "CONFIRM", "action_type": "write", "class": f"{name}:Tool"}
    )

    with pytest.raises(ValueError, match="cannot be loaded") as refused:
        capabilities(entry, tmp_path)

    assert words in str(refused.value)
    assert "): mend it, or write module:Class of " in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert not_loaded(ImportError("No module named x")) == "No module named x"
    assert "hunter2" not in not_loaded(ImportError("no key: password=hunter2hunter2"))
