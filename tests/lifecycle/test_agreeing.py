"""A row and its reviews are held against every entry that tells of them (ADR 0013)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifecycle.agreeing.rows import disagreements
from lifecycle.audit import AuditEntry
from lifecycle.moment import ms_of, rfc3339
from lifecycle.policy import Level
from lifecycle.proposal import SENTINEL, Attention, Outcome, Verb
from lifecycle.review import Decision
from lifecycle.state import State
from lifecycle.tier import Puller, Tier
from tests.builders import ANA, BEN, MAIL, NOUR, PROD
from tests.fakes.tools import raising
from tests.lifecycle.lives import (
    BY_BEN,
    FOR_ANA,
    ON_ITS_OWN,
    Row,
    came,
    cause,
    execution,
    found,
    judged,
    kept,
    lost,
    review,
    row,
    rows,
    the_row,
    unasked,
)
from tests.roads import trail_of
from tests.stage import in_memory
from tests.stories.hearing import cut_off

CHANGES: tuple[tuple[str, Callable[[Row], Row], str], ...] = (
    # where it stands
    ("mail", row(state=State.COMPLETED), "its state is completed, entry"),
    ("stopped", row(reason="expired"), "its reason is expired, entry"),
    ("stopped", row(decided_by=ANA), "it was decided by person ana, entry"),
    ("stopped", row(decided_at_ms=1), "it was decided at 1970-01-01T00:00:00.001Z, entry"),
    ("stopped", row(explanation="gladly"), "its explanation is gladly, the trail says the shop"),
    ("open", row(decided_by=ANA, reason="rejected_by_person"), "it is open, and has an end"),
    ("open", row(decided_at_ms=1), "it is open, and has an end"),
    # what it is
    ("sent", row(actor=NOUR), "its proposer is agent nour, the trail says agent leila"),
    ("sent", row(tool="search"), "its tool is search, the trail says send-email"),
    ("open", row(surface="slack"), "its surface is slack, the trail says terminal"),
    ("open", row(created_at_ms=1), "its time of submission is 1970"),
    ("open", row(deadline_ms=2**42), "its deadline is 2109"),
    ("sent", row(digest="sha256:00"), "its digest is not the one of entry"),
    ("sent", row(document=b"{}"), "what is stored does not fit its digest"),
    ("sent", row(document=b"{}", masked=True), "it is kept masked, and no entry tells why"),
    ("stopped", row(document=b"{}", masked=True), "it is kept masked, and no entry tells why"),
    ("open", row(valid_from_ms=1), "it may begin at 1970"),
    # who decides
    ("open", row(tier=Tier.AUTO, quorum=0), "its tier is AUTO, the trail says CONFIRM"),
    ("void", row(quorum=1), "its quorum is 1, its tier and document ask for 2"),
    ("dual", row(quorum=1), "its quorum is 1, the trail says 2"),
    ("open", row(opener=BEN, opener_puller=Puller.PERSON), "its row lets person ben open it with"),
    ("dual", row(opener=ANA, opener_puller=Puller.PERSON), "its row lets person ana open it with"),
    (
        "void",
        row(opener=ANA, opener_puller=Puller.PERSON),
        "its row lets person ana open it with 0",
    ),
    ("open", row(opener=SENTINEL, opener_puller=Puller.SENTINEL), "its row lets sentinel"),
    ("open", row(opener=NOUR, opener_puller=Puller.PERSON), "agent nour opens it as person"),
    ("refund", row(quorum=2), "entry"),
    # how its call stands
    ("open", row(execution=ON_ITS_OWN), "execute is running, and no entry tells that it began"),
    ("mail", row(execution=None), "its execution is gone, entry"),
    ("mail", row(opener=BEN), "it was opened by person ben, entry"),
    ("mail", execution(verb=Verb.COMMIT), "its verb is commit, the trail says execute"),
    ("mail", execution(attempt=2), "its attempt is 2, the trail says 1"),
    ("mail", execution(early=True), "who may close its window early is another thing"),
    ("mail", execution(window_closes_at_ms=1), "its window's end is 1970"),
    ("mail", execution(window_closes_at_ms=None), "its window's end is None"),
    ("mail", execution(receipt={"id": "other"}), "what its tool answered is not what the trail"),
    ("sent", execution(receipt={"id": "other"}), "what its tool answered is not what the trail"),
    ("back", execution(receipt={"id": "other"}), "what its tool answered is not what the trail"),
    ("mail", execution(by_agent=True), "its by_agent is True, entry"),
    ("mail", execution(deferred=False), "its deferred is False, entry"),
    ("happened", execution(window_closes_at_ms=1), "its window's end is 1970"),
    ("sent", execution(window_closes_at_ms=1), "its window's end is 1970"),
    ("kept", execution(outcome=Outcome.DONE), "its outcome is done, the trail says unknown"),
    ("kept", row(attention=None), "its attention is None, the trail says outcome_unknown"),
    ("mail", row(attention=Attention.OVERDUE), "its attention is overdue, the trail says None"),
    ("kept", row(kept_stop=None), "the ❌ of ben waits for its tool, and is not kept"),
    ("mail", row(kept_stop=BY_BEN), "a ❌ of ben is kept, and no entry tells of it"),
    # by what it was judged, and what a repeat of it is known by
    ("open", row(content_digest="sha256:00"), "the digests by which a repeat of it is known are"),
    ("stopped", row(likeness_digest="sha256:00"), "the digests by which a repeat of it is known"),
    ("open", row(task_id="t2"), "its task is t2, its document says None"),
    ("open", row(window_s=1), "its window's length in s is 1, the trail says 0"),
    ("open", row(policy_digest="pol1_x"), "its policy is pol1_x, the trail says pol1_"),
    ("mail", row(checked_policy_digest="pol1_x"), "its last check's policy is pol1_x, the trail"),
    ("mail", judged(lambda it: it + "+evidence"), "whether its evidence is still to be judged"),
    ("secret", found(level=Level.SOFT), "what Sentinel found is not what the trail tells"),
    ("secret", found(words="nothing"), "what Sentinel found is not what the trail tells"),
    ("open", unasked, "what Sentinel found is not what the trail tells"),
    # its last call
    ("mail", execution(tries=2), "its number of tries is 2, the trail says 1"),
    ("mail", execution(doubted=True), "its doubt is True, the trail says False"),
    ("mail", execution(began_at_ms=1), "its call began at 1970"),
    ("mail", execution(window_opens_at_ms=None), "its window's beginning is None, the trail says"),
    ("mail", execution(still_stands=("x",)), "what still stands of it is not what the trail"),
    ("kept", execution(receipt={"id": "other"}), "what its tool answered is not what the trail"),
    ("mail", execution(cause=FOR_ANA), "whether a commit or a roll back was claimed is not what"),
    ("sent", execution(cause=None), "whether a commit or a roll back was claimed is not what the"),
    ("sent", execution(cause=FOR_ANA), "it is to end for person ana (approved_early), not for"),
    ("sent", cause(puller=Puller.PERSON), "it is to end for clock clock as person"),
    ("sent", cause(words="Gladly."), "its words of the end is Gladly., the trail says Nobody"),
    ("mail", row(retry_at_ms=2**42), "its window is not closed before 2109"),
    ("kept", kept(at_ms=1), "the ❌ of ben is kept otherwise than entry"),
    ("kept", kept(surface="slack"), "the ❌ of ben is kept otherwise than entry"),
    ("kept", kept(reason="x"), "its kept reason to stop is x, the trail says do not send that"),
    # the permit of an agent
    ("handed", row(permit_waits=False), "its wait for a permit's redemption is False, the trail"),
    ("open", row(permit_waits=True), "its wait for a permit's redemption is True, the trail"),
    ("handed", row(deadline_ms=2**42), "its deadline is 2109"),
    # what people said
    ("dual", lost(0), "0 approvals by ana are kept, the trail tells of 1"),
    ("dual", came("ben", Decision.APPROVE), "1 approvals by ben are kept, the trail tells of 0"),
    ("void", review(0, void_why=None), "the approval by ana counts, although it is void since"),
    ("again", review(0, void_why=None), "the approval by ana counts, although the trail says that"),
    ("again", review(1, void_why="x"), "the approve by ana does not count, and no entry says why"),
    ("dual", review(0, reason=""), "the reason of the approve by ana is not the one"),
    ("dual", review(0, at_ms=1), "the approve by ana is kept with another time"),
    ("dual", review(0, event_id="e"), "the approve by ana is kept with another time"),
    ("dual", review(0, found_late=True), "the approve by ana was found in another way"),
    ("stopped", lost(0), "the trail tells of the reject by ben, which is not kept"),
    ("stopped", review(0, person="leila"), "no entry tells of the reject by leila"),
    ("stopped", review(0, reason=""), "the reason of the reject by ben is not the one"),
    ("refused", review(0, reason="gladly"), "the reason of the reject by ben is not the one"),
    ("back", lost(1), "the trail tells of the roll_back by ben, which is not kept"),
    ("kept", lost(1), "the trail tells of the roll_back by ben, which is not kept"),
    ("mail", came("cal", Decision.ROLL_BACK), "no entry tells of the roll_back by cal"),
)


async def test_every_change_of_a_row_or_its_reviews_is_named(tmp_path: Path) -> None:
    lives = await rows(tmp_path)
    assert [words for life in lives.values() for words in disagreements(*life)] == []

    unnamed = []
    for name, change, said in CHANGES:
        found = disagreements(*change(lives[name]))
        if not any(words.startswith(f"proposal {name}: {said}") for words in found):
            unnamed.append((name, said, found))
    assert unnamed == []


async def test_what_the_entries_of_older_versions_did_not_tell_is_not_missed(
    tmp_path: Path,
) -> None:
    newer = {"window_closes_at_ms", "quorum", "deadline_ms", "tier", "explanation", "found_late"}
    newer |= {"receipt", "by_agent", "deferred", "known_by", "window_s", "findings", "words"}
    newer |= {"doubted", "stands", "permit", "permit_until_ms", "task", "needs_people", "tries"}
    newer |= {"reason_due_ms"}

    def older(entry: AuditEntry) -> AuditEntry:
        event = entry.event
        details = {key: value for key, value in event.details.items() if key not in newer}
        return entry._replace(event=event._replace(details=details))

    for proposal, trail, reviews in (await rows(tmp_path)).values():
        assert disagreements(proposal, [older(entry) for entry in trail], reviews) == []


@pytest.mark.parametrize(("tries", "fits"), [(1, False), (2, True), (3, False)])
async def test_every_try_of_a_call_is_one_more_than_the_one_before(
    tmp_path: Path, tries: int, fits: bool
) -> None:
    async with in_memory(tmp_path) as world:
        await cut_off(world)
        del world.tool("send-email").on["execute"]  # which hung: now it answers
        world.clock.advance(5)  # its window begins anew
        await world.restarts()
        proposal = await world.proposal("p1")
        trail = await world.store.read(lambda tx: trail_of(tx, "p1"))
        reviews = await world.store.read(lambda tx: tx.reviews.of("p1"))

    def counted(entry: AuditEntry) -> AuditEntry:
        if entry.event.kind != "called_again":
            return entry
        details = {**entry.event.details, "tries": tries}
        return entry._replace(event=entry.event._replace(details=details))

    assert "called_again" in [entry.event.kind for entry in trail]
    found = disagreements(proposal, [counted(entry) for entry in trail], reviews)
    assert any(f"counts it as try {tries}, after try 1" in words for words in found) != fits
    assert (found == []) == fits


#: Entries that somebody's forged row led to, though the row may say anything again by now.
LED_TO: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("execute", {"source": "rejected"}, "moves it from rejected, where it was sentinel_approved"),
    ("execute", {"actor": BEN}, "lets person ben open it with no approval by ben"),
    ("execute", {"actor": SENTINEL}, "lets sentinel sentinel open it, which PROPOSE does not"),
    ("reviewed", {"details": {"quorum": 0}}, "counts up to 0, where 1 must approve"),
    ("reviewed", {"kind": "other"}, "lets person ana open it with 0 of 1 approvals"),
    ("execute", {"kind": "other", "target": None}, "tells of a call, where it was sentinel_appro"),
    ("commit_claimed", {"at": "2026-03-02T12:00:00.000Z"}, "ends its window, which was open until"),
    ("complete", {"reason": "approved_early", "actor": BEN}, "for ben, who did not approve"),
    ("stopped", {"kind": "other"}, "takes it back for ben, who did not stop it"),
    ("roll_back_claimed", {"details": {"window_closes_at_ms": 1}}, "takes its window for 1970"),
    (
        "roll_back",
        {"actor": ANA},
        "ends it for person ana (rolled_back_by_person), which was claim",
    ),
    ("complete", {"reason": "tool_succeeded"}, "ends it for clock clock (tool_succeeded), which"),
)


async def test_an_entry_that_cannot_follow_on_those_before_it_is_named(tmp_path: Path) -> None:
    lives = await rows(tmp_path)
    unnamed = []
    for kind, changes, said in LED_TO:
        name = "back" if kind in ("stopped", "roll_back_claimed", "roll_back") else "sent"
        proposal, trail, reviews = lives[name]
        changed = [
            entry._replace(event=entry.event._replace(**changes))
            if entry.event.kind == kind
            else entry
            for entry in trail
        ]
        found = disagreements(proposal, changed, reviews)
        if not any(said in words for words in found):
            unnamed.append((kind, said, found))
    assert unnamed == []


async def test_a_trail_that_does_not_begin_with_a_submission_is_named(tmp_path: Path) -> None:
    proposal, trail, reviews = (await rows(tmp_path))["sent"]

    found = disagreements(proposal, trail[1:], reviews)

    assert f"proposal sent: its first entry {trail[1].seq} is no submission" in found


async def test_a_window_that_no_commit_follows_ends_no_earlier_than_it_was_told(
    tmp_path: Path,
) -> None:
    target = PROD["target"] | {"domain": "staging.shop.example"}
    async with in_memory(tmp_path) as world:
        await world.submits(PROD, tool="staging-deploy", target=target)
        await world.approves("ana", "p1")
        early = rfc3339(world.clock.now_ms())
        await world.passes(minutes=16)
        proposal, trail, reviews = await the_row(world)
    assert disagreements(proposal, trail, reviews) == []

    changed = [
        entry._replace(event=entry.event._replace(at=early)) if each == "complete" else entry
        for each, entry in ((entry.event.kind, entry) for entry in trail)
    ]

    found = disagreements(proposal.but(decided_at_ms=ms_of(early)), changed, reviews)
    assert len(found) == 1
    assert "ends its window, which was open until" in found[0]


async def test_stops_that_were_kept_agree_with_their_trail_whatever_comes_of_them(
    tmp_path: Path,
) -> None:
    async with in_memory(tmp_path) as world:
        world.tool("send-email").on |= dict.fromkeys(("execute", "roll_back"), raising(OSError()))
        await world.submits(MAIL)
        await world.approves("ana", "p1")
        await world.rejects("ben", "p1", "do not send that")
        await world.rejects("dee", "p1", "nor do I want it")
        two_wait = await the_row(world)
        await world.workflow.settle("p1", world.sender("ana"), happened=True)
        await world.workflow.idle()
        taken_back = await the_row(world)

    assert two_wait[0].kept_stop is not None
    assert disagreements(*two_wait) == []
    assert (taken_back[0].kept_stop, taken_back[0].state) == (None, State.EXECUTING)
    assert taken_back[0].attention is Attention.OUTCOME_UNKNOWN
    assert disagreements(*taken_back) == []
