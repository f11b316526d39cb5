-- Tables of sqlfs on SQLite: those of Postgres, without roles and row-level security. One
-- process holds the file; every statement names its sandbox.
-- Times are wall-clock nanoseconds since the Unix epoch; ids are 16 bytes.

CREATE TABLE sandboxes (
    id            BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    owner         TEXT NOT NULL CHECK (owner <> ''),
    name          TEXT,
    is_unique     INTEGER NOT NULL DEFAULT 0 CHECK (NOT is_unique OR name IS NOT NULL),
    state         TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'deleted')),
    version       INTEGER NOT NULL DEFAULT 0,
    head          BLOB NOT NULL,
    fence         INTEGER NOT NULL DEFAULT 0,
    history_from  INTEGER NOT NULL DEFAULT 0 CHECK (history_from <= version),
    next_ino      INTEGER NOT NULL,
    file_count    INTEGER NOT NULL,
    total_bytes   INTEGER NOT NULL,
    cwd           TEXT NOT NULL,
    env           TEXT NOT NULL DEFAULT '{}',
    python        INTEGER NOT NULL DEFAULT 0,
    javascript    INTEGER NOT NULL DEFAULT 0,
    network       TEXT,
    limits        TEXT,
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER NOT NULL,
    deleted_at    INTEGER CHECK ((deleted_at IS NOT NULL) = (state = 'deleted')),
    -- Since when the sandbox waits for pruning or purging; null when it has nothing to drop.
    upkeep_since  INTEGER
) STRICT;
CREATE UNIQUE INDEX sandboxes_unique_name ON sandboxes (owner, name) WHERE is_unique AND state = 'active';
CREATE INDEX sandboxes_listing ON sandboxes (owner, created_at DESC, id DESC) WHERE state = 'active';
CREATE INDEX sandboxes_upkeep ON sandboxes (upkeep_since) WHERE upkeep_since IS NOT NULL;

CREATE TABLE blobs (
    sha256              BLOB NOT NULL PRIMARY KEY CHECK (length(sha256) = 32),
    size                INTEGER NOT NULL CHECK (size > 0),
    last_referenced_at  INTEGER NOT NULL,
    -- Last, so that the columns before it are read without walking through it.
    data                BLOB NOT NULL CHECK (length(data) = size)
) STRICT;

-- Versioned rows: live while valid_to is null; part of version v while
-- valid_from <= v and (valid_to is null or valid_to > v).
CREATE TABLE inodes (
    sandbox_id      BLOB NOT NULL,
    ino             INTEGER NOT NULL,
    valid_from      INTEGER NOT NULL,
    valid_to        INTEGER CHECK (valid_to > valid_from),
    kind            INTEGER NOT NULL CHECK (kind IN (1, 2, 3)),
    mode            INTEGER NOT NULL CHECK (mode BETWEEN 0 AND 4095),
    size            INTEGER NOT NULL CHECK (size >= 0),
    mtime_ns        INTEGER NOT NULL,
    nlink           INTEGER NOT NULL CHECK (nlink > 0),
    sha256          BLOB REFERENCES blobs,
    symlink_target  TEXT,
    PRIMARY KEY (sandbox_id, ino, valid_from),
    CHECK ((sha256 IS NOT NULL) = (kind = 1 AND size > 0)),
    CHECK ((symlink_target IS NOT NULL) = (kind = 3))
) STRICT;
CREATE UNIQUE INDEX inodes_live ON inodes (sandbox_id, ino) WHERE valid_to IS NULL;
CREATE INDEX inodes_began ON inodes (sandbox_id, valid_from) WHERE valid_from > 0;
CREATE INDEX inodes_ended ON inodes (sandbox_id, valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX inodes_content ON inodes (sha256) WHERE sha256 IS NOT NULL;

CREATE TABLE dirents (
    sandbox_id  BLOB NOT NULL,
    parent_ino  INTEGER NOT NULL,
    name        TEXT NOT NULL CHECK (name <> ''),
    ino         INTEGER NOT NULL,
    valid_from  INTEGER NOT NULL,
    valid_to    INTEGER CHECK (valid_to > valid_from),
    PRIMARY KEY (sandbox_id, parent_ino, name, valid_from)
) STRICT;
CREATE UNIQUE INDEX dirents_live ON dirents (sandbox_id, parent_ino, name) WHERE valid_to IS NULL;
CREATE INDEX dirents_began ON dirents (sandbox_id, valid_from) WHERE valid_from > 0;
CREATE INDEX dirents_ended ON dirents (sandbox_id, valid_to) WHERE valid_to IS NOT NULL;

-- One row per version.
CREATE TABLE exec_log (
    sandbox_id     BLOB NOT NULL,
    version        INTEGER NOT NULL,
    head           BLOB NOT NULL,
    exec_id        BLOB NOT NULL UNIQUE,
    request_id     TEXT NOT NULL,
    actor          TEXT NOT NULL,
    outcome        TEXT NOT NULL CHECK (outcome IN ('committed', 'voided')),
    started_at     INTEGER NOT NULL,
    duration_ms    INTEGER NOT NULL,
    script_sha256  BLOB,
    PRIMARY KEY (sandbox_id, version)
) STRICT;
