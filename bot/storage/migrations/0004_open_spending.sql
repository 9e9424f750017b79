-- What an open proposal holds of a day's limit counts however old it is: its time is the last one
-- there is. Completed, it counts from that moment for a day; refused or taken back, it holds nothing.

UPDATE spending SET at_ms = (
    SELECT coalesce(decided_at_ms, 9223372036854775807) FROM proposals
    WHERE proposals.proposal_id = spending.proposal_id
);
DELETE FROM spending WHERE proposal_id IN (
    SELECT proposal_id FROM proposals WHERE state IN ('rejected', 'rolled_back')
);
CREATE INDEX held ON spending (proposal_id) WHERE at_ms = 9223372036854775807;
