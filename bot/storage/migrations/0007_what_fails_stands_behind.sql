-- Cards and messages that have failed five times come after all others, and among themselves the
-- one that is due longest comes first. So thousands that a platform refuses each time keep no other
-- one waiting.

DROP INDEX stale_cards;
CREATE INDEX stale_cards ON cards (
    surface, (CASE WHEN attempts < 5 THEN 0 ELSE retry_at_ms END), wish, retry_at_ms)
    WHERE shown_version < wanted_version;
DROP INDEX undelivered;
CREATE INDEX undelivered ON outbox (
    surface, (CASE WHEN attempts < 5 THEN 0 ELSE not_before_ms END), number, not_before_ms)
    WHERE delivered_at_ms IS NULL;
