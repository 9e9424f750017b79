"""Which proposal a message of the bot shows is told by its last line that is a footer."""

from __future__ import annotations

from bot.chat.cards.marks import shown_in


def footer(proposal_id: str) -> str:
    return f"{proposal_id} · sha256:{'0' * 64} · version 2"


def test_the_last_footer_tells_which_proposal_is_shown() -> None:
    assert shown_in(f"{footer('p1')}\n{footer('p2')}\nThe whole answer is attached.") == "p2"


def test_a_footer_within_a_line_or_cut_short_is_none() -> None:
    for text in (f"see {footer('p1')}", f"{footer('p1')} or so", footer("p1")[:40], "p1"):
        assert shown_in(text) is None
