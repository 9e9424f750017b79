-- Indices for what agents ask at the doors: their own proposals, newest first, and a document by
-- its hash.

CREATE INDEX own_by_time ON proposals (actor, created_at_ms, proposal_id);
CREATE INDEX by_r3 ON proposals (r3_s256);
