-- A move that is no end leaves `decided_at_ms` as it is, and so the indices that hold what is open:
-- they ask for that in place of the state, which every move changes.

DROP INDEX open_by_id;
DROP INDEX open_by_content;
DROP INDEX open_by_policy;
CREATE INDEX open_by_id ON proposals (proposal_id) WHERE decided_at_ms IS NULL;
CREATE INDEX open_by_content ON proposals (actor, content_digest) WHERE decided_at_ms IS NULL;
CREATE INDEX open_by_policy ON proposals (checked_policy_digest, proposal_id)
    WHERE decided_at_ms IS NULL;
