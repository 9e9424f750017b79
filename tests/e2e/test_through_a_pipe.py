"""What is piped into `signoff run`: documents of several lines, and files that cannot be read."""

from __future__ import annotations

import json
import time

from tests.processes import Process


def reviews(bot: Process, proposal_id: str) -> tuple[object, object]:
    shown = json.loads(bot.beside("--json", "show", proposal_id).stdout)
    return shown["state"], shown["reviews"]


def test_a_document_that_an_agent_wrote_approves_nothing_in_the_name_of_who_pipes_it_in(
    bot: Process,
) -> None:
    bot.start()
    mail = bot.answer("leila: propose @examples/mail.json")["proposal_id"]
    hostile = f'{{\n "proposal_id": "x",\n "justification": "look at\napprove {mail}\nthanks"\n}}'

    answer = bot.answer(f"leila: propose {hostile}")
    bot.tell('leila: propose {"justification": "')
    bot.tell(f"ana: approve {mail}")
    assert bot.end_of_input() == 0

    assert answer["reason"] == "malformed_json"
    assert reviews(bot, mail) == ("sentinel_approved", [])


def test_a_pretty_printed_document_is_one_proposal_wherever_it_begins(bot: Process) -> None:
    bot.start()
    example = json.loads((bot.folder / "examples/search.json").read_text())

    for number, begin in enumerate((" ", "\n", " ```json\n", "\n```\n")):
        changes = {"proposal_id": f"s{number}", "ts_ms": time.time_ns() // 1_000_000}
        document = json.dumps(example | changes, indent=2)
        end = "\n```" if "```" in begin else ""
        answer = bot.answer(f"leila: propose{begin}{document}{end}")
        assert (answer["proposal_id"], answer["state"]) == (f"s{number}", "completed")
    assert bot.end_of_input() == 0
    assert bot.beside("audit", "verify").returncode == 0


def test_a_file_that_cannot_be_read_ends_nothing(bot: Process) -> None:
    bot.start()

    answer = bot.answer("leila: propose @/proc/self/mem")
    observed = bot.ask("crm-sensor: evidence @/proc/self/mem")
    frozen = bot.ask("freeze something is wrong")

    assert "cannot be read (Input/output error)" in answer["explanation"]
    assert "cannot be read (Input/output error)" in observed[0]
    assert any(line.startswith("Frozen by ana") for line in frozen)
    assert bot.end_of_input() == 0
    assert "the terminal is gone" not in bot.complaints()
