-- What operators need: revoked tokens. As in ../postgres/0002_operators.sql.
CREATE TABLE revocations (
    kind        TEXT NOT NULL CHECK (kind IN ('jti', 'sub')),
    value       TEXT NOT NULL,
    revoked_at  INTEGER NOT NULL,
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX sandboxes_by_age ON sandboxes (created_at DESC, id DESC) WHERE state = 'active';
