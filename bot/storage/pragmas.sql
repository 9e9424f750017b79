-- wal --
-- In WAL mode readers never wait for the writer. The answer is the mode that is really in force.
PRAGMA journal_mode = WAL;

-- full --
-- A commit is on the disk before the caller of a unit is answered.
PRAGMA synchronous = FULL;

-- foreign_keys --
-- Rows of other books can only name proposals that exist.
PRAGMA foreign_keys = ON;

-- patience --
-- Wait so many milliseconds for a command line that writes beside the running bot.
PRAGMA busy_timeout = 5000;

-- no_patience --
-- Wait for nobody: what runs under this can be done later.
PRAGMA busy_timeout = 0;

-- hurry --
-- A bot that is ending waits only this long; what the lock keeps out is done at the next start.
PRAGMA busy_timeout = 250;

-- cache --
-- Room in KiB for open and lately moved rows; to read a page again costs more than an update.
PRAGMA cache_size = -32768;

-- checkpoint --
-- Fold the `-wal` into the database every 16 MiB: seldom, and each time it takes only a moment.
PRAGMA wal_autocheckpoint = 4000;

-- undo_in_memory --
-- Keep what a savepoint may undo in memory; in a file it makes an update ten times slower.
PRAGMA temp_store = MEMORY;

-- wipe --
-- Overwrite deleted content with zeros; not every build of SQLite does so by default.
PRAGMA secure_delete = ON;

-- data_version --
-- A number that changes as soon as another connection has written.
PRAGMA data_version;

-- only_reading --
-- A reading connection cannot write, whatever statement it is given.
PRAGMA query_only = ON;

-- single_file --
-- Keep a copy in one file, so that it can be handed around.
PRAGMA journal_mode = DELETE;

-- integrity --
-- Whether every page and index is sound.
PRAGMA integrity_check(1);

-- fold_wal --
-- Fold the `-wal` into the database as far as no reader prevents it.
PRAGMA wal_checkpoint(PASSIVE);

-- empty_wal --
-- Fold the whole `-wal` into the database and empty it: before a copy replaces the database, and
-- after a row was masked.
PRAGMA wal_checkpoint(TRUNCATE);

-- page_bytes --
-- The size of a page in bytes.
PRAGMA page_size;

-- pages --
-- How many pages the database has after the newest commit, counting those in the `-wal`.
PRAGMA page_count;
