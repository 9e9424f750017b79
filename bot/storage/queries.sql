-- The statements that the store sends to SQLite, each as `-- name --`, a sentence, the SQL.
-- `bot/storage/queries.py` reads them; pragmas and the ledger of migrations are in other files.
-- States are literals, because SQLite uses a partial index only for a literal.

-- begin --
-- Take the write lock at once, so that no other process can write in between.
BEGIN IMMEDIATE;

-- begin_reading --
-- Open a snapshot; it keeps no writer out.
BEGIN DEFERRED;

-- commit --
-- Make all released units durable.
COMMIT;

-- roll_back --
-- Undo the transaction.
ROLLBACK;

-- begin_unit --
-- Begin a savepoint, to which a failed unit is undone.
SAVEPOINT unit;

-- release_unit --
-- Keep what the unit wrote.
RELEASE unit;

-- undo_unit --
-- Undo what the unit wrote, and nothing else.
ROLLBACK TO unit;

-- proposal --
-- The proposal with exactly this id.
SELECT * FROM proposals WHERE proposal_id = :proposal_id;

-- beginning_with --
-- Ids that begin with a prefix; U+10FFFF sorts behind every character that can follow.
SELECT proposal_id FROM proposals
WHERE proposal_id >= :prefix AND proposal_id < :prefix || char(1114111)
ORDER BY proposal_id LIMIT :limit;

-- ids_after --
-- The ids of all proposals there ever were, a page at a time; only verification asks.
SELECT proposal_id FROM proposals WHERE proposal_id > :after_id ORDER BY proposal_id LIMIT :limit;

-- add_proposal --
-- A new proposal.
INSERT INTO proposals (
    proposal_id, version, state, tier, tool_tier, tool, actor_kind, actor, digest, content_digest,
    likeness_digest, policy_digest, document, r3_document, r3_s256, surface, created_at_ms,
    deadline_ms, verdict, reason, explanation, decided_by_kind, decided_by, decided_at_ms,
    opener_kind, opener, permit_waits, verb, attempt, outcome, window_closes_at_ms, attention,
    kept_stop, reminded_at_ms, reason_due_ms, retry_at_ms, checked_policy_digest, rest
) VALUES (
    :proposal_id, :version, :state, :tier, :tool_tier, :tool, :actor_kind, :actor, :digest,
    :content_digest, :likeness_digest, :policy_digest, :document, :r3_document, :r3_s256, :surface,
    :created_at_ms, :deadline_ms, :verdict, :reason, :explanation, :decided_by_kind, :decided_by,
    :decided_at_ms, :opener_kind, :opener, :permit_waits, :verb, :attempt, :outcome,
    :window_closes_at_ms, :attention, :kept_stop, :reminded_at_ms, :reason_due_ms, :retry_at_ms,
    :checked_policy_digest, :rest
);

-- save_proposal --
-- Compare-and-swap: update a row if its state and version still are those that were seen.
-- `queries.saving` sets the other changed columns beside the version; unchanged columns, and the
-- indices over them, cost nothing.
UPDATE proposals SET version = :version
WHERE proposal_id = :proposal_id AND state = :seen_state AND version = :seen_version;

-- open_like --
-- A proposer's open proposal with this content.
SELECT proposal_id FROM proposals
WHERE decided_at_ms IS NULL AND actor = :actor AND content_digest = :content_digest
    AND state IN ('pending', 'sentinel_approved', 'executing')
LIMIT 1;

-- own_of --
-- A proposer's own proposals, newest first, behind the one that a page ended with.
SELECT * FROM proposals
WHERE actor = :actor AND (created_at_ms, proposal_id) < (:before_ms, :before_id)
    AND (created_at_ms, proposal_id) >= (:until_ms, :until_id)
    AND (:state IS NULL OR state = :state) AND (:tool IS NULL OR tool = :tool)
ORDER BY created_at_ms DESC, proposal_id DESC LIMIT :limit;

-- own_behind --
-- How far a page of a proposer's own proposals may look; the index alone answers.
SELECT created_at_ms, proposal_id FROM proposals
WHERE actor = :actor AND (created_at_ms, proposal_id) < (:before_ms, :before_id)
ORDER BY created_at_ms DESC, proposal_id DESC LIMIT 1 OFFSET :count - 1;

-- own_open_of --
-- A proposer's own open proposals in one state; ended ones are not looked at.
SELECT * FROM proposals INDEXED BY open_by_content
WHERE decided_at_ms IS NULL AND actor = :actor AND state = :state
    AND (created_at_ms, proposal_id) < (:before_ms, :before_id)
    AND (created_at_ms, proposal_id) >= (:until_ms, :until_id)
    AND (:tool IS NULL OR tool = :tool)
ORDER BY created_at_ms DESC, proposal_id DESC LIMIT :limit;

-- with_r3 --
-- The proposal whose R3 document has this hash.
SELECT proposal_id FROM proposals WHERE r3_s256 = :r3_s256 LIMIT 1;

-- count_open --
-- How many proposals of a proposer are not terminal.
SELECT count(*) FROM proposals INDEXED BY open_by_content
WHERE decided_at_ms IS NULL AND actor = :actor;

-- refused_like --
-- The proposer's latest proposal of this likeness that a person refused in between.
SELECT proposal_id FROM proposals
WHERE reason IN ('rejected_by_person', 'rolled_back_by_person')
    AND actor = :actor AND likeness_digest = :likeness_digest
    AND decided_at_ms BETWEEN :since_ms AND :until_ms
ORDER BY decided_at_ms DESC LIMIT 1;

-- refused_same --
-- The proposer's latest proposal of this content that a person refused in between.
SELECT proposal_id FROM proposals
WHERE reason IN ('rejected_by_person', 'rolled_back_by_person')
    AND actor = :actor AND content_digest = :content_digest
    AND decided_at_ms BETWEEN :since_ms AND :until_ms
ORDER BY decided_at_ms DESC LIMIT 1;

-- refused_tool_lately --
-- Whether a person refused this proposer's use of this tool since a time.
SELECT 1 FROM proposals
WHERE reason IN ('rejected_by_person', 'rolled_back_by_person')
    AND actor = :actor AND tool = :tool AND decided_at_ms >= :since_ms
LIMIT 1;

-- waiting --
-- Proposals that wait for a decision: attention first, then the nearest deadline.
SELECT * FROM proposals
WHERE state IN ('pending', 'sentinel_approved', 'executing') AND (state = 'executing') = 0
ORDER BY (attention IS NULL), board_ms, proposal_id
LIMIT :limit OFFSET :offset;

-- count_waiting --
-- How many proposals wait for a decision.
SELECT count(*) FROM proposals INDEXED BY board
WHERE state IN ('pending', 'sentinel_approved', 'executing') AND (state = 'executing') = 0;

-- executing --
-- Executing proposals: attention first, then the nearest window, those without a window last.
SELECT * FROM proposals
WHERE state IN ('pending', 'sentinel_approved', 'executing') AND (state = 'executing') = 1
ORDER BY (attention IS NULL), board_ms, proposal_id
LIMIT :limit OFFSET :offset;

-- count_executing --
-- How many proposals are executing.
SELECT count(*) FROM proposals INDEXED BY board
WHERE state IN ('pending', 'sentinel_approved', 'executing') AND (state = 'executing') = 1;

-- due_to_close --
-- Proposals whose window has passed, that nothing holds back and whose back-off is over; oldest
-- first, after the last one of the page before.
SELECT * FROM proposals
WHERE agenda = 'close' AND agenda_ms <= :now_ms
    AND (agenda_ms, proposal_id) > (:after_ms, :after_id)
ORDER BY agenda_ms, proposal_id LIMIT :limit;

-- next_close --
-- When the next window can be closed.
SELECT agenda_ms FROM proposals WHERE agenda = 'close' ORDER BY agenda_ms LIMIT 1;

-- due_to_expire --
-- Proposals that waited past their deadline: attention first, then the earliest deadline.
SELECT * FROM proposals
WHERE state IN ('pending', 'sentinel_approved', 'executing') AND (state = 'executing') = 0
    AND (attention IS NULL) IN (0, 1) AND board_ms <= :now_ms
ORDER BY (attention IS NULL), board_ms, proposal_id LIMIT :limit;

-- ready_to_open --
-- Proposals that were approved and have not begun, a page at a time.
SELECT * FROM proposals
WHERE agenda = 'open' AND agenda_ms = 0 AND proposal_id > :after_id
ORDER BY proposal_id LIMIT :limit;

-- unchecked --
-- Proposals that Sentinel has not judged yet; oldest first.
SELECT * FROM proposals WHERE agenda = 'check' ORDER BY agenda_ms, proposal_id LIMIT :limit;

-- in_flight --
-- Proposals with a call under way, a page at a time.
SELECT * FROM proposals
WHERE agenda = 'recover' AND agenda_ms = 0 AND proposal_id > :after_id
ORDER BY proposal_id LIMIT :limit;

-- checked_under_other --
-- Open proposals last checked under another policy: two ranges, since "not equal" uses no index.
SELECT * FROM proposals
WHERE decided_at_ms IS NULL AND checked_policy_digest < :policy_digest
    AND state IN ('pending', 'sentinel_approved', 'executing')
UNION ALL
SELECT * FROM proposals
WHERE decided_at_ms IS NULL AND checked_policy_digest > :policy_digest
    AND state IN ('pending', 'sentinel_approved', 'executing')
LIMIT :limit;

-- reasons_due --
-- Ended proposals whose wait for a reason by reply has passed, or is longer than any wait can be
-- (`bot/storage/waits.py`).
SELECT * FROM proposals
WHERE agenda = 'tell' AND (agenda_ms <= :now_ms OR agenda_ms > :far_ms)
ORDER BY agenda_ms, proposal_id LIMIT :limit;

-- to_remind --
-- Proposals that wait for people and are past three quarters of their time, neither expired nor
-- reminded of yet.
SELECT * FROM proposals
WHERE agenda = 'remind' AND agenda_ms <= :now_ms AND deadline_ms > :now_ms
ORDER BY agenda_ms, proposal_id LIMIT :limit;

-- with_attention --
-- Proposals that a person must look at, ended or not; oldest first.
SELECT * FROM proposals
WHERE attention IS NOT NULL
ORDER BY created_at_ms, proposal_id LIMIT :limit;

-- bind_evidence --
-- Note that a proposal names a packet.
INSERT INTO bindings (evidence_id, proposal_id) VALUES (:evidence_id, :proposal_id)
ON CONFLICT DO NOTHING;

-- is_bound --
-- Whether it is noted that a proposal names a packet.
SELECT 1 FROM bindings WHERE evidence_id = :evidence_id AND proposal_id = :proposal_id;

-- bound_to --
-- Open proposals that name a packet. CROSS JOIN makes SQLite begin with the open proposals: an id
-- may have been named by every proposal there ever was.
SELECT proposals.* FROM proposals INDEXED BY open_by_id CROSS JOIN bindings
    ON bindings.evidence_id = :evidence_id AND bindings.proposal_id = proposals.proposal_id
WHERE proposals.decided_at_ms IS NULL
    AND proposals.state IN ('pending', 'sentinel_approved', 'executing')
ORDER BY proposals.proposal_id LIMIT :limit;

-- reviews_of --
-- All reviews of a proposal in the order in which they came.
SELECT * FROM reviews WHERE proposal_id = :proposal_id ORDER BY number;

-- add_review --
-- Add a review.
INSERT INTO reviews (
    proposal_id, person, decision, reason, at_ms, surface, event_id, found_late, void_why
) VALUES (
    :proposal_id, :person, :decision, :reason, :at_ms, :surface, :event_id, :found_late, :void_why
);

-- void_reviews --
-- Make one person's approvals of a proposal void, everyone's if no person is named.
UPDATE reviews SET void_why = :why
WHERE proposal_id = :proposal_id AND decision = 'approve' AND void_why IS NULL
    AND (:person IS NULL OR person = :person);

-- give_reason --
-- Set the reason of a person's latest reject or roll back.
UPDATE reviews SET reason = :reason
WHERE number = (
    SELECT number FROM reviews
    WHERE proposal_id = :proposal_id AND person = :person AND decision IN ('reject', 'roll_back')
    ORDER BY number DESC LIMIT 1
);

-- audit_head --
-- The seq and the hash of the last entry.
SELECT seq, entry_hash FROM audit ORDER BY seq DESC LIMIT 1;

-- append_audit --
-- Append one entry to the head.
INSERT INTO audit (
    seq, at, proposal_id, kind, source, target, actor_kind, actor, surface, event_id, digest,
    policy_digest, reason, details, prev_hash, entry_hash
) VALUES (
    :seq, :at, :proposal_id, :kind, :source, :target, :actor_kind, :actor, :surface, :event_id,
    :digest, :policy_digest, :reason, :details, :prev_hash, :entry_hash
);

-- audit_written --
-- The entries from the first one that a unit wrote, to check that they were stored as written.
SELECT seq, entry_hash FROM audit WHERE seq >= :first_seq ORDER BY seq;

-- audit_without_attempts --
-- The trail of one proposal without mere attempts (`is_mere_attempt` of lifecycle/audit.py).
SELECT * FROM audit
WHERE proposal_id = :proposal_id AND (
    kind NOT IN ('ignored', 'deduplicated', 'permit_refused')
    OR target IS NOT NULL OR reason = 'already_counted'
)
ORDER BY seq;

-- newest_attempts --
-- The newest mere attempts of one proposal: the other entries than those of the query above.
SELECT * FROM audit
WHERE proposal_id = :proposal_id AND kind IN ('ignored', 'deduplicated', 'permit_refused')
    AND target IS NULL AND reason IS NOT 'already_counted'
ORDER BY seq DESC
LIMIT :limit;

-- audit_page_of --
-- A page of the trail of one proposal, after an entry of it.
SELECT * FROM audit
WHERE proposal_id = :proposal_id AND seq > :after_seq
ORDER BY seq
LIMIT :limit;

-- first_entry_of --
-- The seq of the first entry of one proposal.
SELECT seq FROM audit WHERE proposal_id = :proposal_id ORDER BY seq LIMIT 1;

-- exported --
-- A page of the chain after a seq, as it is stored.
SELECT * FROM audit WHERE seq > :after_seq ORDER BY seq LIMIT :limit;

-- want_card --
-- Note that a surface must show at least this version; a card that was stale already keeps its
-- place in the order of wishes.
INSERT INTO cards (
    proposal_id, surface, wanted_version, shown_version, message_ids, delivered, shows_all,
    attempts, retry_at_ms, why, claim, extra, wish
) VALUES (
    :proposal_id, :surface, :version, 0, '[]', 0, 1, 0, 0, '', '', '{}', (
        SELECT coalesce(max(wish), 0) + 1 FROM cards
        WHERE surface = :surface AND shown_version < wanted_version
            AND (CASE WHEN attempts < 5 THEN 0 ELSE retry_at_ms END) = 0
    )
)
ON CONFLICT (proposal_id, surface) DO UPDATE SET
    wish = CASE WHEN shown_version < wanted_version THEN wish ELSE excluded.wish END,
    wanted_version = excluded.wanted_version
WHERE excluded.wanted_version > wanted_version;

-- put_card --
-- Write the state of a card; a newer version that was wanted meanwhile stays wanted.
INSERT INTO cards (
    proposal_id, surface, wanted_version, shown_version, message_ids, delivered, shows_all,
    attempts, retry_at_ms, why, posted_at_ms, claim, extra, wish
) VALUES (
    :proposal_id, :surface, :wanted_version, :shown_version, :message_ids, :delivered, :shows_all,
    :attempts, :retry_at_ms, :why, :posted_at_ms, :claim, :extra, (
        SELECT coalesce(max(wish), 0) + 1 FROM cards
        WHERE surface = :surface AND shown_version < wanted_version
            AND (CASE WHEN attempts < 5 THEN 0 ELSE retry_at_ms END) = 0
    )
)
ON CONFLICT (proposal_id, surface) DO UPDATE SET
    wish = CASE WHEN shown_version < wanted_version THEN wish ELSE excluded.wish END,
    wanted_version = max(wanted_version, excluded.wanted_version),
    shown_version = excluded.shown_version, message_ids = excluded.message_ids,
    delivered = excluded.delivered, shows_all = excluded.shows_all,
    attempts = excluded.attempts, retry_at_ms = excluded.retry_at_ms, why = excluded.why,
    posted_at_ms = excluded.posted_at_ms, claim = excluded.claim, extra = excluded.extra;

-- put_card_message --
-- Note that this message shows a card of a proposal.
INSERT INTO card_messages (surface, message_id, proposal_id)
VALUES (:surface, :message_id, :proposal_id)
ON CONFLICT (surface, message_id) DO UPDATE SET proposal_id = excluded.proposal_id;

-- card --
-- The card of a proposal on one surface.
SELECT * FROM cards WHERE proposal_id = :proposal_id AND surface = :surface;

-- cards_of --
-- The cards of a proposal on all surfaces.
SELECT * FROM cards WHERE proposal_id = :proposal_id ORDER BY surface;

-- stale_cards --
-- Cards of a surface to post or edit now, oldest wish first; those that failed five times come
-- after the rest, longest due first.
SELECT * FROM cards
WHERE surface = :surface AND shown_version < wanted_version
    AND (retry_at_ms <= :now_ms OR retry_at_ms > :far_ms)
ORDER BY (CASE WHEN attempts < 5 THEN 0 ELSE retry_at_ms END), wish LIMIT :limit;

-- find_card --
-- The card that a message shows or once showed.
SELECT cards.* FROM card_messages CROSS JOIN cards
    ON cards.proposal_id = card_messages.proposal_id AND cards.surface = card_messages.surface
WHERE card_messages.surface = :surface AND card_messages.message_id = :message_id;

-- open_cards --
-- A surface's cards of open proposals, a page at a time; CROSS JOIN makes SQLite begin with the
-- open proposals, so that past ones cost nothing.
SELECT cards.* FROM proposals CROSS JOIN cards
    ON cards.proposal_id = proposals.proposal_id AND cards.surface = :surface
WHERE proposals.decided_at_ms IS NULL AND proposals.proposal_id > :after_id
    AND proposals.state IN ('pending', 'sentinel_approved', 'executing')
ORDER BY proposals.proposal_id LIMIT :limit;

-- add_message --
-- Keep a message until it is delivered; the same key again adds nothing.
INSERT INTO outbox (
    key, surface, recipient, kind, body, created_at_ms, proposal_id, not_before_ms, attempts
) VALUES (
    :key, :surface, :recipient, :kind, :body, :created_at_ms, :proposal_id, :not_before_ms,
    :attempts
)
ON CONFLICT (key) DO NOTHING;

-- waiting_messages --
-- Undelivered messages of a surface that are due, oldest first; those that failed five times come
-- after the rest, longest due first. Recipients in `but`, written as /this/that/, are left out.
SELECT * FROM outbox
WHERE surface = :surface AND delivered_at_ms IS NULL
    AND (not_before_ms <= :now_ms OR not_before_ms > :far_ms)
    AND instr(:but, '/' || recipient || '/') = 0
ORDER BY (CASE WHEN attempts < 5 THEN 0 ELSE not_before_ms END), number LIMIT :limit;

-- message_delivered --
-- Record that a message has arrived.
UPDATE outbox SET delivered_at_ms = :at_ms WHERE key = :key AND delivered_at_ms IS NULL;

-- message_failed --
-- Record that a message did not arrive, why, and when it is tried again.
UPDATE outbox SET attempts = attempts + 1, not_before_ms = :retry_at_ms, why = :why
WHERE key = :key;

-- evidence --
-- The packet with this id.
SELECT * FROM evidence WHERE evidence_id = :evidence_id;

-- evidence_after --
-- The ids of all packets, a page at a time; only verification asks.
SELECT evidence_id FROM evidence WHERE evidence_id > :after_id ORDER BY evidence_id LIMIT :limit;

-- put_evidence --
-- Store a packet; the latest under an id counts.
INSERT INTO evidence (evidence_id, source, observed_at_ms, recorded_at_ms, payload)
VALUES (:evidence_id, :source, :observed_at_ms, :recorded_at_ms, :payload)
ON CONFLICT (evidence_id) DO UPDATE SET
    source = excluded.source, observed_at_ms = excluded.observed_at_ms,
    recorded_at_ms = excluded.recorded_at_ms, payload = excluded.payload;

-- add_spending --
-- Add one amount of a new proposal; it counts until the proposal has ended, however late that is.
INSERT INTO spending (actor, proposal_id, currency, amount, at_ms)
VALUES (:actor, :proposal_id, :currency, :amount, 9223372036854775807);

-- spending_of --
-- The amounts that one proposal counts for; `at_ms` is given because the index needs it.
SELECT currency, amount FROM spending
WHERE actor = :actor AND at_ms = :at_ms AND proposal_id = :proposal_id;

-- spending_completed --
-- The amounts of a completed proposal are spent: they count for a day from its end.
UPDATE spending SET at_ms = :at_ms
WHERE proposal_id = :proposal_id AND at_ms = 9223372036854775807;

-- spending_released --
-- The amounts of a proposal that ended otherwise no longer count.
DELETE FROM spending WHERE proposal_id = :proposal_id AND at_ms = 9223372036854775807;

-- spent --
-- The amounts of a proposer's open proposals and of those completed since a time; one proposal is
-- left out. What came after that one counts once it was judged, and until then for itself alone.
SELECT spending.currency, spending.amount FROM spending CROSS JOIN proposals
    ON proposals.proposal_id = spending.proposal_id
WHERE spending.actor = :actor AND spending.at_ms >= :since_ms
    AND spending.proposal_id <> :but_id
    AND (
        proposals.state IN ('sentinel_approved', 'executing', 'completed')
        OR (proposals.state = 'pending' AND spending.number < coalesce(
            (
                SELECT min(own.number) FROM spending AS own
                WHERE own.proposal_id = :but_id AND own.at_ms = 9223372036854775807
            ),
            9223372036854775807
        ))
    );

-- add_use --
-- Add one accepted evaluation.
INSERT INTO uses (actor, tool, at_ms) VALUES (:actor, :tool, :at_ms);

-- uses_since --
-- The times of accepted evaluations after a time.
SELECT at_ms FROM uses
WHERE actor = :actor AND tool = :tool AND at_ms > :after_ms ORDER BY at_ms;

-- forget_uses --
-- Delete a few uses that are too old for any rate.
DELETE FROM uses WHERE number IN (
    SELECT number FROM uses WHERE at_ms < :before_ms ORDER BY at_ms LIMIT 8
);

-- add_permit --
-- Add an issued permit.
INSERT INTO permits (
    permit_id, proposal_id, verb, attempt, token, expires_at_ms, consumed_at_ms
) VALUES (
    :permit_id, :proposal_id, :verb, :attempt, :token, :expires_at_ms, :consumed_at_ms
);

-- permit --
-- The permit with this id.
SELECT * FROM permits WHERE permit_id = :permit_id;

-- permit_of --
-- The latest permit of one verb and attempt of a proposal.
SELECT * FROM permits
WHERE proposal_id = :proposal_id AND verb = :verb AND attempt = :attempt
ORDER BY number DESC LIMIT 1;

-- permits_of --
-- Every permit of a proposal; only verification asks.
SELECT * FROM permits WHERE proposal_id = :proposal_id ORDER BY verb, attempt, number;

-- consume_permit --
-- Use a permit up; a permit that was used before is not changed.
UPDATE permits SET consumed_at_ms = :at_ms
WHERE permit_id = :permit_id AND consumed_at_ms IS NULL;

-- put_task --
-- Write the state of a task.
INSERT INTO tasks (actor, task_id, state, proposal_id, reason, explanation, updated_at_ms)
VALUES (:actor, :task_id, :state, :proposal_id, :reason, :explanation, :updated_at_ms)
ON CONFLICT (actor, task_id) DO UPDATE SET
    state = excluded.state, proposal_id = excluded.proposal_id, reason = excluded.reason,
    explanation = excluded.explanation, updated_at_ms = excluded.updated_at_ms;

-- task --
-- One task of a proposer.
SELECT * FROM tasks WHERE actor = :actor AND task_id = :task_id;

-- tasks --
-- A proposer's tasks, a page at a time.
SELECT * FROM tasks WHERE actor = :actor AND task_id > :after_id ORDER BY task_id LIMIT :limit;

-- flag --
-- The value of a flag.
SELECT value FROM flags WHERE name = :name;

-- put_flag --
-- Set a flag.
INSERT INTO flags (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- drop_flag --
-- Remove a flag.
DELETE FROM flags WHERE name = :name;

-- remember_event --
-- Remember an event; changes a row only if the event is unknown or so old that it counts as new.
INSERT INTO events (surface, event_id, at_ms) VALUES (:surface, :event_id, :at_ms)
ON CONFLICT (surface, event_id) DO UPDATE SET at_ms = excluded.at_ms WHERE at_ms <= :before_ms;

-- forget_events --
-- Delete a few events that are so old that they count as new.
DELETE FROM events WHERE number IN (
    SELECT number FROM events WHERE at_ms <= :before_ms ORDER BY at_ms LIMIT 8
);
