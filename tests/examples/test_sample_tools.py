"""The sample tools really do something, once, and take it back to the byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from bot.composing import composed
from lifecycle.document import ProposalDocument

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TOOLS = EXAMPLES / "tools"


@pytest.fixture
def use(tmp_path):
    """Run a sample tool as the bot does: JSON in, JSON out, in the folder of the config."""

    def run(
        script: str | Path,
        verb: str,
        parameters: Any,
        *,
        key="p1:execute:1",
        digest="sha256:aa",
        receipt=None,
        fails=0,
    ):
        told = {
            "verb": verb,
            "proposal_id": key.split(":")[0],
            "digest": digest,
            "idempotency_key": key,
            "tool": str(script),
            "target": {"domain": "staging.shop.example", "resource_id": "shop"},
            "parameters": parameters,
            "receipt": receipt,
        }
        ended = subprocess.run(
            [sys.executable, (TOOLS / script).with_suffix(".py"), verb],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert ended.returncode == fails, ended.stderr
        return json.loads(ended.stdout) if fails == 0 else ended.stderr

    return run


@pytest.fixture
def site(tmp_path) -> Path:
    return tmp_path / "data/sites/staging.shop.example.json"


def test_a_deployment_is_taken_back_to_the_byte(use, site):
    use("deploy", "execute", {"version": "1.0"}, key="p0:execute:1")
    before = site.read_bytes()

    receipt = use("deploy", "execute", {"version": "2.0"})
    assert json.loads(site.read_text())["version"] == "2.0"
    assert (receipt["previous_version"], receipt["affected_records"]) == ("1.0", 1)
    assert receipt["effects"] == ["deploy"]

    assert use("deploy", "roll_back", {}, receipt=receipt)["still_stands"] == []
    assert site.read_bytes() == before
    assert use("deploy", "roll_back", {}, receipt=receipt)["still_stands"] == []


def test_a_deployment_that_died_halfway_is_finished_and_still_taken_back_to_nothing(
    use, site, tmp_path
):
    """It died before it noted what it did; what it had put there is not what was before."""
    use("deploy", "execute", {"version": "1.0"})
    next((tmp_path / "data/done").iterdir()).unlink()

    receipt = use("deploy", "execute", {"version": "1.0"})
    use("deploy", "roll_back", {}, receipt=receipt)

    assert (receipt["kept"], site.exists()) == (None, False)


def test_a_deployment_that_is_tried_again_is_taken_back_to_what_stood_before_both(use, site):
    """The first attempt acted and did not tell: a person's retry has a key of its own."""
    use("deploy", "execute", {"version": "1.0"}, key="p0:execute:1", digest="sha256:00")
    before = site.read_bytes()
    use("deploy", "execute", {"version": "2.0"})
    again = use("deploy", "execute", {"version": "2.0"}, key="p1:execute:2")

    use("deploy", "roll_back", {"version": "2.0"}, receipt=again)

    assert site.read_bytes() == before


def test_a_deployment_is_taken_back_to_what_came_between_two_attempts(use, site):
    use("deploy", "execute", {"version": "1.0"}, key="p0:execute:1", digest="sha256:00")
    use("deploy", "execute", {"version": "2.0"})
    use("deploy", "execute", {"version": "1.5"}, key="p2:execute:1", digest="sha256:22")
    between = site.read_bytes()
    again = use("deploy", "execute", {"version": "2.0"}, key="p1:execute:2")

    use("deploy", "roll_back", {"version": "2.0"}, receipt=again)

    assert site.read_bytes() == between


@pytest.mark.parametrize("before", ["old", "# T\n\nB\n", None])
def test_a_page_that_is_tried_again_is_taken_back_to_what_stood_before_both(use, tmp_path, before):
    page = tmp_path / "data/published/news.md"
    parameters = {"slug": "news", "title": "T", "body": "B"}
    if before is not None:
        page.parent.mkdir(parents=True)
        page.write_text(before)
    use("publish", "execute", parameters)
    again = use("publish", "execute", parameters, key="p1:execute:2")

    use("publish", "roll_back", parameters, receipt=again)

    assert (page.read_text() if page.exists() else None) == before


def test_the_first_deployment_is_taken_back_to_nothing(use, site):
    receipt = use("deploy", "execute", {"version": "1.0"})

    use("deploy", "roll_back", {}, receipt=receipt)

    assert not site.exists()


def test_a_deployment_over_ours_is_not_undone(use, site):
    receipt = use("deploy", "execute", {"version": "1.0"})
    use("deploy", "execute", {"version": "2.0"}, key="p2:execute:1")

    assert use("deploy", "roll_back", {}, receipt=receipt)["still_stands"] != []
    assert json.loads(site.read_text())["version"] == "2.0"


def test_the_same_key_again_is_answered_and_not_done_again(use, site):
    first = use("deploy", "execute", {"version": "1.0"})
    use("deploy", "execute", {"version": "2.0"}, key="p2:execute:1")

    assert use("deploy", "execute", {"version": "1.0"})["written"] == first["written"]
    assert json.loads(site.read_text())["version"] == "2.0"


def test_the_key_of_another_database_is_no_answer_for_another_document(use, site):
    use("deploy", "execute", {"version": "1.0"})

    receipt = use("deploy", "execute", {"version": "2.0"}, digest="sha256:bb")

    assert (receipt["version"], receipt["previous_version"]) == ("2.0", "1.0")
    assert json.loads(site.read_text())["version"] == "2.0"
    use("deploy", "roll_back", {}, receipt=receipt)
    assert json.loads(site.read_text())["version"] == "1.0"


@pytest.mark.parametrize("version", [None, "", 1, "../x", "a/b", ".x", "a\nb"])
def test_a_version_that_is_no_name_fails_and_leaves_nothing(use, tmp_path, version):
    assert use("deploy", "execute", {"version": version}, fails=10)
    assert not (tmp_path / "data").exists()


def test_records_are_written_read_and_deleted_with_their_data_set(use, tmp_path):
    tracked = {"dataset": "leads-2024", "record": "partner"}
    use("notes", "update-tracker", tracked | {"updates": {"status": "new"}}, key="a:execute:1")
    use("notes", "update-tracker", tracked | {"updates": {"owner": "leila"}}, key="b:execute:1")
    assert use("notes", "read", tracked)["record"] == {"owner": "leila", "status": "new"}

    receipt = use("delete", "execute", {"path": "data/records/leads-2024"}, key="c:execute:1")

    assert (receipt["affected_records"], receipt["effects"]) == (1, ["delete"])
    assert list((tmp_path / "data/records").iterdir()) == []
    assert use("notes", "read", tracked, fails=10)


@pytest.mark.parametrize("key", ["p1:execute:1", "p1:execute:2"])
def test_an_interrupted_deletion_is_finished_by_a_repeat_and_by_a_retry(use, tmp_path, key):
    from hashlib import sha256

    left = tmp_path / "data/records" / f".leaving-{sha256(b'sha256:aa').hexdigest()[:40]}"
    left.mkdir(parents=True)
    (left / "a.json").write_text("{}")

    deleted = use("delete", "execute", {"path": "data/records/old"}, key=key)

    assert deleted["affected_records"] == 1
    assert not left.exists()


@pytest.mark.parametrize(
    "path",
    ["data/records", "data", ".", "/", "/etc", "data/records/../sites", "data/records/link", ""],
)
def test_nothing_outside_the_root_is_ever_deleted(use, tmp_path, path):
    (tmp_path / "data/records").mkdir(parents=True)
    (tmp_path / "data/sites").mkdir()
    (tmp_path / "data/records/link").symlink_to(tmp_path / "data/sites")

    use("delete", "execute", {"path": path}, fails=10)

    assert (tmp_path / "data/sites").is_dir()


def test_links_inside_a_data_set_are_removed_and_not_followed(use, tmp_path):
    (tmp_path / "data/records/old").mkdir(parents=True)
    (tmp_path / "kept.txt").write_text("x")
    (tmp_path / "data/records/old/link").symlink_to(tmp_path / "kept.txt")

    use("delete", "execute", {"path": "data/records/old"})

    assert (tmp_path / "kept.txt").exists()


def test_search_and_fetch_find_the_library(use):
    found = use("search", "execute", {"query": "payment TERMS"})

    assert {match["document"] for match in found["matches"]} == {"payment-terms"}
    assert found["count"] == 2
    assert "14 days" in use("notes", "fetch", {"document": "payment-terms"})["text"]
    assert use("notes", "fetch", {"document": "nothing"}, fails=10)


def test_pages_and_settings_are_taken_back(use, tmp_path):
    page = use("publish", "execute", {"slug": "news", "title": "T", "body": "B"})
    setting = use("settings", "execute", {"name": "banner", "value": True}, key="p2:execute:1")
    assert (tmp_path / "data/published/news.md").read_text() == "# T\n\nB\n"
    assert json.loads((tmp_path / "data/settings.json").read_text()) == {"banner": True}

    use("publish", "roll_back", {}, receipt=page)
    use("settings", "roll_back", {}, receipt=setting)

    assert not (tmp_path / "data/published/news.md").exists()
    assert not (tmp_path / "data/settings.json").exists()


def test_drafts_and_tasks_are_written_and_recalled(use):
    draft = {"to": "pat@partner.example", "subject": "S", "body": "B"}
    use("notes", "draft-email", draft, key="a:execute:1")
    use("notes", "create-task", {"title": "Call Pat"}, key="b:execute:1")

    assert use("notes", "recall", {})["count"] == 2
    assert use("notes", "recall", {"tool": "other"})["count"] == 0


def test_a_verb_that_a_tool_does_not_know_fails(use):
    assert "search" not in use("notes", "explode", {}, fails=10)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.stem)
def test_every_example_is_a_proposal_once_it_is_filled_in(file):
    raw = composed(file.read_bytes(), file.stem, 1_772_452_800_000, lambda: "a1b2c3")

    document = ProposalDocument.of_bytes(raw)

    assert document.proposal_id == f"{file.stem}-a1b2c3"
    assert document.actor == "leila"
    assert len((document.justification or "x" * 15).strip()) >= 15


def snippet(page: str, beginning: str) -> dict[str, Any]:
    """Return the tool that a page of the documentation configures."""
    text = (EXAMPLES.parent / page).read_text()
    return YAML(typ="safe").load(text[text.index(beginning) :].split("```")[0])


def test_the_tool_to_copy_works_alone_as_the_page_configures_it(use, tmp_path):
    tool = snippet("docs/tools.md", "    kind: command")
    (tmp_path / "tools").mkdir()
    for verb in tool.keys() - {"kind", "env"}:
        program, file, said = tool[verb]
        copied = tmp_path / file
        copied.write_bytes((TOOLS / copied.name).read_bytes())
        assert (program, said) == ("python3", verb)

    receipt = use(copied, "execute", {"version": "1.0"})
    taken = use(copied, "roll_back", {}, receipt=receipt)

    assert [file.name for file in (tmp_path / "tools").iterdir()] == ["deploy.py"]
    assert taken["restored"]
