-- The books of Signoff. Times are milliseconds since the epoch, UTC, unless a name says otherwise.
-- Fields that no query asks for are stored as JSON. Partial indices hold only rows that are open,
-- waiting, due or undelivered, so that the past costs the queries of the running bot nothing.

-- One row for each proposal. `document` and `r3_document` are the accepted bytes, verbatim. `rest`
-- holds the fields that have no column of their own and differ from their default.
CREATE TABLE proposals (
    proposal_id           TEXT NOT NULL PRIMARY KEY,
    version               INTEGER NOT NULL,
    state                 TEXT NOT NULL CHECK (state IN (
        'pending', 'sentinel_approved', 'executing', 'completed', 'rolled_back', 'rejected')),
    tier                  TEXT NOT NULL CHECK (
        tier IN ('AUTO', 'AUTO+', 'PROPOSE', 'CONFIRM', 'BLOCK')),
    tool_tier             TEXT NOT NULL,
    tool                  TEXT NOT NULL,
    actor_kind            TEXT NOT NULL,
    actor                 TEXT NOT NULL,
    digest                TEXT NOT NULL,
    content_digest        TEXT NOT NULL,
    likeness_digest       TEXT NOT NULL,
    policy_digest         TEXT NOT NULL,
    document              BLOB NOT NULL,
    r3_document           BLOB NOT NULL,
    r3_s256               TEXT NOT NULL,
    surface               TEXT NOT NULL,
    created_at_ms         INTEGER NOT NULL,
    deadline_ms           INTEGER NOT NULL,
    verdict               TEXT,              -- JSON; null until Sentinel has answered
    reason                TEXT,              -- code of the end
    explanation           TEXT NOT NULL,
    decided_by_kind       TEXT,
    decided_by            TEXT,
    decided_at_ms         INTEGER,
    opener_kind           TEXT,
    opener                TEXT,              -- who opened the gate, while execution has not begun
    permit_waits          INTEGER NOT NULL,  -- 1: an agent holds a permit that it has not redeemed
    verb                  TEXT CHECK (verb IN ('execute', 'commit', 'roll_back')),
    attempt               INTEGER,
    outcome               TEXT CHECK (outcome IN ('running', 'done', 'failed', 'unknown')),
    window_closes_at_ms   INTEGER,
    attention             TEXT,              -- why a person must look
    kept_stop             TEXT,              -- JSON; a stop that waits until it can be carried out
    reminded_at_ms        INTEGER,
    reason_due_ms         INTEGER,           -- until when the end waits for words by reply
    retry_at_ms           INTEGER,
    checked_policy_digest TEXT,
    rest                  TEXT NOT NULL,     -- JSON

    -- What the bot has to do next, and from when on; null where nothing is to be done.
    agenda TEXT AS (CASE
        WHEN state = 'pending' AND verdict IS NULL THEN 'check'
        WHEN state = 'sentinel_approved' AND opener IS NOT NULL AND permit_waits = 0 THEN 'open'
        WHEN state = 'sentinel_approved' AND opener IS NULL AND reminded_at_ms IS NULL THEN 'remind'
        WHEN state = 'executing' AND outcome = 'running' THEN 'recover'
        WHEN state = 'executing' AND outcome = 'done' AND verb = 'execute'
            AND window_closes_at_ms IS NOT NULL AND kept_stop IS NULL
            AND (attention IS NULL OR attention IN ('overdue', 'card_undelivered')) THEN 'close'
        WHEN state IN ('completed', 'rolled_back', 'rejected') AND reason_due_ms IS NOT NULL
            THEN 'tell'
    END) VIRTUAL,
    agenda_ms INTEGER AS (CASE
        WHEN state = 'pending' THEN created_at_ms
        WHEN state = 'sentinel_approved' AND opener IS NULL
            THEN deadline_ms - (deadline_ms - created_at_ms) / 4
        WHEN state = 'executing' AND outcome = 'done'
            THEN max(window_closes_at_ms, coalesce(retry_at_ms, 0))
        WHEN state IN ('completed', 'rolled_back', 'rejected') THEN reason_due_ms
        ELSE 0
    END) VIRTUAL,
    -- Where it stands in the lists: what waits by deadline, what executes by window, none last.
    board_ms INTEGER AS (CASE
        WHEN state = 'executing' THEN coalesce(window_closes_at_ms, 9223372036854775807)
        ELSE deadline_ms
    END) VIRTUAL
);

CREATE INDEX open_by_id ON proposals (proposal_id)
    WHERE state IN ('pending', 'sentinel_approved', 'executing');
CREATE INDEX open_by_content ON proposals (actor, content_digest, state)
    WHERE state IN ('pending', 'sentinel_approved', 'executing');
CREATE INDEX open_by_policy ON proposals (checked_policy_digest, proposal_id)
    WHERE state IN ('pending', 'sentinel_approved', 'executing');
CREATE INDEX board ON proposals (
    (state = 'executing'), (attention IS NULL), board_ms, proposal_id, state)
    WHERE state IN ('pending', 'sentinel_approved', 'executing');
CREATE INDEX agenda_order ON proposals (agenda, agenda_ms, proposal_id) WHERE agenda IS NOT NULL;
CREATE INDEX kept_stop_order ON proposals (proposal_id)
    WHERE kept_stop IS NOT NULL AND state = 'executing';
CREATE INDEX attention_order ON proposals (created_at_ms, proposal_id)
    WHERE attention IS NOT NULL;
CREATE INDEX refused_content ON proposals (actor, likeness_digest, decided_at_ms)
    WHERE reason IN ('rejected_by_person', 'rolled_back_by_person');
CREATE INDEX refused_tool ON proposals (actor, tool, decided_at_ms)
    WHERE reason IN ('rejected_by_person', 'rolled_back_by_person');

-- Reviews, in the order in which they came.
CREATE TABLE reviews (
    number      INTEGER PRIMARY KEY,
    proposal_id TEXT NOT NULL REFERENCES proposals (proposal_id),
    person      TEXT NOT NULL,
    decision    TEXT NOT NULL CHECK (decision IN ('approve', 'reject', 'roll_back')),
    reason      TEXT NOT NULL,
    at_ms       INTEGER NOT NULL,
    surface     TEXT NOT NULL,
    event_id    TEXT,
    found_late  INTEGER NOT NULL,
    void_why    TEXT
);
CREATE INDEX reviews_of ON reviews (proposal_id, number);

-- The audit trail. `source` and `target` are exported as `from` and `to`; `details` is canonical
-- JSON (RFC 8785).
CREATE TABLE audit (
    seq           INTEGER PRIMARY KEY CHECK (seq >= 1),
    at            TEXT NOT NULL,              -- RFC 3339, UTC
    proposal_id   TEXT,
    kind          TEXT NOT NULL,
    source        TEXT,
    target        TEXT,
    actor_kind    TEXT,
    actor         TEXT,
    surface       TEXT,
    event_id      TEXT,
    digest        TEXT,
    policy_digest TEXT,
    reason        TEXT,
    details       TEXT NOT NULL,
    prev_hash     TEXT NOT NULL,
    entry_hash    TEXT NOT NULL
);
CREATE INDEX audit_of ON audit (proposal_id, seq) WHERE proposal_id IS NOT NULL;

-- The card of each proposal on each surface. `wish` orders the stale ones, oldest wish first.
CREATE TABLE cards (
    proposal_id    TEXT NOT NULL REFERENCES proposals (proposal_id),
    surface        TEXT NOT NULL,
    wanted_version INTEGER NOT NULL,
    shown_version  INTEGER NOT NULL,
    message_ids    TEXT NOT NULL,             -- JSON
    delivered      INTEGER NOT NULL,
    shows_all      INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    retry_at_ms    INTEGER NOT NULL,
    why            TEXT NOT NULL,
    posted_at_ms   INTEGER,
    claim          TEXT NOT NULL,
    extra          TEXT NOT NULL,             -- JSON
    wish           INTEGER NOT NULL,
    PRIMARY KEY (proposal_id, surface)
);
CREATE INDEX stale_cards ON cards (surface, wish, retry_at_ms)
    WHERE shown_version < wanted_version;

-- Every message that shows or once showed a card.
CREATE TABLE card_messages (
    surface     TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    proposal_id TEXT NOT NULL REFERENCES proposals (proposal_id),
    PRIMARY KEY (surface, message_id)
) WITHOUT ROWID;

-- Messages that must arrive; a delivered one stays, so that its key is never told twice.
CREATE TABLE outbox (
    number          INTEGER PRIMARY KEY,
    key             TEXT NOT NULL UNIQUE,
    surface         TEXT NOT NULL,
    recipient       TEXT NOT NULL,
    kind            TEXT NOT NULL,
    body            TEXT NOT NULL,            -- JSON
    created_at_ms   INTEGER NOT NULL,
    proposal_id     TEXT,
    not_before_ms   INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    why             TEXT NOT NULL DEFAULT '',
    delivered_at_ms INTEGER
);
CREATE INDEX undelivered ON outbox (surface, number, not_before_ms)
    WHERE delivered_at_ms IS NULL;

-- What sources observed; the latest packet under an id counts.
CREATE TABLE evidence (
    evidence_id    TEXT NOT NULL PRIMARY KEY,
    source         TEXT NOT NULL,
    observed_at_ms INTEGER NOT NULL,
    recorded_at_ms INTEGER NOT NULL,
    payload        TEXT NOT NULL              -- JSON
);

-- Which evidence a proposal names.
CREATE TABLE bindings (
    evidence_id TEXT NOT NULL,
    proposal_id TEXT NOT NULL REFERENCES proposals (proposal_id),
    PRIMARY KEY (evidence_id, proposal_id)
) WITHOUT ROWID;

-- Amounts of money, exact decimals as text.
CREATE TABLE spending (
    number      INTEGER PRIMARY KEY,
    actor       TEXT NOT NULL,
    proposal_id TEXT NOT NULL REFERENCES proposals (proposal_id),
    currency    TEXT NOT NULL,
    amount      TEXT NOT NULL,
    at_ms       INTEGER NOT NULL
);
CREATE INDEX spending_of ON spending (actor, at_ms);

-- Accepted evaluations of the last 24 hours.
CREATE TABLE uses (
    number INTEGER PRIMARY KEY,
    actor  TEXT NOT NULL,
    tool   TEXT NOT NULL,
    at_ms  INTEGER NOT NULL
);
CREATE INDEX uses_of ON uses (actor, tool, at_ms);
CREATE INDEX uses_by_age ON uses (at_ms);

-- Issued permits; each is used once.
CREATE TABLE permits (
    number         INTEGER PRIMARY KEY,
    permit_id      TEXT NOT NULL UNIQUE,
    proposal_id    TEXT NOT NULL REFERENCES proposals (proposal_id),
    verb           TEXT NOT NULL,
    attempt        INTEGER NOT NULL,
    token          TEXT NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    consumed_at_ms INTEGER
);
CREATE INDEX permits_of ON permits (proposal_id, verb, attempt, number);

-- Tasks that proposals came from.
CREATE TABLE tasks (
    task_id       TEXT NOT NULL PRIMARY KEY,
    state         TEXT NOT NULL CHECK (state IN ('done', 'backlog')),
    proposal_id   TEXT NOT NULL,
    reason        TEXT NOT NULL,
    explanation   TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
);

-- Small facts that survive a restart, as JSON.
CREATE TABLE flags (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Events of the platforms, remembered for 24 hours.
CREATE TABLE events (
    number   INTEGER PRIMARY KEY,
    surface  TEXT NOT NULL,
    event_id TEXT NOT NULL,
    at_ms    INTEGER NOT NULL,
    UNIQUE (surface, event_id)
);
CREATE INDEX events_by_age ON events (at_ms);
