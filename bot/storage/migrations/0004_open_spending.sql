-- The amounts of an open proposal count for the daily limit however old it is; their time is the
-- largest there is. After completion they count for a day. A rejected or rolled back proposal
-- counts for nothing.

UPDATE spending SET at_ms = (
    SELECT coalesce(decided_at_ms, 9223372036854775807) FROM proposals
    WHERE proposals.proposal_id = spending.proposal_id
);
DELETE FROM spending WHERE proposal_id IN (
    SELECT proposal_id FROM proposals WHERE state IN ('rejected', 'rolled_back')
);
CREATE INDEX held ON spending (proposal_id) WHERE at_ms = 9223372036854775807;
