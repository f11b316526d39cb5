-- Run once, by the superuser, when the volume is new. The app role owns its database, so
-- that `serve` can bring the schema up; it is no superuser and cannot bypass row-level
-- security, else `serve` refuses to start.
CREATE ROLE sqlfs_app LOGIN PASSWORD 'sqlfs_app' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
CREATE DATABASE sqlfs OWNER sqlfs_app;
REVOKE ALL ON DATABASE sqlfs FROM PUBLIC;
