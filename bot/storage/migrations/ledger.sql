-- ledger --
-- The table that records which migrations this file has seen.
CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);

-- newest --
-- The number of the last applied migration, 0 if there is none.
SELECT coalesce(max(number), 0) FROM migrations;

-- applied --
-- Record an applied migration.
INSERT INTO migrations (number, name) VALUES (:number, :name);

-- foreign_tables --
-- Whether the file has the table of migrations (`ours`), and whether it has any other table.
SELECT
    EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations') AS ours,
    EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name <> 'migrations') AS any_table;

-- columns --
-- Every column of every table, as `table.column`. Virtual tables are left out: none of ours is
-- virtual, and SQLite cannot tell the columns of one whose module is not installed.
SELECT held.name || '.' || one.name AS name
FROM sqlite_master AS held JOIN pragma_table_xinfo(held.name) AS one
WHERE held.type = 'table' AND held.sql NOT LIKE 'CREATE VIRTUAL %';

-- touch --
-- Write one page, so that a file that cannot be written is noticed now.
PRAGMA user_version = 1;

-- made_by_others --
-- What no migration makes and what changes reads or writes of ours: a trigger, or a view under the
-- name of one of our tables.
SELECT type, name FROM sqlite_master
WHERE type = 'trigger' OR (type = 'view' AND name IN (
    'proposals', 'reviews', 'audit', 'cards', 'card_messages', 'outbox', 'evidence', 'bindings',
    'spending', 'uses', 'permits', 'tasks', 'flags', 'events', 'migrations'))
ORDER BY name;

-- shapes --
-- Every index that a statement made over a table of ours, and the table with computed columns.
SELECT name, sql FROM sqlite_master
WHERE sql IS NOT NULL AND (
    (type = 'table' AND name = 'proposals') OR (type = 'index' AND tbl_name IN (
        'proposals', 'reviews', 'audit', 'cards', 'card_messages', 'outbox', 'evidence', 'bindings',
        'spending', 'uses', 'permits', 'tasks', 'flags', 'events', 'migrations')));
