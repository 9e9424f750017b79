-- wal --
-- Readers never wait for the writer; the answer is the mode that is really in force.
PRAGMA journal_mode = WAL;

-- full --
-- A commit is on the disk before anybody hears of it.
PRAGMA synchronous = FULL;

-- foreign_keys --
-- Rows of other books name proposals that exist.
PRAGMA foreign_keys = ON;

-- patience --
-- A command line that writes beside the running bot is waited for, in milliseconds.
PRAGMA busy_timeout = 5000;

-- no_patience --
-- What may be done later waits for nobody.
PRAGMA busy_timeout = 0;

-- hurry --
-- Whoever ends waits little: what somebody else's lock keeps out is done at the next start.
PRAGMA busy_timeout = 250;

-- cache --
-- Room for what is open and lately moved, in KiB; a page fetched again costs more than the update.
PRAGMA cache_size = -32768;

-- checkpoint --
-- The side file is folded into the database every 16 MiB: seldom, and still in a moment.
PRAGMA wal_autocheckpoint = 4000;

-- undo_in_memory --
-- What a savepoint may have to undo is kept in memory; in a file it makes an update ten times dearer.
PRAGMA temp_store = MEMORY;

-- wipe --
-- What a row held before is written over where it stood: not every build of SQLite does so by itself.
PRAGMA secure_delete = ON;

-- data_version --
-- A number that is another one as soon as another connection has written.
PRAGMA data_version;

-- only_reading --
-- A reading connection cannot write, whatever it is told.
PRAGMA query_only = ON;

-- single_file --
-- A copy that is handed around stands in one file.
PRAGMA journal_mode = DELETE;

-- integrity --
-- Whether every page and index is sound.
PRAGMA integrity_check(1);

-- fold_wal --
-- What the side file holds is folded into the database as far as nobody stands in the way.
PRAGMA wal_checkpoint(PASSIVE);

-- empty_wal --
-- The database is then whole in its one file: before a copy takes its place, and where a row was masked.
PRAGMA wal_checkpoint(TRUNCATE);

-- page_bytes --
-- How many bytes a page has.
PRAGMA page_size;

-- pages --
-- How many pages the database has by the newest commit, wherever they stand.
PRAGMA page_count;
