-- Replies that are kept for Idempotency-Key, each written in the transaction of its effect.
-- Binaries of schema version 1 go on beside it: nothing that they use is changed.

CREATE TABLE kept_replies (
    sandbox_id  uuid NOT NULL,
    key         text NOT NULL CHECK (key <> ''),
    -- What was asked for under the key.
    request     bytea NOT NULL CHECK (octet_length(request) = 32),
    -- The state after it.
    version     bigint NOT NULL,
    head        uuid NOT NULL,
    kept_at     bigint NOT NULL,
    reply       bytea NOT NULL,
    PRIMARY KEY (sandbox_id, key)
);
CREATE INDEX kept_replies_by_age ON kept_replies (kept_at);
ALTER TABLE kept_replies ENABLE ROW LEVEL SECURITY;
ALTER TABLE kept_replies FORCE ROW LEVEL SECURITY;
CREATE POLICY maintenance ON kept_replies
    USING ((SELECT current_setting('app.maintenance', true)) = 'on');
CREATE POLICY sandbox ON kept_replies
    USING (sandbox_id = (SELECT NULLIF(current_setting('app.sandbox_id', true), '')::uuid));

CREATE FUNCTION sqlfs_kept_reply(_sandbox uuid, _key text)
RETURNS TABLE (request bytea, version bigint, head uuid, reply bytea) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    RETURN QUERY SELECT k.request, k.version, k.head, k.reply FROM kept_replies k
        WHERE k.sandbox_id = _sandbox AND k.key = _key;
END $$;

-- Within the transaction of its effect. False: the key has a reply already.
CREATE FUNCTION sqlfs_keep_reply(
    _sandbox uuid, _key text, _request bytea, _version bigint, _head uuid, _now bigint, _reply bytea
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO kept_replies VALUES (_sandbox, _key, _request, _version, _head, _now, _reply)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- For an exec that made no version. False, and nothing is written: another head, or the key
-- has a reply already.
CREATE FUNCTION sqlfs_keep_unchanged(
    _sandbox uuid, _seen uuid, _cwd text, _key text, _request bytea, _now bigint, _reply bytea
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    present bigint;
BEGIN
    PERFORM sqlfs_enter(_sandbox);
    SELECT s.version INTO present FROM sandboxes s
    WHERE s.id = _sandbox AND s.head = _seen AND s.state = 'active' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF NOT sqlfs_keep_reply(_sandbox, _key, _request, present, _seen, _now, _reply) THEN
        RETURN false;
    END IF;
    UPDATE sandboxes SET cwd = coalesce(_cwd, cwd) WHERE id = _sandbox;
    RETURN true;
END $$;

CREATE FUNCTION sqlfs_forget_replies(_before bigint, _limit bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    dropped bigint;
BEGIN
    PERFORM sqlfs_enter_maintenance();
    DELETE FROM kept_replies k WHERE (k.sandbox_id, k.key) IN (
        SELECT o.sandbox_id, o.key FROM kept_replies o WHERE o.kept_at < _before ORDER BY o.kept_at LIMIT _limit);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END $$;
