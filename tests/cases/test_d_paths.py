"""Case D08: a path leads where it says, below the root of its tool, or nowhere."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.policy import Level, RuleSettings, ToolKind
from sentinel_rules import RuleLoadError, load_rules
from tests.builders import PROD, a_document, the_rules, the_tools
from tests.checking import found, sentinel_with, verdict_on


def deletion(**parameters: Any) -> dict[str, Any]:
    return a_document(PROD, tool="delete-data", action_type="delete", parameters=parameters)


@pytest.mark.parametrize(
    "path",
    [
        "/srv/work/../../etc/passwd",
        "/srv/work-evil/x",
        "/srv/work/%2e%2e/x",
        "/srv/work/%252e/x",
        "a/./../..//b",
        "..",
        "/srv/work/a\x00b",
        "/srv/work",
        "/srv/work/.",
        "/",
        "/etc/passwd",
        "~root/x",
        "~/x",
        "\\\\host\\share",
        "old\\..\\x",
        "C:\\x",
        "c:x",
        "file:///etc/passwd",
        "//srv/work/x",
        "/srv/work/．．/x",
        "/srv/work／..／x",
        "/srv/work/\u202ex",
        "/srv/work/*/passwd",
        "old/?.csv",
        "$HOME/x",
        "${HOME}",
        "`id`",
        "$(pwd)/x",
        "%HOME%/x",
        "-rf",
        " ",
        *(".. ", " ..", " /etc/passwd", "/etc/passwd ", "\u3000/etc/x", " ~/x", " -rf", ". "),
        *("old/.. /x", "old/ ../../x", "/srv/work/.. "),
    ],
)
def test_D08_a_path_stays_below_the_root(path: str) -> None:
    outside = ("blast_radius_bounded", "path_outside_root", "parameters.path")

    assert outside in found(deletion(path=path))


@pytest.mark.parametrize(
    "path",
    [
        *("/srv/work/a.csv", "/srv/work/./b//c", "old/a.csv", "a..b", "5$ off.csv", "100%.csv"),
        *("[]", " old/a.csv", "old/a.csv ", "/srv/work/a b.csv ", "old / new", ".. a/b"),
    ],
)
def test_D08_a_plain_path_below_the_root_passes(path: str) -> None:
    assert found(deletion(path=path)) == set()


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"files": ["/srv/work/a", "/etc/passwd"]}, "parameters.files[1]"),
        ({"options": {"backup_dir": ".."}}, "parameters.options.backup_dir"),
        ({"what": "/etc/passwd"}, "parameters.what"),
        ({"what": [{"deep": "../x"}]}, "parameters.what[0].deep"),
        ({"files": {"/etc/passwd": 1}}, 'parameters.files["/etc/passwd"]'),
        ({"outputFile": ".."}, "parameters.outputFile"),
        ({"pATH": "/etc/my file"}, "parameters.pATH"),
        ({"source": "q1 2026/../../../etc"}, "parameters.source"),
        ({"name": "secret dir/../../.."}, "parameters.name"),
        ({"name": "file:///etc/my file"}, "parameters.name"),
    ],
)
def test_D08_whatever_looks_like_a_path_is_one(parameters: dict[str, Any], path: str) -> None:
    assert ("blast_radius_bounded", "path_outside_root", path) in found(deletion(**parameters))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"constraints": {"path": "/etc/passwd"}}, "target.constraints.path"),
        ({"constraints": {"only": ["x y/../.."]}}, "target.constraints.only[0]"),
        ({"resource_id": "/etc/passwd"}, "target.resource_id"),
        ({"resource_id": "../leads"}, "target.resource_id"),
        ({"domain": "../../etc"}, "target.domain"),
        ({"resource_type": "/etc/cron.d"}, "target.resource_type"),
    ],
)
def test_D08_the_target_stays_below_the_root_as_well(changes: dict[str, Any], path: str) -> None:
    document = deletion(path="old") | {"target": PROD["target"] | changes}

    assert found(document) == {("blast_radius_bounded", "path_outside_root", path)}


@pytest.mark.parametrize(
    ("resource_id", "parameters"),
    [
        ("leads-2024", {"note": "old and/or unused, 50% of them"}),
        ("crm:leads", {"when": "12/31/2026 at noon", "kind": "text/html; q=1"}),
        ("leads/2024", {"greeting": ".. und tschüss", "why": "unused\nsee a/b"}),
    ],
)
def test_D08_words_with_a_slash_are_no_way_out(
    resource_id: str, parameters: dict[str, Any]
) -> None:
    target = PROD["target"] | {"resource_id": resource_id}

    assert found(deletion(**parameters) | {"target": target}) == set()


def test_D08_the_place_that_a_link_leads_to_counts(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "inside").mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "inside")
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})

    def codes(path: str) -> set[tuple[str, str, str]]:
        return found(deletion(path=f"{root}/{path}"), rule, real_path=os.path.realpath)

    assert codes("in/a.csv") == set()
    assert codes("out/a.csv") == {("blast_radius_bounded", "path_outside_root", "parameters.path")}


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"path": "data/records-evil/x"}, "parameters.path"),
        ({"path": "data/records"}, "parameters.path"),
        ({"path": "data/records/out/x"}, "parameters.path"),
        ({"path": "data/records/inside/out"}, "parameters.path"),
        ({"path": "config.yaml"}, "parameters.path"),
        ({"files": ["data/records/a", "old/a.csv"]}, "parameters.files[1]"),
        ({"folder": {"a": "records/a"}}, "parameters.folder.a"),
        ({"what": "data/records-evil/x"}, "parameters.what"),
        ({"what": "./data/records/out/x"}, "parameters.what"),
        ({"what": "./config.yaml"}, "parameters.what"),
        *(({name: "config.yaml"}, f"parameters.{name}") for name in ("file_name", "pathname")),
        ({"source-folder-name": "data"}, "parameters.source-folder-name"),
        ({"what": {"data/signoff.db": 1}}, 'parameters.what["data/signoff.db"]'),
        *(({"path": path}, None) for path in ("data/records/a", "./data//records/inside/a ")),
        *(({"what": word}, None) for word in ("data/records/a", "text/html", "feature/x")),
    ],
)
def test_D08_a_tool_of_this_machine_reads_a_relative_path_from_the_folder_of_the_config(
    tmp_path: Path, parameters: dict[str, Any], path: str | None
) -> None:
    root = tmp_path / "data" / "records"
    (root / "inside").mkdir(parents=True)
    for link in (root / "out", root / "inside" / "out"):
        link.symlink_to(tmp_path)
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})

    def codes(**facts: Any) -> set[tuple[str, str, str]]:
        looked = {"real_path": lambda way: os.path.realpath(tmp_path / way)}
        return found(deletion(**parameters), rule, **looked, **facts)

    assert codes() == ({("blast_radius_bounded", "path_outside_root", path)} if path else set())
    tool = replace(the_tools()["delete-data"], kind=ToolKind.WEBHOOK)
    assert codes(tool=tool) == set(), "whoever works elsewhere reads it from the root"


@pytest.mark.parametrize("folder", ["config", "linked"])
def test_D08_a_root_that_is_a_link_is_begun_by_its_own_name_and_by_its_real_one(
    tmp_path: Path, folder: str
) -> None:
    start, store = tmp_path / "config", tmp_path / "config" / "store"
    (start / "data").mkdir(parents=True)
    store.mkdir()
    (start / "data" / "records").symlink_to(store)
    (tmp_path / "linked").symlink_to(start)
    root = tmp_path / folder / "data" / "records"
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})

    def codes(what: str) -> set[str]:
        looked = {"real_path": lambda way: os.path.realpath(start / way)}
        return {code for _, code, _ in found(deletion(what=what), rule, **looked)}

    assert codes("data/records-evil/x") == {"path_outside_root"}
    assert codes("data/other") == {"path_outside_root"}
    assert codes("data/records/x") == codes("store/x") == codes("text/html") == set()


@pytest.mark.parametrize(
    ("path", "passes"),
    [("data/records/a", False), ("data/records/sub/x", False), ("{root}/a", True)],
)
def test_D08_a_class_reads_a_relative_path_where_the_bot_was_started(
    tmp_path: Path, path: str, passes: bool
) -> None:
    """It was judged from the folder of the config alone, and read from another."""
    root, started = tmp_path / "config" / "data" / "records", tmp_path / "started"
    for folder in (root, started / "data" / "records"):
        folder.mkdir(parents=True)
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})
    document = deletion(path=path.format(root=root))
    looked = {"real_path": lambda way: os.path.realpath(tmp_path / "config" / way)}

    def codes(kind: ToolKind, folder: Path) -> set[str]:
        tool = replace(the_tools()["delete-data"], kind=kind)
        facts = {**looked, "tool": tool, "started_in": str(folder)}
        return {code for _, code, _ in found(document, rule, **facts)}

    assert codes(ToolKind.PYTHON, started) == (set() if passes else {"path_outside_root"})
    assert codes(ToolKind.PYTHON, tmp_path / "config") == set(), "it was started there"
    assert codes(ToolKind.COMMAND, started) == set(), "a program runs in the folder of the config"


def test_D08_from_a_folder_below_the_root_every_relative_path_is_looked_at(tmp_path: Path) -> None:
    """Only names that lead to the root from outside of it were."""
    start = tmp_path / "root" / "config"
    start.mkdir(parents=True)
    (start / "link").symlink_to(tmp_path)
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(start.parent)})

    def codes(what: str) -> set[str]:
        looked = {"real_path": lambda way: os.path.realpath(start / way)}
        return {code for _, code, _ in found(deletion(what=what), rule, **looked)}

    assert codes("link/secret.csv") == {"path_outside_root"}
    assert codes("old/a.csv") == set()


@pytest.mark.parametrize(
    ("word", "passes"),
    [
        *(("of={root}/a.csv", True), ("of=data/records/a", True), ("if={root}/a of=/etc/x", False)),
        *(("of=data/signoff.db", False), ("a/b=c=data/records-evil/x", False)),
        *(("of=data/records/out/x", False), ("of=./config.yaml", False), ("of=~root/x", False)),
        *(("a=b=/etc", False), ("of=../x", False), ("x/y= /etc", False)),
        *(("app=front/v1,tier=web/x", True), ("CPU/RAM = ~80% of it", True), ("a/b=~500", True)),
        *(("of=~0/x", False), ("if={root}/a /etc/x", False), ("if={root}/a b.csv", True)),
    ],
)
def test_D08_what_a_word_gives_to_a_program_is_judged_by_where_it_leads(
    tmp_path: Path, word: str, passes: bool
) -> None:
    """Behind `of=` a path below the root was refused, and one outside that begins as it does
    was not."""
    root = tmp_path / "data" / "records"
    root.mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})
    looked = {"real_path": lambda way: os.path.realpath(tmp_path / way)}

    codes = {code for _, code, _ in found(deletion(args=word.format(root=root)), rule, **looked)}

    assert codes == (set() if passes else {"path_outside_root"})


def test_D08_a_wildcard_is_told_to_be_written_out() -> None:
    (fault,) = verdict_on(deletion(path="old/*")).faults()

    assert "write each path plainly" in str(fault.suggestion)


def test_D08_what_a_wildcard_would_follow_is_never_reached(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (tmp_path / "secret.csv").write_text("x")
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})
    assert list(root.glob("*/secret.csv"))

    assert found(deletion(path="*/secret.csv"), rule, real_path=os.path.realpath) == {
        ("blast_radius_bounded", "path_outside_root", "parameters.path")
    }


@pytest.mark.parametrize("root", ["srv/work", "/", "/srv/../etc", "/srv/work/", "//srv"])
def test_a_root_that_is_no_plain_folder_stops_the_start(root: str) -> None:
    settings = RuleSettings(Level.HARD, {"roots": {"delete-data": root}})

    with pytest.raises(RuleLoadError, match="blast_radius_bounded"):
        load_rules(the_rules() | {"blast_radius_bounded": settings})
