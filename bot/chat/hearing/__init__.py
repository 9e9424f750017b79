"""This package hears what people do on a platform: each act once, in order, even if told by nobody.

What is heard goes through `inbox.py` and `incoming.py` to the law; what stands on a card that is
read goes through `reading.py` and `catching_up.py`. Platforms call these four; begin there.

Taking events in:

- `signals.py`: which emoji stands for which decision
- `event_ids.py`: the event ids of emoji on cards, and the lanes in which they wait
- `inbox.py`: stores an event before it is acknowledged, then processes it once
- `kept_events.py`: how the inbox keeps events in the store, sealed
- `lanes.py`: the order in which events are processed
- `not_worked.py`: drops kept events that no start processes, and tells people
- `shown.py`: what a card showed when an event on it was given or heard
- `given_before.py`: refuses commands typed before what they name existed
- `incoming.py`: makes an act of an emoji, a button or a reply
- `noting.py`: writes down what the answer to an emoji tells whoever reads its card later
- `unplaced.py`: waits for the row of a card that is decided on before it is written down
- `standing_signals.py`: which signals stand where, so that none is processed twice
- `moderated.py`: cards that moderators delete, empty or clear of emoji
- `copies.py`: messages that are forwarded copies of the channel's
- `looks.py`: asks whether a message that is no known card looks like one
- `current_card.py`: finds the card that counts, for whoever decided on another one
- `notes.py`: tells people only once that something had no effect

Whose they are, also when accounts change hands:

- `senders.py`: the sender behind an account
- `owners.py`: whose the account was when an event was heard
- `given_since.py`: whether an emoji on a card may be a former owner's
- `lifecycle/hands.py`: since when each account has had its present owner

Stops and holds (`lifecycle/heard.py` is what the law knows of them):

- `stops.py`: what an event is a stop of
- `holds.py`: holds that from when the event is heard until it is processed
- `others.py`: before a ✅ counts, looks for a ❌ on the other surfaces

Reading cards for what nobody heard:

- `hearing.py`: whether a surface hears, and since when without a gap
- `reading.py`: which cards are read when
- `card_readings.py`: reads the cards of a window that is about to close
- `closed_unread.py`: cards to be read later, whose windows closed without that
- `left_behind.py`: cards, and stops that were heard, in another channel than the configured one
- `found.py`: what one reading found
- `known.py`: what the law has heard already, to compare with
- `catching_up.py`: carries out what is new, and takes back what is gone
- `acted.py`: which act an emoji is, so that none is done twice
- `refused_emoji.py`, `refused.py`: emoji that were refused, and what they say if they still stand
- `beside.py`: ✅ that stand beside an approval and change nothing
- `hanging.py`: approvals whose ✅ is gone
- `void.py`: who is told that their approval is void

What is noted on a card's `extra`, and by which file. These notes are dropped with the message
(`standing_in.py`):

- `refused`, `refused_to`: `refused_emoji.py`, and `beside.py` for ✅ that stand beside an approval
- `unjudged`: `unjudged.py`
- `off_by_next_ms`: `hanging.py`
- `hands`: `given_since.py`, and `standing_in.py` as a card is posted

These stay with the row:

- `gone_ms`, `gone_version`, `gone_by`: `seen_gone.py`
- `cleared_ms`, `unseeded`, `given_ms`, `posted_version`, `shown_since`, `in_doubt`: `known.py`
- `hands_claimed`: `standing_in.py`
- `place`: `left_behind.py`
- `told_ms`: `void.py`
- `deleted_times`, `hidden_times`: `moderated.py`
- `off_ms`: `lifecycle/people/overtaken.py`
- whether people were called to the card: `bot/chat/cards/calling.py`, `bot/chat/discord/calling.py`
"""
