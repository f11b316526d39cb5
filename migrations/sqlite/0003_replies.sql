-- Replies that are kept for Idempotency-Key. As in ../postgres/0003_replies.sql.
CREATE TABLE kept_replies (
    sandbox_id  BLOB NOT NULL,
    key         TEXT NOT NULL CHECK (key <> ''),
    request     BLOB NOT NULL CHECK (length(request) = 32),
    version     INTEGER NOT NULL,
    head        BLOB NOT NULL,
    kept_at     INTEGER NOT NULL,
    reply       BLOB NOT NULL,
    PRIMARY KEY (sandbox_id, key)
) STRICT;
CREATE INDEX kept_replies_by_age ON kept_replies (kept_at);
