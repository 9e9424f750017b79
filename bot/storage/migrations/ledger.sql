-- ledger --
-- Which migrations this file has seen.
CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);

-- newest --
-- The number of the last one.
SELECT coalesce(max(number), 0) FROM migrations;

-- applied --
-- One more was applied.
INSERT INTO migrations (number, name) VALUES (:number, :name);

-- foreign_tables --
-- Whether tables stand here although no migration was ever applied.
SELECT
    EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations') AS ours,
    EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name <> 'migrations') AS any_table;

-- touch --
-- Write one page, so that a file that cannot be written is noticed now.
PRAGMA user_version = 1;
