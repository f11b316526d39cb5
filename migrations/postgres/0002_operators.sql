-- What operators need: revoked tokens, a list over all owners, and what a tenant holds.
-- Binaries of schema version 1 go on beside it: nothing that they use is changed.

-- A token by its id, or all tokens of an owner that were made up to a moment.
CREATE TABLE revocations (
    kind        text NOT NULL CHECK (kind IN ('jti', 'sub')),
    value       text NOT NULL,
    revoked_at  bigint NOT NULL,
    PRIMARY KEY (kind, value)
);
ALTER TABLE revocations ENABLE ROW LEVEL SECURITY;
ALTER TABLE revocations FORCE ROW LEVEL SECURITY;
CREATE POLICY maintenance ON revocations
    USING ((SELECT current_setting('app.maintenance', true)) = 'on');

CREATE INDEX sandboxes_by_age ON sandboxes (created_at DESC, id DESC) WHERE state = 'active';

CREATE FUNCTION sqlfs_revoke(_kind text, _value text, _at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter_maintenance();
    INSERT INTO revocations AS r (kind, value, revoked_at) VALUES (_kind, _value, _at)
    ON CONFLICT (kind, value) DO UPDATE SET revoked_at = greatest(r.revoked_at, excluded.revoked_at);
END $$;

CREATE FUNCTION sqlfs_revocations() RETURNS SETOF revocations LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter_maintenance();
    RETURN QUERY SELECT * FROM revocations;
END $$;

CREATE FUNCTION sqlfs_list_all(_owner text, _limit bigint, _after_at bigint, _after_id uuid)
RETURNS SETOF sandboxes LANGUAGE plpgsql AS $$
BEGIN
    IF _owner IS NOT NULL THEN
        RETURN QUERY SELECT * FROM sqlfs_list(_owner, _limit, _after_at, _after_id, NULL);
    ELSE
        PERFORM sqlfs_enter_maintenance();
        RETURN QUERY SELECT * FROM sandboxes s WHERE s.state = 'active'
            AND (s.created_at, s.id) < (_after_at, _after_id)
            ORDER BY s.created_at DESC, s.id DESC LIMIT _limit;
    END IF;
END $$;

CREATE FUNCTION sqlfs_usage(OUT sandboxes bigint, OUT entries bigint, OUT bytes bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter_maintenance();
    SELECT count(*), coalesce(sum(s.file_count), 0), coalesce(sum(s.total_bytes), 0)
        INTO sandboxes, entries, bytes FROM sandboxes s WHERE s.state = 'active';
END $$;
