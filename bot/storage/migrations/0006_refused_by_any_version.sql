-- A refused proposal is also found by its exact content, because another version of Signoff may
-- compute the likeness differently. From this migration on no older version opens the database: it
-- cannot read these rows.

CREATE INDEX refused_same ON proposals (actor, content_digest, decided_at_ms)
    WHERE reason IN ('rejected_by_person', 'rolled_back_by_person');
