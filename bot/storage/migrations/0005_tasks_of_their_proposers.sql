-- A task belongs to the proposer who proposed for it: two proposers may use the same task id, and
-- neither changes the task of the other.

CREATE TABLE tasks_of_proposers (
    actor         TEXT NOT NULL,
    task_id       TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('done', 'backlog')),
    proposal_id   TEXT NOT NULL,
    reason        TEXT NOT NULL,
    explanation   TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (actor, task_id)
);
INSERT INTO tasks_of_proposers
SELECT coalesce((SELECT actor FROM proposals p WHERE p.proposal_id = tasks.proposal_id), ''),
    task_id, state, proposal_id, reason, explanation, updated_at_ms
FROM tasks;
DROP TABLE tasks;
ALTER TABLE tasks_of_proposers RENAME TO tasks;

-- No query asks for kept stops by themselves; they are read with their proposals.
DROP INDEX IF EXISTS kept_stop_order;
