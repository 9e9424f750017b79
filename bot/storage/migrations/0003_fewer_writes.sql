-- The indices over open proposals now ask for `decided_at_ms` instead of `state`. Every move
-- changes the state, but only the end of a proposal sets `decided_at_ms`; other moves cost these
-- indices nothing.

DROP INDEX open_by_id;
DROP INDEX open_by_content;
DROP INDEX open_by_policy;
CREATE INDEX open_by_id ON proposals (proposal_id) WHERE decided_at_ms IS NULL;
CREATE INDEX open_by_content ON proposals (actor, content_digest) WHERE decided_at_ms IS NULL;
CREATE INDEX open_by_policy ON proposals (checked_policy_digest, proposal_id)
    WHERE decided_at_ms IS NULL;
