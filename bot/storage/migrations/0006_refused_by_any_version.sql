-- What a person refused is known by its very content too: another version reads its likeness
-- otherwise. No older version opens a database from here on: it cannot read these rows.

CREATE INDEX refused_same ON proposals (actor, content_digest, decided_at_ms)
    WHERE reason IN ('rejected_by_person', 'rolled_back_by_person');
