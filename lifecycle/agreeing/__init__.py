"""Verify stored rows against the audit trail by replaying it (ADR 0013).

The chain of the trail proves that no entry was changed. The bot acts on rows, though, and somebody
with access to the database can change those. This package replays the entries of a proposal from
the first to the last, derives from them how its row must stand, and compares. `audit verify`
reports every difference. The bot itself compares a proposal before it begins, commits, retries or
recovers it, and does not act on a row that differs.

Three words recur. A value is "told" when an entry of the trail states it; `Told` is the row as the
entries tell it. A trail is "retold" when `retold` replays it into a `Told`. A value is `UNTOLD`
when the entries do not say what it is, as entries of older versions may not; it is then not
compared.

- `told.py`: the expected row (`Told`), its parts, and the value `UNTOLD`.
- `retelling.py`: `retold`, the replay, with one function for each kind of entry.
- `retelling_calls.py`: the part of the replay that is about calls of tools.
- `following.py`: whether each entry can follow on the entries before it.
- `rows.py`: compares a whole row; also the checks that are made before the bot acts.
- `calls.py`: compares the execution, a kept ❌ and due times.
- `reviews.py`: compares the reviews, and says whether they sufficed to open the proposal.
- `opened.py`: whether a row about to begin is one that the law can have left; reads no trail.
- `permits.py`: compares the permits of a proposal.
- `spending.py`: compares what a proposal counts towards its proposer's limits.
- `tasks.py`: compares the backlog task of a proposal that has ended.
- `evidence.py`: compares evidence packets, and which of them are bound to a proposal.
- `flags.py`: compares questions, the freeze and the note of a restored copy.
- `uses.py`: compares what counts for the rates of proposers.
"""
