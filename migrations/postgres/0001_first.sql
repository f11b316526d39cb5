-- Tables, row-level security and functions of sqlfs on Postgres 15 or newer.
-- Times are wall-clock nanoseconds since the Unix epoch, taken by the caller.
--
-- Every transaction enters its context through one of the functions below. Without a
-- context no table shows a row. All functions run with the rights of the caller.

CREATE TABLE sandboxes (
    id            uuid PRIMARY KEY,
    owner         text NOT NULL CHECK (owner <> ''),
    name          text,
    is_unique     boolean NOT NULL DEFAULT false CHECK (NOT is_unique OR name IS NOT NULL),
    state         text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'deleted')),
    version       bigint NOT NULL DEFAULT 0,
    head          uuid NOT NULL,
    fence         bigint NOT NULL DEFAULT 0,
    history_from  bigint NOT NULL DEFAULT 0 CHECK (history_from <= version),
    next_ino      bigint NOT NULL,
    file_count    bigint NOT NULL,
    total_bytes   bigint NOT NULL,
    cwd           text NOT NULL,
    env           text NOT NULL DEFAULT '{}',
    python        boolean NOT NULL DEFAULT false,
    javascript    boolean NOT NULL DEFAULT false,
    network       text,
    limits        text,
    created_at    bigint NOT NULL,
    last_used_at  bigint NOT NULL,
    deleted_at    bigint CHECK ((deleted_at IS NOT NULL) = (state = 'deleted')),
    -- Since when the sandbox waits for pruning or purging; null when it has nothing to drop.
    upkeep_since  bigint
) WITH (fillfactor = 50);
-- No index names a column that every commit changes, so commits stay heap-only updates.
CREATE UNIQUE INDEX sandboxes_unique_name ON sandboxes (owner, name) WHERE is_unique AND state = 'active';
CREATE INDEX sandboxes_listing ON sandboxes (owner, created_at DESC, id DESC) WHERE state = 'active';
CREATE INDEX sandboxes_by_name ON sandboxes (owner, name, created_at DESC, id DESC)
    WHERE state = 'active' AND name IS NOT NULL;
CREATE INDEX sandboxes_upkeep ON sandboxes (upkeep_since) WHERE upkeep_since IS NOT NULL;

-- One set of contents per database. Rows are found by hash alone.
CREATE TABLE blobs (
    sha256              bytea PRIMARY KEY CHECK (octet_length(sha256) = 32),
    size                bigint NOT NULL CHECK (size > 0),
    data                bytea NOT NULL CHECK (octet_length(data) = size),
    last_referenced_at  bigint NOT NULL
) WITH (toast_tuple_target = 8160);
-- Already compressed contents are common, and slices of uncompressed ones are cheap.
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;

-- Versioned rows: live while valid_to is null; part of version v while
-- valid_from <= v and (valid_to is null or valid_to > v).
--
-- Indexes: a look-up of one live row must be a point look-up through every index that
-- the planner may choose for it, whatever it believes about the size of the table.
-- Therefore the keys end with valid_from, and the two indexes that start with a version
-- are partial on a condition which the look-up does not imply.
CREATE TABLE inodes (
    sandbox_id      uuid NOT NULL,
    ino             bigint NOT NULL,
    valid_from      bigint NOT NULL,
    valid_to        bigint CHECK (valid_to > valid_from),
    kind            smallint NOT NULL CHECK (kind IN (1, 2, 3)),
    mode            integer NOT NULL CHECK (mode BETWEEN 0 AND 4095),
    size            bigint NOT NULL CHECK (size >= 0),
    mtime_ns        bigint NOT NULL,
    nlink           integer NOT NULL CHECK (nlink > 0),
    sha256          bytea REFERENCES blobs,
    symlink_target  text,
    PRIMARY KEY (sandbox_id, ino, valid_from),
    CHECK ((sha256 IS NOT NULL) = (kind = 1 AND size > 0)),
    CHECK ((symlink_target IS NOT NULL) = (kind = 3))
);
CREATE UNIQUE INDEX inodes_live ON inodes (sandbox_id, ino) WHERE valid_to IS NULL;
CREATE INDEX inodes_began ON inodes (sandbox_id, valid_from) WHERE valid_from > 0;
CREATE INDEX inodes_ended ON inodes (sandbox_id, valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX inodes_content ON inodes (sha256) WHERE sha256 IS NOT NULL;

CREATE TABLE dirents (
    sandbox_id  uuid NOT NULL,
    parent_ino  bigint NOT NULL,
    name        text NOT NULL CHECK (name <> ''),
    ino         bigint NOT NULL,
    valid_from  bigint NOT NULL,
    valid_to    bigint CHECK (valid_to > valid_from),
    PRIMARY KEY (sandbox_id, parent_ino, name, valid_from)
);
CREATE UNIQUE INDEX dirents_live ON dirents (sandbox_id, parent_ino, name) WHERE valid_to IS NULL;
CREATE INDEX dirents_began ON dirents (sandbox_id, valid_from) WHERE valid_from > 0;
CREATE INDEX dirents_ended ON dirents (sandbox_id, valid_to) WHERE valid_to IS NOT NULL;

-- One row per version.
CREATE TABLE exec_log (
    sandbox_id     uuid NOT NULL,
    version        bigint NOT NULL,
    head           uuid NOT NULL,
    exec_id        uuid NOT NULL UNIQUE,
    request_id     text NOT NULL,
    actor          text NOT NULL,
    outcome        text NOT NULL CHECK (outcome IN ('committed', 'voided')),
    started_at     bigint NOT NULL,
    duration_ms    bigint NOT NULL,
    script_sha256  bytea,
    PRIMARY KEY (sandbox_id, version)
);

-- Row-level security. Settings are read in a sub-select: once per statement, not per row.
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['sandboxes', 'inodes', 'dirents', 'exec_log', 'blobs'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY maintenance ON %I '
            'USING ((SELECT current_setting(''app.maintenance'', true)) = ''on'')', t);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['inodes', 'dirents', 'exec_log'] LOOP
        EXECUTE format('CREATE POLICY sandbox ON %I USING (sandbox_id = '
            '(SELECT NULLIF(current_setting(''app.sandbox_id'', true), '''')::uuid))', t);
    END LOOP;
END $$;
CREATE POLICY sandbox ON sandboxes
    USING (id = (SELECT NULLIF(current_setting('app.sandbox_id', true), '')::uuid));
CREATE POLICY owner ON sandboxes FOR SELECT
    USING (owner = (SELECT NULLIF(current_setting('app.owner', true), '')));
-- Contents are shared by all sandboxes of the database and found only by a hash that a
-- sandbox's own rows name; here too, no context means no row.
CREATE POLICY content ON blobs USING ((SELECT current_setting('app.content', true)) = 'on');

-- Context of a transaction. Sequential scans, sorts and just-in-time compilation are off:
-- every statement has an index that serves it, in the order that it asks for, and cached
-- plans must not depend on statistics. (Off means a last resort, not impossible.)
CREATE FUNCTION sqlfs_limits() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '5s', true),
            set_config('idle_in_transaction_session_timeout', '10s', true),
            set_config('enable_seqscan', 'off', true),
            set_config('enable_sort', 'off', true),
            set_config('jit', 'off', true);
END $$;

CREATE FUNCTION sqlfs_enter(_sandbox uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('app.sandbox_id', _sandbox::text, true),
            set_config('app.content', 'on', true),
            sqlfs_limits();
END $$;

CREATE FUNCTION sqlfs_enter_content() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('app.content', 'on', true), sqlfs_limits();
END $$;

CREATE FUNCTION sqlfs_enter_maintenance() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('app.maintenance', 'on', true), sqlfs_limits();
END $$;

-- The row of a live sandbox.
CREATE FUNCTION sqlfs_probe(_sandbox uuid) RETURNS SETOF sandboxes LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('app.sandbox_id', _sandbox::text, true);
    RETURN QUERY SELECT * FROM sandboxes WHERE id = _sandbox AND state = 'active';
END $$;

-- First statement of a load: the row, and whether the changes since (version, head) can
-- be told: their rows are all kept, and the version had that head in this history.
CREATE FUNCTION sqlfs_load_head(_sandbox uuid, _version bigint, _head uuid)
RETURNS TABLE (incremental boolean, r sandboxes) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    RETURN QUERY
    SELECT coalesce(_version >= s.history_from AND _version <= s.version AND EXISTS (
               SELECT 1 FROM exec_log l
               WHERE l.sandbox_id = _sandbox AND l.version = _version AND l.head = _head), false),
           s
    FROM sandboxes s WHERE s.id = _sandbox AND s.state = 'active';
END $$;

-- Contents. Rows come sorted by hash, so that two writers of the same contents cannot
-- deadlock; a row that exists is written at most once an hour.
CREATE FUNCTION sqlfs_put_blobs(_sha bytea[], _data bytea[], _now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO blobs AS b (sha256, size, data, last_referenced_at)
    SELECT u.sha, octet_length(u.data), u.data, _now FROM unnest(_sha, _data) u (sha, data) ORDER BY u.sha
    ON CONFLICT (sha256) DO UPDATE SET last_referenced_at = excluded.last_referenced_at
        WHERE b.last_referenced_at < excluded.last_referenced_at - 3600000000000;
END $$;

CREATE FUNCTION sqlfs_flush_blobs(_sha bytea[], _data bytea[], _now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter_content();
    PERFORM sqlfs_put_blobs(_sha, _data, _now);
END $$;

CREATE FUNCTION sqlfs_read_blobs(_sha bytea[]) RETURNS TABLE (sha256 bytea, data bytea) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter_content();
    RETURN QUERY SELECT l.sha256, l.data FROM unnest(_sha) u (sha)
        CROSS JOIN LATERAL (SELECT b.sha256, b.data FROM blobs b WHERE b.sha256 = u.sha OFFSET 0) l;
END $$;

CREATE FUNCTION sqlfs_read_blob_range(_sha bytea, _from integer, _len integer) RETURNS SETOF bytea
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter_content();
    RETURN QUERY SELECT substring(b.data FROM _from FOR _len) FROM blobs b WHERE b.sha256 = _sha;
END $$;

-- Rows of version _version. _kept_sha: contents flushed before. The arrays stay on the
-- outer side (LATERAL .. OFFSET 0), so that the cost is that of the changed rows.
CREATE FUNCTION sqlfs_commit_rows(
    _sandbox uuid, _version bigint, _now bigint,
    _sha bytea[], _data bytea[], _kept_sha bytea[],
    _ended_ino bigint[],
    _ino bigint[], _kind smallint[], _mode integer[], _size bigint[], _mtime bigint[], _nlink integer[],
    _content bytea[], _target text[],
    _ended_parent bigint[], _ended_name text[],
    _parent bigint[], _name text[], _child bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    IF cardinality(_sha) > 0 THEN
        PERFORM sqlfs_put_blobs(_sha, _data, _now);
    END IF;
    IF cardinality(_kept_sha) > 0 THEN
        UPDATE blobs b SET last_referenced_at = _now
        FROM (SELECT l.sha256 FROM unnest(_kept_sha) u (sha)
              CROSS JOIN LATERAL (SELECT x.sha256 FROM blobs x
                                  WHERE x.sha256 = u.sha AND x.last_referenced_at < _now - 3600000000000
                                  ORDER BY x.sha256 FOR NO KEY UPDATE) l OFFSET 0) o
        WHERE b.sha256 = o.sha256;
    END IF;
    IF cardinality(_ended_ino) > 0 THEN
        UPDATE inodes i SET valid_to = _version
        FROM unnest(_ended_ino) u (ino)
        CROSS JOIN LATERAL (SELECT x.ctid AS place FROM inodes x
                            WHERE x.sandbox_id = _sandbox AND x.ino = u.ino AND x.valid_to IS NULL OFFSET 0) l
        WHERE i.ctid = l.place;
        GET DIAGNOSTICS n = ROW_COUNT;
        IF n <> cardinality(_ended_ino) THEN
            RAISE EXCEPTION '% of % inodes to end are not live', cardinality(_ended_ino) - n, cardinality(_ended_ino)
                USING ERRCODE = 'FS001';
        END IF;
    END IF;
    IF cardinality(_ino) > 0 THEN
        INSERT INTO inodes (sandbox_id, ino, valid_from, kind, mode, size, mtime_ns, nlink, sha256, symlink_target)
        SELECT _sandbox, u.ino, _version, u.kind, u.mode, u.size, u.mtime, u.nlink, u.content, u.target
        FROM unnest(_ino, _kind, _mode, _size, _mtime, _nlink, _content, _target)
            u (ino, kind, mode, size, mtime, nlink, content, target);
    END IF;
    IF cardinality(_ended_parent) > 0 THEN
        UPDATE dirents d SET valid_to = _version
        FROM unnest(_ended_parent, _ended_name) u (parent, name)
        CROSS JOIN LATERAL (SELECT x.ctid AS place FROM dirents x
                            WHERE x.sandbox_id = _sandbox AND x.parent_ino = u.parent AND x.name = u.name
                              AND x.valid_to IS NULL OFFSET 0) l
        WHERE d.ctid = l.place;
        GET DIAGNOSTICS n = ROW_COUNT;
        IF n <> cardinality(_ended_parent) THEN
            RAISE EXCEPTION '% of % names to end are not live',
                cardinality(_ended_parent) - n, cardinality(_ended_parent) USING ERRCODE = 'FS001';
        END IF;
    END IF;
    IF cardinality(_parent) > 0 THEN
        INSERT INTO dirents (sandbox_id, parent_ino, name, ino, valid_from)
        SELECT _sandbox, u.parent, u.name, u.child, _version
        FROM unnest(_parent, _name, _child) u (parent, name, child);
    END IF;
END $$;

-- Everything of a commit but its rows: context, locks, compare-and-set, counters, log.
-- outcome: 'done' (then version is the new one), 'stale' or 'gone'.
CREATE FUNCTION sqlfs_commit_head(
    _sandbox uuid, _seen uuid, _head uuid, _fence bigint, _cwd text,
    _next_ino bigint, _file_count bigint, _total_bytes bigint, _now bigint,
    _exec uuid, _request text, _actor text, _started bigint, _duration bigint, _script bytea,
    OUT outcome text, OUT version bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    PERFORM pg_advisory_xact_lock(hashtextextended(_sandbox::text, 0));
    UPDATE sandboxes s
    SET version = s.version + 1, head = _head, fence = _fence, cwd = coalesce(_cwd, s.cwd),
        next_ino = _next_ino, file_count = _file_count, total_bytes = _total_bytes,
        last_used_at = greatest(s.last_used_at, _now), upkeep_since = coalesce(s.upkeep_since, _now)
    WHERE s.id = _sandbox AND s.head = _seen AND s.state = 'active' AND s.fence <= _fence
    RETURNING s.version INTO version;
    IF version IS NULL THEN
        PERFORM 1 FROM sandboxes s WHERE s.id = _sandbox AND s.state = 'active';
        outcome := CASE WHEN FOUND THEN 'stale' ELSE 'gone' END;
        RETURN;
    END IF;
    INSERT INTO exec_log VALUES
        (_sandbox, version, _head, _exec, _request, _actor, 'committed', _started, _duration, _script);
    outcome := 'done';
END $$;

-- A whole commit in one call.
CREATE FUNCTION sqlfs_commit(
    _sandbox uuid, _seen uuid, _head uuid, _fence bigint, _cwd text,
    _next_ino bigint, _file_count bigint, _total_bytes bigint, _now bigint,
    _exec uuid, _request text, _actor text, _started bigint, _duration bigint, _script bytea,
    _sha bytea[], _data bytea[], _kept_sha bytea[],
    _ended_ino bigint[],
    _ino bigint[], _kind smallint[], _mode integer[], _size bigint[], _mtime bigint[], _nlink integer[],
    _content bytea[], _target text[],
    _ended_parent bigint[], _ended_name text[],
    _parent bigint[], _name text[], _child bigint[],
    OUT outcome text, OUT version bigint
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT h.outcome, h.version INTO outcome, version
    FROM sqlfs_commit_head(_sandbox, _seen, _head, _fence, _cwd, _next_ino, _file_count, _total_bytes, _now,
                           _exec, _request, _actor, _started, _duration, _script) h;
    IF outcome = 'done' THEN
        PERFORM sqlfs_commit_rows(_sandbox, version, _now, _sha, _data, _kept_sha, _ended_ino,
            _ino, _kind, _mode, _size, _mtime, _nlink, _content, _target,
            _ended_parent, _ended_name, _parent, _name, _child);
    END IF;
END $$;

-- A new sandbox at version 0, without the rows of its tree.
-- outcome: 'done' with the row, or 'name_taken' with the holder's.
CREATE FUNCTION sqlfs_create_head(
    _sandbox uuid, _owner text, _name text, _is_unique boolean, _head uuid, _cwd text, _env text,
    _python boolean, _javascript boolean, _network text,
    _next_ino bigint, _file_count bigint, _total_bytes bigint, _now bigint,
    _exec uuid, _request text,
    OUT outcome text, OUT r sandboxes
) LANGUAGE plpgsql AS $$
DECLARE
    broken text;
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    LOOP
        BEGIN
            INSERT INTO sandboxes (id, owner, name, is_unique, head, next_ino, file_count, total_bytes, cwd, env,
                                   python, javascript, network, created_at, last_used_at)
            VALUES (_sandbox, _owner, _name, _is_unique, _head, _next_ino, _file_count, _total_bytes, _cwd, _env,
                    _python, _javascript, _network, _now, _now)
            RETURNING * INTO r;
            EXIT;
        EXCEPTION WHEN unique_violation THEN
            GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
            IF broken <> 'sandboxes_unique_name' THEN
                RAISE;
            END IF;
        END;
        PERFORM set_config('app.owner', _owner, true);
        SELECT * INTO r FROM sandboxes s
        WHERE s.owner = _owner AND s.name = _name AND s.is_unique AND s.state = 'active';
        IF FOUND THEN
            outcome := 'name_taken';
            RETURN;
        END IF;
        -- The holder let go in between: try again.
    END LOOP;
    INSERT INTO exec_log VALUES (_sandbox, 0, _head, _exec, _request, _owner, 'committed', _now, 0, NULL);
    outcome := 'done';
END $$;

CREATE FUNCTION sqlfs_create(
    _sandbox uuid, _owner text, _name text, _is_unique boolean, _head uuid, _cwd text, _env text,
    _python boolean, _javascript boolean, _network text,
    _next_ino bigint, _file_count bigint, _total_bytes bigint, _now bigint,
    _exec uuid, _request text,
    _sha bytea[], _data bytea[], _kept_sha bytea[],
    _ended_ino bigint[],
    _ino bigint[], _kind smallint[], _mode integer[], _size bigint[], _mtime bigint[], _nlink integer[],
    _content bytea[], _target text[],
    _ended_parent bigint[], _ended_name text[],
    _parent bigint[], _entry text[], _child bigint[],
    OUT outcome text, OUT r sandboxes
) LANGUAGE plpgsql AS $$
DECLARE
    made record;
BEGIN
    SELECT h.outcome, h.r INTO made
    FROM sqlfs_create_head(_sandbox, _owner, _name, _is_unique, _head, _cwd, _env, _python, _javascript, _network,
                           _next_ino, _file_count, _total_bytes, _now, _exec, _request) h;
    outcome := made.outcome;
    r := made.r;
    IF outcome = 'done' THEN
        PERFORM sqlfs_commit_rows(_sandbox, 0, _now, _sha, _data, _kept_sha, _ended_ino,
            _ino, _kind, _mode, _size, _mtime, _nlink, _content, _target,
            _ended_parent, _ended_name, _parent, _entry, _child);
    END IF;
END $$;

-- What became of a commit, settled: see the documentation of Store::resolve. Only the
-- row lock is taken, so that a writer that sleeps before its compare-and-set cannot hold
-- up the answer. A sandbox that is not there becomes a tombstone, so that a creation
-- still on its way fails on its key.
CREATE FUNCTION sqlfs_resolve(
    _sandbox uuid, _exec uuid, _head uuid, _now bigint, _request text, _actor text,
    OUT outcome text, OUT version bigint, OUT head uuid
) LANGUAGE plpgsql AS $$
DECLARE
    alive boolean;
    logged text;
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    LOOP
        SELECT s.state = 'active' INTO alive FROM sandboxes s WHERE s.id = _sandbox FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO sandboxes (id, owner, state, head, next_ino, file_count, total_bytes, cwd,
                               created_at, last_used_at, deleted_at)
        VALUES (_sandbox, _actor, 'deleted', _head, 2, 0, 0, '/', _now, _now, _now)
        ON CONFLICT (id) DO NOTHING;
    END LOOP;
    SELECT l.outcome, l.version, l.head INTO logged, version, head
    FROM exec_log l WHERE l.sandbox_id = _sandbox AND l.exec_id = _exec;
    IF logged = 'committed' THEN
        outcome := 'applied';
    ELSIF NOT alive THEN
        outcome := 'gone';
    ELSE
        outcome := 'not_applied';
        IF logged IS NULL THEN
            UPDATE sandboxes s SET version = s.version + 1, head = _head,
                upkeep_since = coalesce(s.upkeep_since, _now)
            WHERE s.id = _sandbox RETURNING s.version INTO version;
            INSERT INTO exec_log VALUES
                (_sandbox, version, _head, _exec, _request, _actor, 'voided', _now, 0, NULL);
        END IF;
    END IF;
END $$;

CREATE FUNCTION sqlfs_keep_cwd(_sandbox uuid, _seen uuid, _cwd text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    UPDATE sandboxes SET cwd = _cwd WHERE id = _sandbox AND head = _seen AND state = 'active';
    RETURN FOUND;
END $$;

CREATE FUNCTION sqlfs_list(_owner text, _limit bigint, _after_at bigint, _after_id uuid, _name text)
RETURNS SETOF sandboxes LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('app.owner', _owner, true), sqlfs_limits();
    IF _name IS NULL THEN
        RETURN QUERY SELECT * FROM sandboxes s WHERE s.owner = _owner AND s.state = 'active'
            AND (s.created_at, s.id) < (_after_at, _after_id)
            ORDER BY s.created_at DESC, s.id DESC LIMIT _limit;
    ELSE
        RETURN QUERY SELECT * FROM sandboxes s WHERE s.owner = _owner AND s.name = _name AND s.state = 'active'
            AND (s.created_at, s.id) < (_after_at, _after_id)
            ORDER BY s.created_at DESC, s.id DESC LIMIT _limit;
    END IF;
END $$;

-- outcome: 'done' with the row, 'name_taken' with the holder's, 'name_missing', 'not_found'.
CREATE FUNCTION sqlfs_patch(
    _sandbox uuid, _owner text, _set_name boolean, _name text, _is_unique boolean, _env text,
    OUT outcome text, OUT r sandboxes
) LANGUAGE plpgsql AS $$
DECLARE
    old sandboxes;
    new_name text;
    new_unique boolean;
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    SELECT * INTO old FROM sandboxes s WHERE s.id = _sandbox AND s.owner = _owner AND s.state = 'active' FOR UPDATE;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    new_name := CASE WHEN _set_name THEN _name ELSE old.name END;
    -- Letting go of the name lets go of holding it alone.
    new_unique := coalesce(_is_unique, old.is_unique AND new_name IS NOT NULL);
    IF new_unique AND new_name IS NULL THEN
        outcome := 'name_missing';
        RETURN;
    END IF;
    LOOP
        BEGIN
            UPDATE sandboxes s SET name = new_name, is_unique = new_unique, env = coalesce(_env, s.env)
            WHERE s.id = _sandbox RETURNING * INTO r;
            outcome := 'done';
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            NULL;
        END;
        PERFORM set_config('app.owner', _owner, true);
        SELECT * INTO r FROM sandboxes s
        WHERE s.owner = _owner AND s.name = new_name AND s.is_unique AND s.state = 'active';
        IF FOUND THEN
            outcome := 'name_taken';
            RETURN;
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION sqlfs_delete(_sandbox uuid, _owner text, _head uuid, _now bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    UPDATE sandboxes SET state = 'deleted', head = _head, deleted_at = _now, upkeep_since = _now
    WHERE id = _sandbox AND owner = _owner AND state = 'active';
    RETURN FOUND;
END $$;

-- Ids come sorted, so that two callers cannot deadlock.
CREATE FUNCTION sqlfs_touch(_sandbox uuid[], _at bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(_sandbox) LOOP
        PERFORM sqlfs_enter(_sandbox[i]);
        UPDATE sandboxes SET last_used_at = _at[i]
        WHERE id = _sandbox[i] AND state = 'active' AND last_used_at < _at[i];
    END LOOP;
END $$;

-- Sandboxes in the state that wait since before _since, longest first.
CREATE FUNCTION sqlfs_upkeep_queue(_state text, _since bigint, _deleted_before bigint, _limit bigint)
RETURNS SETOF uuid LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter_maintenance();
    RETURN QUERY SELECT s.id FROM sandboxes s
        WHERE s.upkeep_since IS NOT NULL AND s.upkeep_since < _since AND s.state = _state
          AND (_deleted_before IS NULL OR s.deleted_at < _deleted_before)
        ORDER BY s.upkeep_since LIMIT _limit;
END $$;

-- Prunes one sandbox, at most _batch rows of each table; more: call again.
-- A version's age is the time at which the next one superseded it.
CREATE FUNCTION sqlfs_prune(
    _sandbox uuid, _versions bigint, _older bigint, _younger bigint, _bytes bigint, _log_older bigint,
    _now bigint, _batch bigint, OUT dropped bigint, OUT more boolean
) LANGUAGE plpgsql AS $$
DECLARE
    s sandboxes;
    by_age bigint;
    by_bytes bigint;
    latest bigint;
    oldest_kept bigint;
    n bigint;
BEGIN
    dropped := 0;
    more := false;
    PERFORM sqlfs_enter(_sandbox);
    -- A sandbox that is being written to is left for the next time.
    SELECT * INTO s FROM sandboxes WHERE id = _sandbox AND state = 'active' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT l.version INTO latest FROM exec_log l
    WHERE l.sandbox_id = _sandbox AND l.version > s.history_from
      AND l.started_at + l.duration_ms * 1000000 <= _younger ORDER BY l.version DESC LIMIT 1;
    SELECT l.version INTO by_age FROM exec_log l
    WHERE l.sandbox_id = _sandbox AND l.version > s.history_from
      AND l.started_at + l.duration_ms * 1000000 < _older ORDER BY l.version DESC LIMIT 1;
    IF latest IS NOT NULL THEN
        -- Contents that history alone holds, the longest kept first.
        SELECT max(h.until) INTO by_bytes FROM (
            SELECT c.until, sum(c.size) OVER (ORDER BY c.until DESC, c.sha256) AS held FROM (
                SELECT i.sha256, i.size, max(i.valid_to) AS until FROM inodes i
                WHERE i.sandbox_id = _sandbox AND i.valid_to IS NOT NULL AND i.valid_to > s.history_from
                  AND i.sha256 IS NOT NULL
                  AND NOT EXISTS (SELECT 1 FROM inodes x WHERE x.sandbox_id = _sandbox
                                  AND x.sha256 = i.sha256 AND x.valid_to IS NULL)
                GROUP BY i.sha256, i.size) c) h
        WHERE h.held > _bytes;
    END IF;
    oldest_kept := greatest(s.history_from,
        least(coalesce(latest, 0), greatest(s.version - _versions, coalesce(by_age, 0), coalesce(by_bytes, 0))));
    UPDATE sandboxes SET history_from = oldest_kept WHERE id = _sandbox AND history_from <> oldest_kept;
    DELETE FROM inodes WHERE ctid = ANY (ARRAY(
        SELECT i.ctid FROM inodes i WHERE i.sandbox_id = _sandbox AND i.valid_to IS NOT NULL
            AND i.valid_to <= oldest_kept ORDER BY i.valid_to LIMIT _batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    dropped := dropped + n;
    more := more OR n = _batch;
    DELETE FROM dirents WHERE ctid = ANY (ARRAY(
        SELECT d.ctid FROM dirents d WHERE d.sandbox_id = _sandbox AND d.valid_to IS NOT NULL
            AND d.valid_to <= oldest_kept ORDER BY d.valid_to LIMIT _batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    dropped := dropped + n;
    more := more OR n = _batch;
    DELETE FROM exec_log WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM exec_log l WHERE l.sandbox_id = _sandbox AND l.version < oldest_kept
            AND l.started_at < _log_older LIMIT _batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    dropped := dropped + n;
    more := more OR n = _batch;
    UPDATE sandboxes SET upkeep_since = CASE
        WHEN oldest_kept < s.version OR EXISTS (
            SELECT 1 FROM exec_log l WHERE l.sandbox_id = _sandbox AND l.version < oldest_kept) THEN _now
        END
    WHERE id = _sandbox;
END $$;

-- Purges one deleted sandbox, at most _batch rows of each table; more: call again.
-- The tombstone stays, without anything that the user wrote.
CREATE FUNCTION sqlfs_purge(_sandbox uuid, _batch bigint, OUT dropped bigint, OUT more boolean)
LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    dropped := 0;
    more := false;
    PERFORM sqlfs_enter(_sandbox);
    PERFORM 1 FROM sandboxes WHERE id = _sandbox AND state = 'deleted' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM dirents WHERE ctid = ANY (ARRAY(
        SELECT d.ctid FROM dirents d WHERE d.sandbox_id = _sandbox LIMIT _batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    dropped := dropped + n;
    more := more OR n = _batch;
    DELETE FROM inodes WHERE ctid = ANY (ARRAY(
        SELECT i.ctid FROM inodes i WHERE i.sandbox_id = _sandbox LIMIT _batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    dropped := dropped + n;
    more := more OR n = _batch;
    DELETE FROM exec_log WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM exec_log l WHERE l.sandbox_id = _sandbox LIMIT _batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    dropped := dropped + n;
    more := more OR n = _batch;
    IF NOT more THEN
        UPDATE sandboxes SET upkeep_since = NULL, name = NULL, is_unique = false, env = '{}', cwd = '/', network = NULL
        WHERE id = _sandbox;
    END IF;
END $$;

-- Deletes contents after _after (in order of hash) that no inode row names, one savepoint
-- each. The foreign key decides: a writer that took the content up again wins.
CREATE FUNCTION sqlfs_gc(_before bigint, _after bytea, _limit bigint,
    OUT candidates bigint, OUT deleted bigint, OUT bytes bigint, OUT spared bigint, OUT last bytea)
LANGUAGE plpgsql AS $$
DECLARE
    hash bytea;
    length bigint;
BEGIN
    candidates := 0; deleted := 0; bytes := 0; spared := 0; last := _after;
    PERFORM sqlfs_enter_maintenance();
    FOR hash IN
        SELECT b.sha256 FROM blobs b
        WHERE b.sha256 > _after AND b.last_referenced_at < _before
          AND NOT EXISTS (SELECT 1 FROM inodes i WHERE i.sha256 = b.sha256)
        ORDER BY b.sha256 LIMIT _limit
    LOOP
        candidates := candidates + 1;
        last := hash;
        BEGIN
            SELECT b.size INTO length FROM blobs b
            WHERE b.sha256 = hash AND b.last_referenced_at < _before FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                DELETE FROM blobs b WHERE b.sha256 = hash;
                deleted := deleted + 1;
                bytes := bytes + length;
            ELSE
                spared := spared + 1;
            END IF;
        EXCEPTION WHEN foreign_key_violation THEN
            spared := spared + 1;
        END;
    END LOOP;
END $$;
